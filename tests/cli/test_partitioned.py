"""`sennit bench partitioned`: its views, its arguments, and what becomes of jobs that hang or crash."""

from __future__ import annotations

import copy
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import ROOT, Programs, check_snapshot, data, shown
from sennit.baselines import partitioned as jobs
from sennit.model.document import parse
from sennit.model.partitioned import BACK_ENDS, Partitioned, Probe
from sennit.programs.problem import Exit, Problem
from sennit.verbs.doctor_partitioned import check_of
from sennit.verbs.partitioned import back_ends, sizes_of
from sennit.verbs.partitioned_asked import Asked, absolute, kept, refuse_elsewhere, refuse_others
from sennit.views.charts.grid import ratio_grid
from sennit.views.partitioned import (
    partitioned_csv,
    partitioned_html,
    partitioned_markdown,
    print_partitioned,
    probe_verdict,
    verdict,
)
from sennit.views.partitioned_charts import charts, gantt

MPI = "Open MPI v5.0.11"


def document(**changes: Any) -> Partitioned:
    return parse(Partitioned, data("partitioned") | changes, "it")


# ---- views --------------------------------------------------------------------------------------------------------


def test_the_document_is_shown() -> None:
    check_snapshot("partitioned.txt", shown(lambda out: print_partitioned(document(), out, as_published=True), 150))
    check_snapshot("partitioned.md", partitioned_markdown(document()))
    lines = partitioned_csv(document()).splitlines()
    assert lines[0].startswith("back_end,bytes,partitions,threads,")
    assert lines[0].endswith("last_us,last_us_low,last_us_high")
    assert len(lines) == 1 + len(document().rows)


def test_a_page_has_no_script_and_every_chart() -> None:
    page = partitioned_html(document())
    assert "default-src 'none'" in page
    assert "<script" not in page
    for title in ("Overhead by size (mpi)", "Perceived bandwidth, GB/s (mpi)", "Early-bird, % (mpi)",
                  "Availability, % (mpi)", "16 MiB in 16 by MPI partitioned"):  # fmt: skip
        assert title in page
    assert "the wire: most of whole messages" in page
    assert f"<h1>{verdict(document())}</h1>".replace("×", "×") in page


def test_the_document_follows_its_schema() -> None:
    schema = json.loads((ROOT / "schemas" / "partitioned.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    found = data("partitioned")
    jsonschema.Draft202012Validator(schema).validate(found)
    del found["rows"][0]["bytes"]
    assert not jsonschema.Draft202012Validator(schema).is_valid(found)


def test_charts_are_well_formed() -> None:
    drawn = charts([row for row in document().rows if row.back_end == "mpi"], 8.0)
    assert len(drawn) == 5
    assert charts([row for row in document().rows if row.back_end == "threads"], 8.0) == []
    for each in drawn:
        ElementTree.fromstring(each)
    assert "threads have joined" in gantt(document().measured[-1])


def test_the_contour_is_where_ratios_cross_one() -> None:
    ratios = {(0, 0): 0.5, (0, 1): 2.0, (1, 0): 0.9, (1, 1): 0.8}
    picture = ratio_grid("a", ["1", "2"], ["x", "y"], {place: (ratio, "") for place, ratio in ratios.items()})
    (path,) = (each for each in ElementTree.fromstring(picture).iter() if each.get("class") == "spread")
    edges = path.get("d", "")
    assert (edges.count("v"), edges.count("h")) == (1, 1), "around the one cell that is above"
    assert 'class="spread"' not in ratio_grid("a", ["1"], ["x"], {(0, 0): (2.0, "")})


# ---- the answer ---------------------------------------------------------------------------------------------------


def test_the_verdict_counts_lines_beyond_their_intervals() -> None:
    said = verdict(document())
    assert said == (
        f"Partitioned helps with {MPI} in 4 of 6 lines: all is there sooner than a whole message, at best by 0.4 × "
        "what that takes (1 MiB in 4); in 2 it is later, at worst by 0.1 × a whole message (64 KiB in 4)."
    )
    rows = data("partitioned")["rows"]
    for row in rows:
        if "saved_us" in row:
            row["saved_us"] = {"median": 1.0, "low": -1.0, "high": 3.0}
    assert verdict(document(rows=rows)).startswith(
        f"Whether partitioned helps with {MPI} cannot be told: in none of 6 lines"
    )
    rows[1]["saved_us"]["high"] = -0.5
    assert verdict(document(rows=rows)).startswith(
        f"Partitioned does not help with {MPI}: all is there sooner in 0 of 6 lines; in 1 it is later"
    )
    others = [row for row in rows if row["back_end"] != "mpi"]
    assert "was not measured" in verdict(document(rows=others))


def early(*answers: bool) -> dict[str, Any]:
    return {"early": [{"bytes": 64 << 10 * place, "early": each, "lead_us": 20e3 if each else -9.0}
                      for place, each in enumerate(answers)]}  # fmt: skip


def said_of(**probe: Any) -> str:
    return probe_verdict(parse(Probe, probe, "it", version=None), MPI)


def test_the_verdict_of_a_probe_is_one_line() -> None:
    works, hangs = {"works": True}, {"works": False, "why": "it hung"}
    assert said_of(**early(True, True), start_all=hangs, before_start=works) == (
        f"Partitioned helps with {MPI}: a partition arrives before the others are ready, from 64 B to 64 KiB; start "
        "its messages one by one, as MPI_Startall of two does not work."
    )
    assert said_of(**early(False, False)).startswith(f"Partitioned does not help with {MPI}: no partition arrives")
    assert "at some sizes: a partition arrives before the others are ready at 64 KiB" in said_of(**early(False, True))
    assert said_of(early_failed={"works": None, "why": "it has none"}) == (
        f"Partitioned cannot be used with {MPI}: it has none."
    )
    assert "another thread waits" in said_of(**early(True), while_waiting=hangs)
    text = shown(lambda out: print_partitioned(document(rows=[], probe=early(True, False)), out), 120)
    assert text.startswith(f"Partitioned helps with {MPI} at some sizes")
    assert "+20.0 ms" in text


# ---- arguments ----------------------------------------------------------------------------------------------------


def test_sizes_are_a_list_or_a_range() -> None:
    assert sizes_of("64K:512K") == ["65536", "131072", "262144", "524288"]
    assert sizes_of("1K,3K:8K") == ["1024", "3072", "6144"]
    for text in ("1K:", "2K:1K", "0", "x"):
        with pytest.raises(Problem, match="--sizes") as caught:
            sizes_of(text)
        assert caught.value.exit_code == Exit.USAGE


def test_files_of_noise_are_found_from_any_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute("none, uniform:4,replay:a/b") == f"none,uniform:4,replay:{tmp_path}/a/b"


def test_back_ends_are_named_alone_or_in_groups() -> None:
    assert back_ends("rma,mpi,mpi") == ["mpi", "rma_flush", "rma_pscw"]
    assert back_ends("all") == list(BACK_ENDS)
    for text in ("post", ""):
        with pytest.raises(Problem, match="--vs"):
            back_ends(text)


def test_a_kept_document_is_shown_again_and_drawn(programs: Programs) -> None:
    (programs.folder / "kept.json").write_text(json.dumps(data("partitioned")))
    for verb in (["bench", "show"], ["report"]):
        done = programs.sennit(*verb, "kept.json", "--csv", "a.csv", "--html", "a.html")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("Partitioned helps with")
        assert (programs.folder / "a.csv").read_text() == partitioned_csv(document())
    done = programs.sennit("bench", "show", "kept.json", "--gantt", "16M:16", "--svg", "a.svg")
    assert done.returncode == 0, done.stderr
    assert "16 MiB in 16" in (programs.folder / "a.svg").read_text()
    for wrong, why in ((("--gantt", "16M:3"), "has no line of 16M:3"), (("--gantt", "16M"), "is no SIZE:PARTITIONS"),
                       (("--gantt", "16M:16"), "nobody says where to")):  # fmt: skip
        svg = () if "nobody" in why else ("--svg", "a.svg")
        done = programs.sennit("bench", "show", "kept.json", *wrong, *svg)
        assert (done.returncode, why in done.stderr) == (2, True), done.stderr
    (programs.folder / "put.json").write_text(json.dumps(data("result")))
    assert programs.sennit("bench", "show", "put.json", "--gantt", "16M:16", "--svg", "a.svg").returncode == 2


# ---- jobs ---------------------------------------------------------------------------------------------------------


class MadeUpJobs:
    """Jobs that come one after the other, and the command lines that started them."""

    def __init__(self, *heard: jobs.Heard) -> None:
        self.heard, self.commands = list(heard), list[Sequence[str]]()

    def start(self, command: Sequence[str], *_: object) -> jobs.Heard:
        """Its rows are those of the back end and of the lines that were asked for."""
        self.commands.append(command)
        heard = self.heard.pop(0)
        if (found := heard.document) and "--back-end" in command:
            done = skipped_of(command)
            left = [line for line in range(jobs.lines(ASKED)) if line not in done]
            found["rows"] = [row | {"line": line, "back_end": command[command.index("--back-end") + 1]}
                             for row, line in zip(found["rows"], left, strict=False)]  # fmt: skip
            return jobs.Heard(lines=json.dumps(found, indent=1).splitlines())
        return heard


def printed(*states: str, **more: Any) -> jobs.Heard:
    row = data("partitioned")["rows"][0]
    found = data("partitioned") | {"rows": [row | {"state": state} for state in states], "warnings": []} | more
    # A launcher may tell on stdout that a rank ended badly.
    return jobs.Heard(lines=[*json.dumps(found, indent=1).splitlines(), "= BAD TERMINATION OF ONE OF YOUR PROCESSES"])


def command(arguments: Sequence[str]) -> list[str]:
    return ["/opt/mpi/bin/run", *arguments]


ASKED = ("--sizes", "1K,2K", "--partitions", "1,2", "--noise", "none", "--order", "linear", "--cache", "hot")


def measured(monkeypatch: pytest.MonkeyPatch, made_up: MadeUpJobs, *asked: str) -> dict[str, Any]:
    monkeypatch.setattr(jobs, "start", made_up.start)
    return jobs.measure(command, {}, asked, ASKED, 10, lambda *_: None)


def skipped_of(command: Sequence[str]) -> list[int]:
    return [*map(int, command[command.index("--skip") + 1].split(","))] if "--skip" in command else []


def skipped(made_up: MadeUpJobs) -> list[tuple[str, list[int]]]:
    return [(each[each.index("--back-end") + 1], skipped_of(each)) for each in made_up.commands]


def test_after_a_hang_the_other_lines_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    made_up = MadeUpJobs(printed("measured", "hung"), printed("measured", "measured"), printed("measured"))
    whole = measured(monkeypatch, made_up, "threads", "mpi")
    assert skipped(made_up) == [("threads", []), ("threads", [0, 1]), ("mpi", [])]
    assert [row["state"] for row in whole["rows"]] == ["measured", "hung", "measured", "measured", "measured"]
    jobs.add_commands(whole, command)
    assert [bool(row.get("command")) for row in whole["rows"]] == [False, True, False, False, False]
    assert "--back-end threads --sizes 65536 --partitions 1" in whole["rows"][1]["command"]


def test_a_back_end_that_hangs_again_and_again_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    made_up = MadeUpJobs(*[printed("hung")] * jobs.MOST_HANGS, printed("measured"))
    whole = measured(monkeypatch, made_up, "mpi", "threads")
    assert skipped(made_up)[-1] == ("threads", [])
    assert "leave it out of --vs" in whole["warnings"][0]


def test_a_crash_is_a_warning_where_something_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    crashed = jobs.Heard(reason="it ended with signal 11", at=3)
    whole = measured(monkeypatch, MadeUpJobs(printed("measured"), crashed), "mpi", "threads")
    assert whole["warnings"] == [
        "threads is left out from line 4 on: it ended with signal 11. Start it alone: run --back-end threads "
        f"{' '.join(ASKED)}"
    ]
    error = {
        "error": {"code": "invalid_argument", "what": "'x' is no noise", "where": "--noise", "remedy": "Use none"}
    }
    with pytest.raises(Problem, match="--noise: 'x' is no noise") as caught:
        measured(monkeypatch, MadeUpJobs(jobs.Heard(errors=[json.dumps(error), "mpirun: rank 0 ended"])), "mpi")
    assert caught.value.exit_code == Exit.USAGE


def test_what_a_job_told_before_it_crashed_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    so_far: list[dict[str, Any]] = []
    heard = jobs.Heard(reason="it ended with signal 11", at=1, keep=so_far.append)
    whole = data("partitioned") | {"rows": [], "warnings": []}
    for told in ({"document": whole}, {"row": whole | {"broken": True}}):
        heard.complain(json.dumps(told)[: 40 if "row" in told else None])
    assert so_far == [], "a launcher broke the line"
    heard.complain(json.dumps({"row": data("partitioned")["rows"][0] | {"line": 0}}))
    assert [len(each["rows"]) for each in so_far] == [1]
    found = measured(monkeypatch, MadeUpJobs(heard), "mpi")
    assert len(found["rows"]) == 1
    assert found["warnings"][0].startswith("mpi is left out from line 2 on: it ended with signal 11")


def test_a_run_goes_on_with_the_lines_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = data("partitioned") | {"warnings": []}
    row = begun["rows"][0]
    begun["rows"] = [row | {"back_end": "mpi", "line": 2}, row | {"back_end": "mpi", "line": 0}]
    made_up = MadeUpJobs(printed("measured", "measured"), printed(*["measured"] * 4))
    monkeypatch.setattr(jobs, "start", made_up.start)
    whole = jobs.measure(command, {}, ["mpi", "threads"], ASKED, 10, lambda *_: None, begun=begun)
    assert skipped(made_up) == [("mpi", [0, 2]), ("threads", [])]
    assert [(each["back_end"], each["line"]) for each in whole["rows"]] == [
        (name, line) for name in ("threads", "mpi") for line in range(4)
    ]
    assert jobs.measure(command, {}, ["mpi"], ASKED, 10, lambda *_: None, begun=whole) is whole, "nothing is missing"


def asked(**changes: Any) -> Asked:
    plain = Asked(sizes="1024", partitions="1,2", threads=0, compute="1ms", noise="none", order="linear", cache="hot",
                  versus=["mpi"], seed=1, seconds=0.5, limit=10.0)  # fmt: skip
    return plain.model_copy(update=changes)


def test_a_run_goes_on_only_as_it_was_begun() -> None:
    whole = data("partitioned")
    with pytest.raises(Problem, match="does not say what was to be measured"):
        kept(parse(Partitioned, whole, "p.json"), "p.json")
    whole["settings"] |= asked().settings()
    found = parse(Partitioned, whole, "p.json")
    assert kept(found, "p.json") == asked()
    refuse_others(asked(), {"sizes": "1024", "seed": 1}, "p.json")
    for option, given in (
        ("--sizes", {"sizes": "2048"}),
        ("--hangs-after", {"limit": 3.0}),
        ("--vs", {"versus": []}),
    ):
        with pytest.raises(Problem, match=f"p.json was measured with {option}") as caught:
            refuse_others(asked(), given, "p.json")
        assert caught.value.exit_code == Exit.USAGE
    refuse_elsewhere(found, whole, "p.json")
    for changes in ({"machine": {"name": "other"}}, {"versions": {"mpi": "MPICH"}},
                    {"settings": whole["settings"] | {"cores": 99}}):  # fmt: skip
        with pytest.raises(Problem, match="was measured elsewhere: ") as caught:
            refuse_elsewhere(found, whole | changes, "p.json")
        assert caught.value.exit_code == Exit.USAGE
    whole["settings"]["asked"]["seed"] = "x"
    with pytest.raises(Problem, match="seed"):
        kept(parse(Partitioned, whole, "p.json"), "p.json")


def test_a_question_that_hangs_is_a_no(monkeypatch: pytest.MonkeyPatch) -> None:
    hung = jobs.Heard(errors=[json.dumps({"error": {"code": "timed_out", "what": "it hung", "where": ""}})])
    cannot = jobs.Heard(errors=[json.dumps({"error": {"code": "unsupported", "what": "it has no threads"}})])
    asked = printed(probe=early(True))
    monkeypatch.setattr(jobs, "start", MadeUpJobs(copy.deepcopy(asked), hung, printed(probe={"before_start": {
        "works": True}}), cannot).start)  # fmt: skip
    answers, found = jobs.ask(
        command, {}, ("early", "start_all", "before_start", "while_waiting"), (), lambda *_: None
    )
    assert found["kind"] == "bench partitioned"
    assert answers["early"] == early(True)["early"]
    assert answers["start_all"] == {"works": False, "why": "it hung", "command": "run --probe start_all --limit 5"}
    assert answers["before_start"] == {"works": True}
    assert answers["while_waiting"]["works"] is None
    killed = jobs.Heard(reason="it did not end within 60 s")
    monkeypatch.setattr(jobs, "start", MadeUpJobs(copy.deepcopy(asked), killed).start)
    answers, _ = jobs.ask(command, {}, ("early", "start_all"), (), lambda *_: None)
    assert answers["start_all"]["works"] is None, "what a launcher does says nothing of messages"


def test_progress_and_errors_are_told_apart() -> None:
    seen: list[tuple[int, int, str]] = []
    heard = jobs.Heard(progress=lambda *step: seen.append(step))
    heard.complain('{"progress": {"done": 2, "total": 9, "what": "mpi, 1 KiB"}}')
    heard.complain("a launcher's own line")
    assert (seen, heard.at, heard.errors) == ([(2, 9, "mpi, 1 KiB")], 2, ["a launcher's own line"])
    assert heard.document is None
    assert heard.said() == "it printed nothing"


# ---- the doctor ---------------------------------------------------------------------------------------------------


def checked(**probe: Any) -> tuple[str, str, str]:
    check = check_of(parse(Probe, probe, "it", version=None), MPI, "openmpi")
    assert check.id == "partitioned_openmpi"
    return check.state, check.detail, check.fix


def test_the_doctor_says_what_to_do_instead() -> None:
    works, hangs = {"works": True}, {"works": False, "why": "it hung"}
    assert checked(**early(True, True), start_all=works, before_start=works, while_waiting=works) == (
        "works",
        f"{MPI}: partitions leave early; MPI_Startall starts two at once; partitions may be ready before the "
        "receiver has started; partitions may be ready while another thread waits.",
        "",
    )
    state, detail, fix = checked(**early(True, True), start_all=hangs, while_waiting={"works": None})
    assert (state, fix) == ("degraded", "Start them one by one, with MPI_Start")
    assert "not so: MPI_Startall starts two at once" in detail
    assert "another thread" not in detail, "it was not asked"
    state, detail, fix = checked(**early(False, False))
    assert "no partition leaves before all are ready" in detail
    assert "persistent_partitions" in fix
    assert "at some sizes" in checked(**early(True, False))[1]
    assert "was not told (it hung)" in checked(early_failed=hangs)[1]
