"""A result of `sennit bench` in every view that was asked for: tables, JSON, CSV, Markdown, a page with plots."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from sennit.model.collective import CollectiveResult
from sennit.model.document import parse
from sennit.model.mpi import MpiResult
from sennit.model.result import Result
from sennit.model.torch import TorchResult
from sennit.model.training import TrainingResult
from sennit.programs import console
from sennit.verbs.options import check_files, print_json, write
from sennit.views import sections
from sennit.views.collective_table import collective_markdown, print_collective
from sennit.views.csv import to_csv
from sennit.views.html import html
from sennit.views.markdown import markdown
from sennit.views.mpi_table import mpi_markdown, print_mpi
from sennit.views.origin import Measured
from sennit.views.result_table import print_result
from sennit.views.torch_table import print_torch, torch_markdown
from sennit.views.training_table import print_training, training_markdown


@dataclass(frozen=True)
class Files:
    """Where the views go; json may be "-", stdout, and then takes the tables' place."""

    json: str | None = None
    csv: Path | None = None
    markdown: Path | None = None
    html: Path | None = None

    def check(self) -> None:
        """Raises Problem where one cannot be written. Before anything is measured."""
        check_files(self.json, self.csv, self.markdown, self.html)


@dataclass(frozen=True)
class Kind:
    """How results of a kind are read and shown."""

    model: type[Any]
    draw: Callable[[Any, Console], None]
    markdown: Callable[[Any], str]
    html: Callable[[Any], str]


def _print_training(result: TrainingResult, out: Console) -> None:
    print_training(result, out)
    for warning in result.warnings:
        console.messages().print(f"warning: {warning}", style="yellow")


def _page(divide: Callable[[Any], list[sections.Section]]) -> Callable[[Any], str]:
    return lambda result: sections.sections_html(result, divide)


PUT = Kind(Result, print_result, markdown, html)
# Of any other kind it is one of puts, whose model says itself what it is not.
KINDS = {
    "bench collective": Kind(CollectiveResult, print_collective, collective_markdown, _page(sections.collective)),
    "bench mpi": Kind(MpiResult, print_mpi, mpi_markdown, _page(sections.mpi)),
    "bench torch": Kind(TorchResult, print_torch, torch_markdown, _page(sections.torch)),
    "bench training": Kind(TrainingResult, _print_training, training_markdown, _page(sections.training)),
}


def kind_of(document: Any) -> Kind:
    """By what a document says of itself."""
    return KINDS.get(str(document.get("kind")), PUT) if isinstance(document, dict) else PUT


def show_result(document: Any, origin: str, files: Files) -> Measured:
    """Shows it in all views; returns it as a record. Raises Problem where it is none, or a file cannot be written."""
    kind = kind_of(document)
    result: Measured = parse(kind.model, document, origin)
    if files.json == "-":
        print_json(document)
    else:
        kind.draw(result, console.results())
    if files.json not in (None, "-"):
        write(Path(str(files.json)), json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    for file, view in ((files.csv, to_csv), (files.markdown, kind.markdown), (files.html, kind.html)):
        if file is not None:
            write(file, view(result))
    return result
