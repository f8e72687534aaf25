"""`sennit compare`: did anything become slower?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sennit.programs import console
from sennit.programs.problem import Exit, Problem
from sennit.verbs.options import AsJson, examples, print_json

if TYPE_CHECKING:
    from sennit.model.result import Result

EXAMPLES = examples(
    "sennit compare before.json after.json",
    "sennit compare before.json after.json --fail-if slower:3",
    "sennit compare run1 run2 --fail-if slower:3",
    "sennit compare before.json after.json --fail-if slower --fail-if unclear --json",
)


def compare(
    first: Annotated[
        Path, typer.Argument(metavar="A", help="A result that sennit bench wrote, or a profile’s folder.")
    ],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another one, of the same benchmark or program.")],
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-if",
            metavar="slower[:PERCENT]|unclear",
            help="Exit 1 where a row of B is so, beyond the noise; may be repeated.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two results, or two profiles, row by row: is B the same as A, faster, slower, or can it not be told?

    Only what was measured in the same way is compared. What differs between machines and versions is said first."""
    # Here, so that --help does not wait for them.
    from sennit.compare.profiles import KIND
    from sennit.compare.runs import NOT_COMPARED, broken, comparison_document, limit
    from sennit.compare.runs import compare as compared
    from sennit.views.changes_text import print_comparison

    limits = [limit(text) for text in fail_if or []]
    runs = _read(first), _read(second)
    found = compared(*runs)
    files = str(first), str(second)
    if as_json:
        print_json(comparison_document(found, runs[0].kind, files))
    else:
        print_comparison(found, runs, files, console.results())
    if bad := broken(found, limits):
        more = f" (and {len(bad) - 3} more)" if len(bad) > 3 else ""
        remedy = ""
        if bad == [NOT_COMPARED]:
            longer = "Profile longer runs" if runs[0].kind == KIND else "Measure both longer (--seconds)"
            remedy = f"{longer}, in the same way"
        raise Problem("; ".join(bad[:3]) + more, remedy, Exit.WORSE)


def _read(what: Path) -> Result:
    """A result, or what is compared as one. Raises Problem."""
    from sennit.compare import partitioned, profiles
    from sennit.model.document import parse, read_json
    from sennit.model.partitioned import PARTITIONED, Partitioned
    from sennit.model.profile import Profile
    from sennit.model.result import read_result
    from sennit.programs.profiles import merged

    document = merged(what) if what.is_dir() else read_json(what)
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind == profiles.KIND:
        return profiles.as_result(parse(Profile, document, str(what)))
    if kind == PARTITIONED:
        return partitioned.as_result(parse(Partitioned, document, str(what)))
    return read_result(document, str(what))
