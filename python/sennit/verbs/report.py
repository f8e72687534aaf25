"""`sennit report`: a profile on the terminal, as a page and as files; other documents by the views that they have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from sennit.programs import console
from sennit.programs.problem import Exit, Problem
from sennit.verbs.options import AsJson, Csv, Markdown, check_files, examples, print_json, write, write_bytes

if TYPE_CHECKING:
    from sennit.advice.advice import Advice, Known
    from sennit.model.profile import Profile

EXAMPLES = examples(
    "sennit report run1",
    "sennit report run1 --html run1.html --csv run1.csv --svg pictures",
    "sennit report run1 --json | jq '.rows[0]'",
    "sennit report put.json --html put.html",
)
PAGE = "page.html"


def report(
    what: Annotated[Path, typer.Argument(metavar="FOLDER|FILE", help="What sennit profile wrote; dumps of PyTorch's "
                    "Flight Recorder, logs of NCCL Inspector; or a document that "
                    "sennit bench, tune or sim did.")],
    html_file: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="The page.",
                         show_default="page.html in the folder")] = None,
    csv: Csv = None,
    markdown_file: Markdown = None,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FOLDER", help="Also write each picture.")] = None,
    png: Annotated[Path | None, typer.Option("--png", metavar="FOLDER", help="The same as PNG.")] = None,
    pdf: Annotated[Path | None, typer.Option("--pdf", metavar="FOLDER", help="The same as PDF.")] = None,
    perfetto: Annotated[Path | None, typer.Option("--perfetto", metavar="FILE", help="Also write the single calls, "
                        "for ui.perfetto.dev: JSON, or Perfetto's own format where they are many.")] = None,
    text: Annotated[bool, typer.Option("--text", help="Print, and make no page.")] = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Show a profile, or any other document of sennit. What a profiled program communicated is printed, with where
    its time went and what to do about it, and the same is put on a page with pictures in its folder."""
    # Here, so that --help does not wait for them.
    from sennit.model.document import parse
    from sennit.model.profile import Profile
    from sennit.programs.figures import converter
    from sennit.programs.profile_links import beside_links, machine_of
    from sennit.programs.profiles import write_trace
    from sennit.verbs.shown import show_document

    folders = {"svg": svg, "png": png, "pdf": pdf}
    converters = {ending: converter(ending) for ending in ("png", "pdf") if folders[ending]}
    check_files(html_file, csv, markdown_file, perfetto)
    document = document_at(what)
    if not isinstance(document, dict) or document.get("kind") != "profile":
        pictures = next((f"--{ending}" for ending, to in (folders | {"perfetto": perfetto}).items() if to), "")
        show_document(document, str(what), as_json, csv, markdown_file, html_file, pictures)
        return
    found = parse(Profile, document, str(what))
    folder = what if what.is_dir() else what.parent
    machine = machine_of(found, folder)
    document = beside_links(document, found, machine)
    found = parse(Profile, document, str(what))
    known = replace(_known(found, folder, machine), order=_order(found, document))
    advice = _advice(found, known)
    if as_json:
        print_json(document)
    else:
        _print(found, advice)
    _write_views(found, advice, known, csv, markdown_file)
    page = html_file or (None if text or as_json or not what.is_dir() else what / PAGE)
    if page is not None:
        _write_page(found, advice, known, page, is_asked=html_file is not None)
    _write_pictures(found, known, folders, converters)
    if perfetto is not None:
        write_trace(what, perfetto)
        console.messages().print(Text(f"wrote {perfetto}"), soft_wrap=True)


def document_at(what: Path) -> Any:
    """Reads the document that sennit profile wrote, or makes it of what another tool recorded. Raises Problem."""
    from sennit.programs.profiles import DOCUMENT, any_of_processes, merged, unreadable
    from sennit.programs.recordings import recorded

    try:
        is_ours = (what / DOCUMENT).exists() or any_of_processes(what)
        found = recorded(what) if what.exists() and not is_ours else None
    except OSError as error:
        raise unreadable(what, error) from None
    return found or merged(what)


def _print(found: Profile, advice: list[Advice]) -> None:
    from sennit.views.advice_text import print_advice
    from sennit.views.profile_text import print_profile

    print_profile(found, console.results())
    print_advice(advice, console.results())


def _write_views(
    found: Profile, advice: list[Advice], known: Known, csv: Path | None, markdown_file: Path | None
) -> None:
    from sennit.views.csv import profile_csv
    from sennit.views.profile.page import profile_markdown

    if csv is not None:
        for name, content in profile_csv(found).items():
            write(csv if name == "rows" else csv.with_name(f"{csv.stem}-{name}{csv.suffix}"), content)
    if markdown_file is not None:
        write(markdown_file, profile_markdown(found, advice, known.machine))


def _write_page(found: Profile, advice: list[Advice], known: Known, page: Path, *, is_asked: bool) -> None:
    """One that was not asked for is no reason to fail: the folder may be somebody else's."""
    from sennit.views.profile.page import profile_html

    try:
        write(page, profile_html(found, advice, known.machine))
    except Problem as problem:
        if is_asked:
            raise
        console.messages().print(Text(f"sennit: no page: {problem.what}; --html FILE names another"), soft_wrap=True)


def _write_pictures(
    found: Profile, known: Known, folders: dict[str, Path | None], converters: dict[str, Any]
) -> None:
    """A file each, by the names that parts give them."""
    from sennit.views.charts.frame import standalone
    from sennit.views.profile.sections import parts

    pictures: dict[str, str] = {}
    for part in parts(found, known.machine):
        pictures |= {name: standalone(svg) for name, svg in part.pictures.items()} | part.drawings
    for ending, folder in folders.items():
        for name, picture in pictures.items() if folder is not None else ():
            assert folder is not None
            content = converters[ending](picture) if ending in converters else picture.encode()
            write_bytes(folder / f"{name}.{ending}", content)


# ---- what advice rests on -----------------------------------------------------------------------------------------


def _advice(found: Profile, known: Known) -> list[Advice]:
    from sennit.advice.rules import advise

    return advise(found, known)


def _order(found: Profile, document: Any) -> list[int] | None:
    """The mapper's, where it can matter. A profile is shown without it where it cannot be had."""
    from sennit.advice.placement import on_several_hosts
    from sennit.programs.map import better_order

    try:
        return better_order(document) if on_several_hosts(found) else None
    except Problem:
        return None


def _known(found: Profile, folder: Path, machine: Any) -> Known:
    """The machine and its table of collectives: the one in the folder, else this machine's, where that is the one
    that was profiled and had GPUs in use."""
    from sennit.advice.advice import Known
    from sennit.model.document import parse
    from sennit.model.machine import Machine
    from sennit.model.plans import KeptTable
    from sennit.programs import process
    from sennit.programs.profile_links import is_of_this_machine
    from sennit.verbs.table import collectives_of

    if machine is None:
        return Known()
    read = parse(Machine, machine, "the machine")
    table = folder / TABLE
    if table.is_file() or not is_of_this_machine(found):
        return Known(read, collectives_of(table) if table.is_file() else None)
    try:
        kept, _ = process.document("sennit-tune", "kept", title="looking for earlier tuning")
        tuned = parse(KeptTable, kept, "the document of sennit-tune", version=None)
        return Known(read, tuned.table if tuned.used else None)
    except Problem as problem:
        # As sennit tune --show: this code alone says that there is none.
        return Known(read, never_tuned=problem.exit_code == Exit.WORSE)


TABLE = "collective-table.json"
