"""Writes what docs/ and README show of measurements, from results/, so that no figure is typed by hand; and the
schema of results, from the classes that read them.

results/MACHINE/NAME.json → docs/figures/MACHINE-NAME-*.svg and, between markers, tables in pages of docs/tune/, in
docs/use/gains.md and README.md. --check writes nothing and exits with 1 when something would change."""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

from fit import fit
from highlights import collective_highlights, highlights, mpi_highlights, summary, torch_highlights
from horovod_figures import horovod_figures
from house import ROOT
from kept_documents import BEYOND, MESSAGES, NONE_YET, PAPER, REPRODUCTION, Kept, documents, kept_results
from map_tables import CASES, GAINS, PATTERNS, map_cases, map_gains, measured_gains
from mpi_goals import mpi_goals
from partitioned_tables import partitioned_claims, partitioned_sections
from rich.console import Console
from sennit import units
from sennit.advice.rules import advise
from sennit.compare.groups import Group, groups
from sennit.compare.verdicts import verdicts
from sennit.fit import fit_ring
from sennit.model.document import Part, parse, read_json
from sennit.model.machine import Machine
from sennit.model.map import RankMap
from sennit.model.partitioned import PARTITIONED, Partitioned
from sennit.model.plans import CollectiveTable
from sennit.model.profile import Profile
from sennit.model.recording_cost import RECORDING_COST, RecordingCost
from sennit.model.result import BENCH_MPI, COLLECTIVE, PUT, TORCH, TRAINING, Result
from sennit.model.sim import Beyond, Messages, Paper, Reproduction
from sennit.model.tuned import PutTable
from sennit.units import NOTHING
from sennit.views import puts, result_charts
from sennit.views.beyond import beyond_markdown
from sennit.views.charts.frame import standalone
from sennit.views.machine_svg import machine_svg
from sennit.views.map_svg import before_and_after
from sennit.views.markdown import pipes
from sennit.views.origin import origin, repetitions
from sennit.views.paper import beside, paper_chart, paper_figures, paper_markdown
from sennit.views.profile.page import report_markdown
from sennit.views.profile.sections import parts
from sennit.views.profile_text import by_function, by_size, headline, print_summary, run
from sennit.views.queues_text import by_poll
from sennit.views.recording_cost import cost_markdown
from sennit.views.reproduction import reproduction_markdown
from sennit.views.sections import body_markdown, table_markdown
from training_sections import training_sections, training_summary

SCHEMAS: tuple[tuple[str, type[Part], str, str], ...] = (
    ("result", Result, "A measurement with everything needed to believe it", "tune/result"),
    ("collective-table", CollectiveTable, "The fastest plans of collectives that were measured", "tune/tune"),
    ("put-table", PutTable, "The fastest splits that were measured between two memories", "tune/tune"),
    ("profile", Profile, "What a profiled program communicated", "use/profile"),
    ("recording-cost", RecordingCost, "What recording costs calls of NCCL and training", "use/profile"),
    ("partitioned", Partitioned, "Partitioned messages, measured beside whole ones", "tune/bench-partitioned"),
    ("map", RankMap, "Which rank of a program goes on which GPU", "use/map"),
)


def schema(model: type[Part], title: str, explained: str) -> str:
    """The JSON schema of a document, from the class that reads it."""
    source = str(Path(sys.modules[model.__module__].__file__ or "").relative_to(ROOT))
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "description": f"Generated from {source} by make docs; explained in {explained}.",
    }
    body = model.model_json_schema(by_alias=True)
    body.pop("title")
    body.pop("description")
    return json.dumps(head | body, indent=2, ensure_ascii=False) + "\n"


def charts(kept: Kept, group: Group, index: int) -> dict[str, str]:
    """File name → SVG of one case; charts that have nothing to show are left out."""
    drawn = {
        "bandwidth": result_charts.bandwidth(group),
        "times": result_charts.against_engine(group),
        "split": result_charts.split(group),
    }
    return {f"{kept.name}-{index}-{kind}.svg": standalone(svg) for kind, svg in drawn.items() if svg}


def section(kept: Kept, figures: dict[str, str]) -> str:
    """One result in docs/tune/bench-put.md; adds its charts to `figures`."""
    parts = [f"## {kept.name}", f"{origin(kept.result)} {repetitions(kept.result)} Source: `{kept.path}`."]
    parts += [f"Warning: {warning}" for warning in kept.result.warnings]
    for index, group in enumerate(groups(kept.result)):
        drawn = charts(kept, group, index)
        figures |= drawn
        pictures = " ".join(f"![{name}](../figures/{name})" for name in drawn)
        table = table_markdown(puts.table(group))
        parts += [f"### {group.title}", " ".join(verdicts(group)), table, pictures]
    return "\n\n".join(part for part in parts if part)


def sections_of_ranks(root: Path, kind: str) -> str:
    """The results of that kind, one behind the other."""
    parts = []
    for kept in kept_results(root, kind):
        warnings = [f"Warning: {warning}" for warning in kept.result.warnings]
        body = body_markdown(kept.result).strip()
        parts += [f"## {kept.name}", f"Source: `{kept.path}`.", *warnings, body]
    return "\n\n".join(parts) or NONE_YET


def reproductions(root: Path) -> str:
    """The simulator beside measured machines, in docs/tune/reproduction.md."""
    parts = []
    for _, path, document in documents(root, REPRODUCTION):
        found = parse(Reproduction, document, path)
        parts += [f"### {found.machine}", f"Source: `{path}`.", reproduction_markdown(found).strip()]
    return "\n\n".join(parts) or NONE_YET


def papers(root: Path, figures: dict[str, str]) -> str:
    """The papers done again, in docs/tune/reproduction.md; adds a chart of each to `figures`."""
    parts = []
    for name, path, document in documents(root, PAPER):
        found = parse(Paper, document, path)
        figures[f"{name}.svg"] = standalone(paper_chart(found))
        parts += [f"### {found.machine}", f"Source: `{path}`.", paper_markdown(found).strip()]
        parts.append(f"![{name}](../figures/{name}.svg)")
        for figure, svg in paper_figures(found).items():
            drawn = f"{name}-{figure.split(', ')[-1].replace(' ', '-')}"
            figures[f"{drawn}.svg"] = standalone(svg)
            told = beside(found, figure)
            parts += [f"![{figure}](../figures/{drawn}.svg)", *([f"In the paper: {told}."] if told else [])]
    return "\n\n".join(parts) or NONE_YET


def further(root: Path) -> str:
    """What machines could do beyond the papers, in docs/tune/beyond.md."""
    found = [parse(Beyond, document, path) for _, path, document in documents(root, BEYOND)]
    return "\n\n".join(beyond_markdown(one).strip() for one in found) or NONE_YET


def lines_of_puts(results: list[Kept]) -> str:
    """α and β of whatever was measured one way between two GPUs, in docs/tune/cost-models.md."""
    lines = [["machine", "by", "α, µs", "1 / β, GB/s", "sizes"], ["---", "---", "--:", "--:", "--:"]]
    for kept in results:
        rows = [row for row in kept.result.rows if row.traffic == "one_way" and row.window == 1]
        rows = [row for row in rows if row.from_.startswith("gpu") and row.to.startswith("gpu")]
        for variant in dict.fromkeys(row.variant for row in rows):
            found = fit([(row.bytes, row.median_us) for row in rows if row.variant == variant])
            if found and found.points > 2:
                alpha = f"{units.three_digits(found.alpha_us)} ± {units.three_digits(found.alpha_half)}"
                rate = f"{units.three_digits(found.gbps)} ± {units.three_digits(found.gbps_half)}"
                lines.append([kept.path.split("/")[1], variant, alpha, rate, str(found.points)])
    return pipes(lines) if len(lines) > 2 else NONE_YET


def rings(root: Path) -> str:
    """Equation 2 fitted to half of what was measured of rings and chains, in docs/tune/cost-models.md."""
    headings = ["machine", "by", "ranks", "t_s, µs", "C", "B, GB/s", "fitted to", "predicted", "median", "worst"]
    lines = [headings, ["---", "---", *["--:"] * (len(headings) - 2)]]
    for kept in kept_results(root, COLLECTIVE):
        rows = [row for row in kept.result.rows if row.operation == "broadcast" and row.graph and not row.registered]
        for by, algorithm in (("sennit", "chain"), ("nccl", "")):
            # NCCL has no other broadcast than its ring.
            chosen = [row for row in rows if row.variant == by and (row.plan or "").startswith(algorithm)]
            for ranks in sorted({row.ranks for row in chosen}):
                found = fit_ring([(row.bytes, row.median_us) for row in chosen if row.ranks == ranks], ranks)
                if not found:
                    continue
                ring, long = found.ring, len(found.errors)
                figures = [units.three_digits(ring.start_us), units.size(round(ring.chunk_bytes))]
                figures += [units.three_digits(ring.gbps), f"{found.fitted} sizes", f"{long} sizes"]
                errors = [units.percent(found.median), units.percent(max(found.errors))]
                lines.append([kept.path.split("/")[1], f"{by} {algorithm}".strip(), str(ranks), *figures, *errors])
    return pipes(lines) if len(lines) > 2 else NONE_YET


def closed_forms(root: Path) -> str:
    """Simulated over α-β-γ, of allreduce on several machines, in docs/tune/cost-models.md."""
    kept = [parse(Messages, document, path) for _, path, document in documents(root, MESSAGES)]
    kept = sorted((one for one in kept if one.nodes == 1), key=lambda one: (one.machine, one.bytes))
    if not kept:
        return NONE_YET
    algorithms = sorted({each.algorithm for one in kept for each in one.algorithms if each.closed_form_us})
    lines = [["allreduce by", *(f"{one.machine}, {units.size(one.bytes)}" for one in kept)]]
    lines.append(["---", *(["--:"] * len(kept))])
    for algorithm in algorithms:
        cells = []
        for one in kept:
            found = next((each for each in one.algorithms if each.algorithm == algorithm), None)
            form = found.closed_form_us if found else None
            cells.append(f"{found.us / form:.2f}" if found and form else NOTHING)
        lines.append([algorithm, *cells])
    return pipes(lines)


def between(text: str, name: str, content: str) -> str:
    """`text` with what stands between the markers of `name` replaced. Raises SystemExit where they are missing."""
    begin, end = f"<!-- generated from results/: {name} -->", f"<!-- end of {name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"generate_docs: the markers {begin} … {end} are missing; put them where the tables belong")
    return pattern.sub(lambda _: f"{begin}\n\n{content}\n\n{end}", text)


PROFILE, LOAD = "profile", "profile load"
SHOWN = ("sizes-calls", "sizes-time")  # of a profile's pictures, where not all are


def profiles(root: Path) -> dict[str, Profile]:
    """Reads the profiles in results/, by their names."""
    return {name: parse(Profile, document, path) for name, path, document in documents(root, PROFILE)}


def pictured(name: str, profile: Profile, figures: dict[str, str]) -> Callable[[str], str]:
    """Gives the writer of a profile's pictures in Markdown, which adds them to `figures`."""
    drawn = {each: svg for part in parts(profile) for each, svg in part.pictures.items()}

    def said(picture: str) -> str:
        figures[f"{name}-{picture}.svg"] = standalone(drawn[picture])
        return f"![{picture}](../figures/{name}-{picture}.svg)"

    return said


def profile_printed(name: str, profile: Profile, figures: dict[str, str]) -> str:
    """Prints it as `sennit profile` does, and adds some pictures."""
    out = Console(file=io.StringIO(), width=110, no_color=True)
    print_summary(profile, advise(profile), out)
    assert isinstance(out.file, io.StringIO)
    lines = "\n".join(line.rstrip() for line in out.file.getvalue().strip().splitlines())
    picture = pictured(name, profile, figures)
    return f"```\n{lines}\n```\n\n{' '.join(map(picture, SHOWN))}"


def beside_papers(found: dict[str, Profile], figures: dict[str, str]) -> str:
    """Profiles by function, in docs/use/metrics.md."""
    parts_ = []
    for number, (said, drawn) in enumerate(horovod_figures(found).items()):
        file = f"horovod-resnet50-{number + 1}.svg"
        figures[file] = standalone(drawn)
        parts_.append(f"{said[0].upper()}{said[1:]}.\n\n![{said}](../figures/{file})")
    for name, profile in found.items():
        parts_ += [f"**{name}.** {headline(profile)} {run(profile)}", table_markdown(by_function(profile))]
        parts_ += [table_markdown(by_size(profile))]
        parts_ += [table_markdown(by_poll(profile))] if profile.polls else []
    return "\n\n".join(parts_) or NONE_YET


def profile_load(root: Path) -> str:
    """Says how large a profile may be, in docs/use/profile.md."""
    said = []
    for _, path, found in documents(root, LOAD):
        rates = "; ".join(
            f"{rate['threads']} {'thread' if rate['threads'] == 1 else 'threads'} of 10^6 calls/s for "
            f"{rate['seconds']:.0f} s: {rate['calls']} calls counted of {rate['expected_calls']}"
            for rate in found["rates"]
        )
        opens, kills = found["page_opens_seconds"], found["kills"]
        said.append(
            f"With a load of {found['load']:.0f} on {found['cores']} cores, {found['ranks']} processes of "
            f"{found['events_of_each']} calls each were merged in {found['merge_seconds']:.0f} s, "
            f"{found['merge_cpu_seconds']:.0f} s of them at work, with {units.size(found['merge_peak_bytes'])} of "
            f"memory; the page has {units.size(found['page_bytes'])}{f', opens in {opens:.1f} s' if opens else ''}. "
            f"A process was killed {kills['killed']} times while it recorded: {kills['whole']} times its file had "
            f"all calls that had ended. {rates}. (`{path}`)"
        )
    return "\n\n".join(said) or NONE_YET


def recording_costs(root: Path) -> str:
    """Says what recording costs calls of NCCL and training, in docs/use/profile.md."""
    found = [
        f"{cost_markdown(parse(RecordingCost, document, path)).strip()} (`{path}`)"
        for _, path, document in documents(root, RECORDING_COST)
    ]
    return "\n\n".join(found) or NONE_YET


def machine_pictures(root: Path) -> dict[Path, str]:
    """A picture of every machine that comes with sennit."""
    files = sorted((root / "machines").glob("*.json"))
    folder = root / "docs" / "figures"
    return {
        folder / f"machine-{file.stem}.svg": machine_svg(parse(Machine, read_json(file), file.name)) for file in files
    }


def map_pictures(root: Path) -> dict[Path, str]:
    """A picture of every map that is kept, before and after."""
    files = {}
    for name, path, document in documents(root, "map"):
        found = parse(RankMap, document, path)
        machine = parse(Machine, read_json(root / "machines" / f"{found.machine}.json"), found.machine)
        files[root / "docs" / "figures" / f"{name}.svg"] = before_and_after(found, machine)
    return files


def generated(root: Path) -> dict[Path, str]:
    """Every generated file and its content."""
    results = kept_results(root, PUT)
    figures: dict[str, str] = {}
    sections = "\n\n".join(section(kept, figures) for kept in results) or NONE_YET
    again = papers(root, figures)
    in_parts = partitioned_sections(root, figures)
    kept = profiles(root)
    page, printed, metrics = NONE_YET, NONE_YET, beside_papers(kept, figures)
    for name, profile in kept.items():
        if name.endswith("server"):
            page = report_markdown(profile, advise(profile), None, pictured(name, profile, figures)).strip()
        if name.endswith("horovod"):
            printed = profile_printed(name, profile, figures)
    files = {root / "docs" / "figures" / name: svg for name, svg in figures.items()}
    files |= machine_pictures(root)
    files |= map_pictures(root)
    tune, use = root / "docs" / "tune", root / "docs" / "use"
    gains = use / "gains.md"
    for file, name, content in (
        (tune / "bench-put.md", PUT, sections),
        (tune / "bench-collectives.md", COLLECTIVE, sections_of_ranks(root, COLLECTIVE)),
        (root / "docs" / "develop" / "goals.md", "goals", mpi_goals(root)),
        (tune / "bench-mpi.md", BENCH_MPI, sections_of_ranks(root, BENCH_MPI)),
        (tune / "bench-partitioned.md", PARTITIONED, in_parts),
        (tune / "bench-partitioned.md", "partitioned claims", partitioned_claims(root)),
        (tune / "bench-torch.md", TORCH, sections_of_ranks(root, TORCH)),
        (tune / "bench-training.md", TRAINING, training_sections(root)),
        (tune / "reproduction.md", REPRODUCTION, reproductions(root)),
        (tune / "reproduction.md", PAPER, again),
        (tune / "cost-models.md", "closed forms", closed_forms(root)),
        (tune / "cost-models.md", "lines", lines_of_puts(results)),
        (tune / "cost-models.md", "rings", rings(root)),
        (tune / "beyond.md", BEYOND, further(root)),
        (root / "docs" / "use" / "map.md", CASES, map_cases(root)),
        (root / "docs" / "use" / "map.md", GAINS, map_gains(root)),
        (root / "docs" / "tune" / "bench-patterns.md", PATTERNS, measured_gains(root)),
        (use / "metrics.md", "profiles", metrics),
        (use / "report.md", "profile page", page),
        (use / "profile.md", "profile", printed),
        (use / "profile.md", "profile load", profile_load(root)),
        (use / "profile.md", RECORDING_COST, recording_costs(root)),
        (gains, "collective highlights", collective_highlights(root)),
        (gains, "torch highlights", torch_highlights(root)),
        (gains, "mpi highlights", mpi_highlights(root)),
        (gains, "put highlights", highlights(results)),
        (root / "README.md", "summary", f"{summary(root, results)}\n{training_summary(root)}"),
    ):
        files[file] = between(files.get(file, file.read_text(encoding="utf-8")), name, content)
    for name, model, title, page in SCHEMAS:
        files[root / "schemas" / f"{name}.schema.json"] = schema(model, title, f"docs/{page}.md")
    return files


def stale(root: Path, files: dict[Path, str]) -> list[Path]:
    """What is not as it would be generated: files that differ or are missing, figures that nothing generates."""
    differing = [
        file for file, text in files.items() if not file.exists() or file.read_text(encoding="utf-8") != text
    ]
    return differing + [file for file in sorted((root / "docs" / "figures").glob("*.svg")) if file not in files]


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say what is out of date")
    check = parser.parse_args().check
    files = generated(ROOT)
    outdated = stale(ROOT, files)
    for file in outdated:
        if check:
            print(f"{file.relative_to(ROOT)} is out of date; run: make docs")
        elif file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(files[file], encoding="utf-8")
            print(f"wrote {file.relative_to(ROOT)}")
        else:
            file.unlink()
            print(f"removed {file.relative_to(ROOT)}: no result or machine gives it any more")
    return 1 if check and outdated else 0


if __name__ == "__main__":
    sys.exit(main())
