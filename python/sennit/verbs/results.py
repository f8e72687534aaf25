"""A result of `sennit bench` in every view that was asked for: tables, JSON, CSV, Markdown, a page with plots."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sennit.programs import console
from sennit.verbs.options import Csv, Html, Markdown, ResultFile, check_files, print_json, write

if TYPE_CHECKING:
    from sennit.model.result import Result


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


def with_files(verb: Callable[..., None]) -> Callable[..., None]:
    """Gives a verb --json, --csv, --markdown and --html in the place of its parameter `files`, by the signature that
    Typer reads. Before the verb begins it is known that they can be written; otherwise Problem is raised."""
    options = {"json_file": ResultFile, "csv": Csv, "markdown_file": Markdown, "html_file": Html}
    signature = inspect.signature(verb, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for each in signature.parameters.values():
        named = options if each.name == "files" else {}
        parameters += [each.replace(name=name, annotation=of, default=None) for name, of in named.items()] or [each]

    @functools.wraps(verb)
    def with_options(**given: Any) -> None:
        files = Files(*(given.pop(name, None) for name in options))
        files.check()
        verb(**given, files=files)

    with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_options


def show_result(document: Any, origin: str, files: Files) -> Result:
    """Shows it in all views; returns it as a record. Raises Problem where it is none, or a file cannot be written."""
    # Here, so that --help does not wait for them.
    from sennit.model.result import read_result
    from sennit.views.csv import to_csv
    from sennit.views.sections import html, markdown, print_result

    result = read_result(document, origin)
    if files.json == "-":
        print_json(document)
    else:
        print_result(result, console.results())
    if files.json not in (None, "-"):
        write(Path(str(files.json)), json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    for file, view in ((files.csv, to_csv), (files.markdown, markdown), (files.html, html)):
        if file is not None:
            write(file, view(result))
    return result
