"""`sennit reproduce`: the simulator beside what was measured, and beside papers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sennit.model.document import parse
from sennit.model.sim import Held, Paper, Papers, Reproduction
from sennit.programs import console, process
from sennit.programs.beyond import beyond
from sennit.programs.problem import Exit, Problem
from sennit.programs.sim import PROGRAM
from sennit.verbs.options import AsJson, Markdown, check_files, examples, print_json, write
from sennit.views.beyond import beyond_markdown, print_beyond
from sennit.views.paper import paper_markdown, papers_markdown, print_paper, print_papers
from sennit.views.reproduction import print_reproduction, reproduction_markdown

LEFT_OUT = ("-late", "-eager", "-peers", "-bfloat16", "-table")  # by the ends of their names
OTHERS = "-second"  # ends a folder of another machine of the kind, whose host memory is faster than its document says
PAPERS = ("mist", "cedar", "helios", "ri2", "cscs")  # the machines of papers that src/sim/papers/ has
STUDIES = {"broadcast": ("ri2", "cscs")}  # of a paper with several machines
EXAMPLES = examples(
    "sennit reproduce hgx-h200-4",
    "sennit reproduce mist",
    "sennit reproduce broadcast",
    "sennit reproduce beyond",
    "sennit reproduce my-machine --results measured/",
)


def reproduce(
    machine: Annotated[
        str,
        typer.Argument(
            metavar="MACHINE",
            help="A machine's name or file; of papers: mist, cedar, helios, ri2, cscs, or broadcast: both; beyond.",
        ),
    ],
    results: Annotated[
        list[Path] | None,
        typer.Option(
            "--results",
            metavar="FILE|FOLDER",
            help="Results of `sennit bench … --json` from it; default: those of the source tree.",
        ),
    ] = None,
    markdown: Markdown = None,
    as_json: AsJson = False,
) -> None:
    """Replay what was measured on a machine, or do a paper's experiments again on its machine, and say how far off
    the simulator is."""
    check_files(markdown)
    if machine == "beyond" and not results:
        more = beyond()
        if markdown:
            write(markdown, beyond_markdown(more))
        if as_json:
            print_json(more.model_dump(mode="json"))
        else:
            print_beyond(more, console.results())
        return
    if machine in PAPERS and not results:
        paper, document = paper_of(machine)
        if markdown:
            write(markdown, paper_markdown(paper))
        if as_json:
            print_json(document)
        else:
            print_paper(paper, console.results())
        return
    if machine in STUDIES and not results:
        documents = [paper_of(name)[1] for name in STUDIES[machine]]
        both = {"version": 1, "kind": "sim papers", "machines": documents}
        papers = parse(Papers, both, f"the documents of {PROGRAM}")
        if markdown:
            write(markdown, papers_markdown(papers))
        if as_json:
            print_json(both)
        else:
            print_papers(papers, console.results())
        return
    files = measured_files(machine, results or [])
    held = []
    for file in files:
        document, _ = process.document(PROGRAM, "against", str(file), "--machine", machine, title=f"replaying {file}")
        held.append(parse(Held, document, f"the document of {PROGRAM}"))
    rows = [row for one in held for row in one.rows]
    if not rows:
        raise Problem(
            "none of the results has a plan to replay", "Name results of `sennit bench allreduce --json`", 2
        )
    found = Reproduction(
        version=1,
        kind="reproduction",
        machine=held[0].machine,
        sources=[shown(file) for file in files],
        costs={name: value for one in held for name, value in one.costs.items()},
        rows=rows,
    )
    if markdown:
        write(markdown, reproduction_markdown(found))
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        print_reproduction(found, console.results())


def paper_of(machine: str) -> tuple[Paper, Any]:
    """A paper's experiments on its machine, and the document that they were read from. Raises Problem."""
    document, _ = process.document(PROGRAM, "paper", machine, title=f"reproducing {machine}")
    return parse(Paper, document, f"the document of {PROGRAM}"), document


def shown(file: Path) -> str:
    """A file's name with its folder: results of several machines have the same names."""
    return f"{file.parent.name}/{file.name}"


def measured_files(machine: str, given: list[Path]) -> list[Path]:
    """The results to replay. Raises Problem where there are none."""
    tree = Path(__file__).resolve().parents[3] / "results"
    folders = given or [
        folder for folder in sorted(tree.glob(f"{Path(machine).stem}*/")) if not folder.name.endswith(OTHERS)
    ]
    files = []
    for each in folders:
        # Late ranks and calls one by one are other questions; plans beside peers stand in the others too.
        kept = [
            file
            for pattern in ("collectives*.json", "put-*.json")
            for file in sorted(each.glob(pattern))
            if not file.stem.endswith(LEFT_OUT)
        ]
        files += kept if each.is_dir() else [each]
    if not files:
        raise Problem(
            f"there are no results of {machine}",
            f"Name some: --results FILE; or a paper's machine: {', '.join(PAPERS)}",
            Exit.USAGE,
        )
    return files
