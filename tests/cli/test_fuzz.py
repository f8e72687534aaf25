"""The readers of documents under damage: a fixed sequence of mutants of every kind of document. A mutant is read, and
then every view of it is drawn, or refused in words that name the file and what is wrong with it. The C++ programs'
readers of machines have tests/machine/fuzz_test.cc. The file is long, as all documents share the mutants."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import generate_docs
import highlights
import kept_documents
import made_up_profiles
import pytest
from conftest import ROOT, data, kept_plans, shown
from mutant import mutant
from sennit import __main__
from sennit.advice.advice import NOTHING_KNOWN, Known
from sennit.advice.rules import advise
from sennit.compare.groups import groups
from sennit.compare.profiles import as_result
from sennit.compare.runs import broken, compare, comparison_document, limit
from sennit.compare.table_diff import diff_document, table_diff
from sennit.compare.verdicts import below
from sennit.model.collective_plan import CollectivePlan
from sennit.model.doctor import Doctor
from sennit.model.document import Part, decode, parse, read_json
from sennit.model.explain import Explanation
from sennit.model.machine import Machine
from sennit.model.map import RankMap
from sennit.model.plans import CollectiveTable, KeptTable
from sennit.model.profile import Profile
from sennit.model.result import Result
from sennit.model.sim import Simulation, Sweep
from sennit.model.tuned import PutTable
from sennit.programs import process
from sennit.programs.problem import Exit, Problem
from sennit.programs.process import Output
from sennit.programs.progress import step_of
from sennit.programs.rank_map import Gpus, visible_devices
from sennit.views import puts, sim_sweep
from sennit.views.advice_text import print_advice
from sennit.views.changes_text import print_comparison, print_table_diff
from sennit.views.charts.frame import standalone
from sennit.views.collective_plan_text import print_collective_plan
from sennit.views.csv import profile_csv, to_csv
from sennit.views.doctor_text import print_doctor
from sennit.views.explain_text import print_explanation
from sennit.views.machine_svg import machine_svg
from sennit.views.machine_text import print_machine
from sennit.views.map_html import map_html
from sennit.views.map_svg import before_and_after
from sennit.views.map_text import print_map
from sennit.views.plan_tables import check_text, print_kept, print_plan_table
from sennit.views.profile.page import profile_html, profile_markdown
from sennit.views.profile.sections import parts
from sennit.views.profile_text import print_profile
from sennit.views.sections import body_markdown, html, markdown, print_result, sections_of, table_markdown
from sennit.views.sim_html import picture, simulation_html, sweep_html
from sennit.views.sim_text import print_simulation
from sennit.views.tables import print_put_table

WIDTHS = (30, 80, 132)  # of screens: narrower than any table, usual, a file
NAMES = ("before.json", "after.json")
CATALOGUE = {"machines": [{"name": "mist", "description": "Made up. Twice."}, {"name": "ri2", "description": ""}]}


def kept(pattern: str) -> list[Any]:
    """The documents of the tree whose names match."""
    found = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(ROOT.glob(pattern))]
    assert found, f"no {pattern}"
    return found


# By the names of their files in data/.
BENCHMARKS = {
    name: [data(name), *(one for one in kept("results/*/*.json") if one["kind"] == data(name)["kind"])]
    for name in ("result", "collective", "mpi", "torch", "training")
}
RESULTS = BENCHMARKS["result"]
TABLES = [data("tuned"), *kept("results/*/put-table.json")]
PROFILES = (made_up_profiles.ddp, made_up_profiles.halo, made_up_profiles.horovod)
MACHINES = [data("machine"), *kept("machines/*.json")]


def check_picture(svg: str) -> None:
    """Well-formed, and every coordinate a number."""
    for element in ElementTree.fromstring(svg).iter():
        for name, value in element.attrib.items():
            if name not in ("aria-label", "class", "fill", "stroke"):
                assert not re.search(r"nan|inf", value), f"{name}={value}"


class Tags(HTMLParser):
    """The names of the tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.names.add(tag)


def check_page(page: str) -> None:
    """No tag but the page's own, however a document names things (TEXTS of mutant.py)."""
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert "details" in tags.names
    assert "b" not in tags.names


def draw_comparison(good: Result, result: Result, random: Random) -> None:
    """With a good one, either way round, and with itself."""
    for runs in ((good, result), (result, good), (result, result)):
        if runs[0].kind != runs[1].kind:
            continue
        found = compare(*runs)
        shown(partial(print_comparison, found, runs, NAMES), random.choice(WIDTHS))
        json.dumps(comparison_document(found, "made-up", NAMES), allow_nan=False)
        assert isinstance(broken(found, [limit("slower:3"), limit("unclear")]), list)


def draw_result(name: str, result: Result, random: Random) -> None:
    """Every view, and that the text formats keep their rows and cells apart."""
    draw_comparison(Result.model_validate(data(name)), result, random)
    shown(lambda console: print_result(result, console), random.choice(WIDTHS))
    rows = list(csv.reader(io.StringIO(to_csv(result), newline="")))
    assert [len(row) for row in rows] == [len(rows[0])] * (len(result.rows) + 1)
    tables = [table for section in sections_of(result) for table in section.tables]
    lines = [line for line in body_markdown(result).split("\n") if line.startswith("| ")]
    assert len(lines) == sum(2 + len(table.lines) for table in tables)
    bars = [re.sub(r"\\.", "", line).count("|") for line in lines]
    assert set(bars) <= {len(table.headings) + 1 for table in tables}
    assert markdown(result)
    check_page(html(result))


def draw_put(result: Result, random: Random) -> None:
    """That, and what docs/ show of it."""
    draw_result("result", result, random)
    for group in groups(result):
        lines = table_markdown(puts.table(group)).split("\n")
        assert len(lines) == len(group.sizes) + 2
    assert isinstance(below(result, 1), list)
    found = kept_documents.Kept("made-up", "results/made-up.json", result)
    figures: dict[str, str] = {}
    assert generate_docs.section(found, figures)
    assert highlights.highlights([found])
    for figure in figures.values():
        check_picture(figure)


def draw_machine(machine: Machine, random: Random) -> None:
    shown(lambda console: print_machine(machine, console), random.choice(WIDTHS))
    check_picture(machine_svg(machine))


def draw_table(table: PutTable, random: Random) -> None:
    shown(lambda console: print_put_table(table, console), random.choice(WIDTHS))


def draw_plans(table: CollectiveTable, random: Random) -> None:
    """Alone, and beside a good one, either way round."""
    shown(lambda console: print_plan_table(table, console), random.choice(WIDTHS))
    good = CollectiveTable.model_validate(data("plans"))
    for tables in ((good, table), (table, good), (table, table)):
        diff = table_diff(*tables)
        shown(partial(print_table_diff, diff, tables, NAMES), random.choice(WIDTHS))
        json.dumps(diff_document(diff, NAMES), allow_nan=False)


def draw_kept(kept: KeptTable, random: Random) -> None:
    shown(lambda console: print_kept(kept, console), random.choice(WIDTHS))
    assert check_text(kept, named=random.random() < 0.5)


def draw_plan(plan: CollectivePlan, random: Random) -> None:
    shown(lambda console: print_collective_plan(plan, console), random.choice(WIDTHS))


def draw_simulation(found: Simulation, random: Random) -> None:
    """In words, and on machines that it may or may not be of."""
    shown(lambda console: print_simulation(found, console), random.choice(WIDTHS))
    machine = Machine.model_validate(random.choice(MACHINES))
    check_picture(picture(found, machine))
    check_page(simulation_html(found, machine))


def draw_sweep(sweep: Sweep, random: Random) -> None:
    shown(lambda console: sim_sweep.print_sweep(sweep, console), random.choice(WIDTHS))
    check_picture(sim_sweep.bandwidth(sweep))
    check_picture(sim_sweep.time(sweep))
    check_page(sweep_html(sweep))


def draw_profile(profile: Profile, random: Random) -> None:
    """Every view, advice with and without a machine, and beside a good one, either way round."""
    good = Profile.model_validate(made_up_profiles.halo())
    known = Known(Machine.model_validate(random.choice(MACHINES)), CollectiveTable.model_validate(data("plans")))
    advice = advise(profile, random.choice([known, NOTHING_KNOWN]))
    shown(lambda console: print_profile(profile, console), random.choice(WIDTHS))
    shown(lambda console: print_advice(advice, console), random.choice(WIDTHS))
    for name, text in profile_csv(profile).items():
        rows = list(csv.reader(io.StringIO(text, newline="")))
        assert name != "rows" or len(rows) == len(profile.rows) + 1
        assert {len(row) for row in rows} == {len(rows[0])}
    assert profile_markdown(profile, advice)
    check_page(profile_html(profile, advice, known.machine))
    for part in parts(profile, known.machine):
        for svg in part.pictures.values():
            check_picture(standalone(svg))
        for svg in part.drawings.values():
            check_picture(svg)
    draw_comparison(as_result(good), as_result(profile), random)


def draw_map(found: RankMap, random: Random) -> None:
    """In words, on machines that it may or may not be of, and for a program of four GPUs."""
    shown(lambda console: print_map(found, console, "map.json"), random.choice(WIDTHS))
    machine = Machine.model_validate(random.choice(MACHINES))
    check_picture(before_and_after(found, machine))
    check_page(map_html(found, machine))
    with contextlib.suppress(Problem):
        assert visible_devices(found, Gpus(["GPU-0", "GPU-1"]), {})


def draw_doctor(doctor: Doctor, random: Random) -> None:
    shown(lambda console: print_doctor(doctor, console), random.choice(WIDTHS))


def draw_explanation(explanation: Explanation, random: Random) -> None:
    shown(lambda console: print_explanation(explanation, console), random.choice(WIDTHS))


def map_of_two() -> Any:
    """A map with few numbers, so that damage hits the others too: two ranks that are in the right place already."""
    document = data("map")
    rows = [each | {"map": [0, 1]} for each in document["mappings"]]
    traffic = document["traffic"] | {"ranks": 2, "matrix": [[0, 8.0], [8.0, 0]]}
    loads = {side: each[:3] for side, each in document["loads"].items()}
    return document | {"mappings": rows, "traffic": traffic, "ranks": document["ranks"][:2], "loads": loads}


# Documents to damage, the class that reads them, how they are drawn, and how many mutants. Doctor's has few members.
KINDS: dict[str, tuple[list[Any], type[Part], Callable[[Any, Random], None], int]] = {
    "result": (RESULTS, Result, draw_put, 260),
    **{
        name: (BENCHMARKS[name], Result, partial(draw_result, name), 120)
        for name in ("collective", "mpi", "torch", "training")
    },
    "machine": (MACHINES, Machine, draw_machine, 200),
    "table": (TABLES, PutTable, draw_table, 120),
    "plans": ([data("plans")], CollectiveTable, draw_plans, 120),
    "kept": ([kept_plans(left=3, warnings=["Measure again."])], KeptTable, draw_kept, 120),
    "explanation": ([data("explain")], Explanation, draw_explanation, 120),
    "plan": ([data("collective_plan")], CollectivePlan, draw_plan, 120),
    "simulation": ([data("sim")], Simulation, draw_simulation, 120),
    "sweep": ([data("sim_sweep")], Sweep, draw_sweep, 120),
    "profile": ([make() for make in PROFILES], Profile, draw_profile, 200),
    "map": ([map_of_two()], RankMap, draw_map, 80),
    "doctor": ([data("doctor")], Doctor, draw_doctor, 100),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_drawn_or_refused(kind: str, tmp_path: Path) -> None:
    documents, model, draw, count = KINDS[kind]
    refused = 0
    for number in range(count):
        random = Random(f"{kind} {number}")
        file = tmp_path / f"{number}.json"
        file.write_bytes(mutant(random.choice(documents), random))
        try:
            try:
                document = parse(model, read_json(file), str(file), version=None if kind == "kept" else 1)
            except Problem as problem:
                refused += 1
                check_refusal(problem, str(file))
                continue
            draw(document, random)
        except Exception as error:
            raise AssertionError(f"mutant {number}: {error!r}: {file.read_bytes()[:300]!r}") from error
    # Where all are refused no view is tried, and where none is, no reader.
    assert count * 0.2 < refused < count * 0.8


@pytest.mark.parametrize("count", [2000, pytest.param(1_000_000, marks=pytest.mark.repeats)])
def test_a_damaged_map_gives_a_program_the_gpus_here_or_is_refused(count: int) -> None:
    ranks = [{"rank": rank, "node": 0, "gpu": f"gpu{rank}", "uuid": f"GPU-{1 - rank}"} for rank in range(2)]
    whole = {name: member for name, member in map_of_two().items() if name not in ("loads", "traffic")}
    whole |= {"ranks": ranks, "traffic": {"from": "it", "ranks": 2, "bytes": 16.0, "messages": 2.0}}
    here = Gpus(["GPU-0", "GPU-1"])
    given = 0
    for number in range(count):
        text = mutant(whole, Random(f"a map {number}"))
        try:
            # What is no JSON is a ValueError, which readers of files make a Problem of.
            seen = visible_devices(parse(RankMap, decode(text.decode()), "map.json"), here, {})
            assert sorted(seen.split(",")) == here.uuids
            given += 1
        except (Problem, ValueError):
            continue
        except Exception as error:
            raise AssertionError(f"mutant {number}: {error!r}: {text[:300]!r}") from error
    assert count * 0.2 < given < count * 0.8


def check_refusal(problem: Problem, origin: str) -> None:
    """A problem that names the document and what is wrong, in one line that is safe to print."""
    assert problem.what.startswith(origin)
    assert len(problem.what) > len(origin) + 10
    assert len(problem.what) < len(origin) + 300
    assert problem.what.isprintable()
    assert problem.remedy
    assert problem.exit_code == Exit.USAGE


FILES = ["--csv", "a.csv", "--markdown", "a.md", "--html", "a.html"]

# What the command line does with a document: the arguments, the document, and by what it is named.
VERBS: dict[str, tuple[list[str], list[Any], str]] = {
    "doctor": (["doctor"], [data("doctor")], "sennit-doctor"),
    "simulate": (["sim", "allreduce", "1M"], [data("sim")], "sennit-sim"),
    "sweep": (["sim", "allreduce", "1M,2M", "--svg", "a.svg", "--html", "a.html"], [data("sim")], "sennit-sim"),
    "topo": (["topo", "--machine", "mist", "--svg", "machine.svg"], MACHINES, "machine"),
    "list": (["topo", "--list"], [CATALOGUE], "sennit-machine"),
    "tune": (["tune", "put", "--show"], TABLES, "sennit-tune"),
    "plans": (["tune", "collectives", "--show"], [kept_plans()], "sennit-tune"),
    "table": (["table", "show", "kept.json"], [data("plans"), kept_plans(), data("tuned")], "kept.json"),
    "diff": (["table", "diff", "plans.json", "kept.json"], [data("plans"), kept_plans()], "kept.json"),
    "compare": (["compare", "result.json", "kept.json"], [data("result")], "kept.json"),
    "send": (["explain", "send", "64K"], [data("send_plan")], "sennit-explain"),
    "plan": (["explain", "allreduce", "1M"], [data("collective_plan")], "sennit-explain"),
    "explain": (["explain", "put", "1M", "--from", "gpu0", "--to", "gpu1"], [data("explain")], "sennit-explain"),
    "bench": (["bench", "put", "--no-tune", *FILES], RESULTS, "sennit-bench-put"),
    "report": (["report", "kept.json", "--csv", "a.csv", "--html", "a.html"], [made_up_profiles.halo()], "kept.json"),
    "show": (["bench", "show", "kept.json", *FILES], RESULTS, "kept.json"),
}
# --json alone elsewhere
AS_JSON = {"bench": ["--json", "-"], "tune": ["--json", "-"], "plans": ["--json", "-"], "show": [], "table": []}


@pytest.mark.parametrize("verb", VERBS)
def test_a_damaged_document_is_shown_or_refused_on_the_command_line(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    arguments, documents, name = VERBS[verb]
    monkeypatch.chdir(tmp_path)
    for good in ("plans", "result"):
        (tmp_path / f"{good}.json").write_text(json.dumps(data(good)))
    codes = set()
    for number in range(24):
        random = Random(f"{verb} {number}")
        text = mutant(random.choice(documents), random)
        (tmp_path / "kept.json").write_bytes(text)
        output = Output(text.decode("utf-8", "replace"), 0)
        monkeypatch.setattr(process, "run", lambda *_, output=output, **__: output)
        more = AS_JSON.get(verb, ["--json"]) if number % 3 == 0 else []
        monkeypatch.setattr(sys, "argv", ["sennit", *arguments, *more])
        try:
            with pytest.raises(SystemExit) as ended:
                __main__.main()
        except Exception as error:
            raise AssertionError(f"mutant {number}: {error!r}: {text[:300]!r}") from error
        code = ended.value.code
        codes.add(code)
        said, complaint = (text.decode() for text in capfdbinary.readouterr())
        if code in (Exit.WORSE, Exit.USAGE):
            assert complaint.startswith("sennit: ")
            assert name in complaint
        else:
            # The made-up doctor may miss what is needed; nothing else of this kind is missing here.
            assert code == 0 or (verb, code) == ("doctor", Exit.ENVIRONMENT)
            assert "sennit: " not in complaint
            if more:
                json.loads(said, parse_constant=pytest.fail)
    assert 0 in codes
    assert codes & {Exit.WORSE, Exit.USAGE}


def test_damaged_files_of_the_tree_are_drawn_or_named(tmp_path: Path) -> None:
    """What make docs reads."""
    for folder in ("results/made-up", "machines"):
        (tmp_path / folder).mkdir(parents=True)
    readers: list[tuple[Callable[[Path], Any], str]] = [
        (partial(kept_documents.kept_results, kind="bench put"), "made-up/put.json"),
        (generate_docs.machine_pictures, "mist.json"),
    ]
    outcomes = set()
    for number in range(60):
        random = Random(f"tree {number}")
        (tmp_path / "results/made-up/put.json").write_bytes(mutant(random.choice(RESULTS), random))
        (tmp_path / "machines/mist.json").write_bytes(mutant(random.choice(MACHINES), random))
        for read, name in readers:
            try:
                outcomes.add(f"{name}: {len(read(tmp_path))} drawn")
            except Problem as problem:
                outcomes.add(f"{name}: refused" if name in problem.what else problem.what)
    assert outcomes == {
        "made-up/put.json: 1 drawn",
        "made-up/put.json: 0 drawn",  # of another kind, which is left to others
        "made-up/put.json: refused",
        "mist.json: 1 drawn",
        "mist.json: refused",
    }


MESSAGES = [
    {"progress": {"done": 1, "total": 2, "what": "measuring"}},
    {"error": {"code": "not_found", "what": "no such device", "where": "mist", "remedy": "Use gpu0"}},
    {"warning": "Clocks are not locked."},
]


def test_damaged_messages_of_a_program_are_taken_or_left() -> None:
    """Lines of stderr are read in a thread: where that ended by an error, nobody would read what follows, and the
    program would wait for ever."""
    taken = 0
    for number in range(300):
        random = Random(f"message {number}")
        line = mutant(random.choice(MESSAGES), random).decode("utf-8", "replace")
        step, error, warning = step_of(line), process._error_of(line), process._warning_of(line)
        taken += sum(map(bool, (step, error, warning)))
        assert step is None or isinstance(step.done, int)
        assert error is None or isinstance(process._problem(error, 1, "sennit-sim"), Problem)
        assert isinstance(warning, str)
    assert 60 < taken < 240
