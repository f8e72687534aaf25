"""`sennit bench project`: what a program would gain by partitioned messages, from its profile and a measurement."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sennit.model.partitioned import BACK_ENDS, OWN, PARTITIONED
from sennit.programs import console
from sennit.programs.problem import Exit, Problem
from sennit.verbs.options import AsJson, examples, print_json

if TYPE_CHECKING:
    from sennit.model.partitioned import Partitioned
    from sennit.model.projection import Spent

EXAMPLES = examples(
    "sennit profile -o run1 -- mpirun -n 4 ./sweep",
    "sennit bench partitioned --sizes 1K:16M --json p.json",
    "sennit bench project run1 --measured p.json",
    "sennit bench project times.csv --measured p.json --by persistent_partitions --json",
)


def add_verb(app: typer.Typer) -> None:
    """Adds it to `sennit bench`."""
    app.command("project", epilog=EXAMPLES, rich_help_panel="Programs of MPI")(project)


def project(
    profile: Annotated[
        Path,
        typer.Argument(
            metavar="PROFILE",
            help="What sennit profile wrote, or a CSV: run,SECONDS and lines SIZE,SECONDS of one process.",
        ),
    ],
    measured: Annotated[
        Path, typer.Option("--measured", metavar="FILE", help="What sennit bench partitioned wrote with --json.")
    ],
    by: Annotated[
        str, typer.Option("--by", metavar="NAME", help=f"Who sends: {', '.join(BACK_ENDS)}.", show_default=OWN)
    ] = OWN,
    as_json: AsJson = False,
) -> None:
    """Project what a program would gain if its messages were partitioned: S = T / (T − Σ t (1 − 1/s)), by size.

    A message's gain is what was saved of the whole message's time, with its interval."""
    # Here, so that --help does not wait for them.
    from sennit.model.projection import project as projected
    from sennit.model.projection import ways
    from sennit.views.projection_text import print_projection, projection_document

    if by not in BACK_ENDS:
        raise Problem(f"--by: there is no back end {by!r}", f"Use one of {', '.join(BACK_ENDS)}", Exit.USAGE)
    taken = _spent(profile)
    found = _measured(measured)
    known = ways(row for row in found.measured if row.back_end == by)
    if not known:
        raise Problem(
            f"{measured} has no line of {by}", "Measure it with --vs, or name another one with --by", Exit.USAGE
        )
    projections = [projected(taken, way, gains) for way, gains in known.items()]
    if as_json:
        print_json(projection_document(projections, (str(profile), str(measured))))
    else:
        print_projection(projections, found, console.results())


def _spent(what: Path) -> Spent:
    from sennit.model.document import parse
    from sennit.model.profile import Profile
    from sennit.model.projection import spent_by, spent_of
    from sennit.programs.profiles import merged

    if what.suffix == ".csv":
        try:
            return spent_of(what.read_text(encoding="utf-8"), str(what))
        except (OSError, UnicodeDecodeError) as error:
            raise Problem(
                f"{what} cannot be read: {error}", "Give a CSV, or a profile's folder", Exit.USAGE
            ) from None
    document = merged(what)
    if not isinstance(document, dict) or document.get("kind") != "profile":
        raise Problem(f"{what} is no profile", "Give what sennit profile wrote, or a CSV", Exit.USAGE)
    return spent_by(parse(Profile, document, str(what)))


def _measured(file: Path) -> Partitioned:
    from sennit.model.document import parse, read_json
    from sennit.model.partitioned import Partitioned

    document = read_json(file)
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind != PARTITIONED:
        raise Problem(
            f"{file} is no measurement of partitioned messages", "Give what sennit bench partitioned --json wrote",
            Exit.USAGE,
        )  # fmt: skip
    return parse(Partitioned, document, str(file))
