"""Views of made-up documents, compared with what was reviewed before."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ElementTree

from conftest import check_snapshot, data, shown
from sennit.compare.groups import groups
from sennit.model.collective_plan import CollectivePlan
from sennit.model.doctor import Doctor
from sennit.model.explain import Explanation
from sennit.model.result import Result
from sennit.model.send_plan import SendPlan
from sennit.model.sim import Beyond, Messages, Paper, Papers, Reproduction, SimulatedPut, Simulation
from sennit.views import collective_plan_text, result_charts, sim_text
from sennit.views.beyond import beyond_markdown, print_beyond
from sennit.views.csv import to_csv
from sennit.views.doctor_text import print_doctor, summary
from sennit.views.explain_text import print_explanation, sentences
from sennit.views.paper import (
    beside,
    paper_chart,
    paper_figures,
    paper_markdown,
    papers_markdown,
    print_paper,
    print_papers,
)
from sennit.views.reproduction import reproduction_markdown
from sennit.views.sections import PRETENDED, body_markdown, html, markdown, print_result
from sennit.views.send_plan_text import print_send_plan


def test_the_tables_of_a_result(result: Result) -> None:
    check_snapshot("result.txt", shown(lambda console: print_result(result, console)))


def test_the_time_of_set_up_is_told_where_it_was_measured(result: Result) -> None:
    result.settings.update(setup_ms=104.3, ranks=4)
    assert "A communicator of 4 ranks was set up in 104 ms" in markdown(result)
    result.settings["setup_ms"] = "long"
    assert "set up" not in markdown(result)


def test_a_late_rank_is_told_where_there_was_one(result: Result) -> None:
    result.settings["skew_us"] = 50.0
    assert "The last rank started each run 50 µs later" in markdown(result)
    for none in (0, "50", True):
        result.settings["skew_us"] = none
        assert "last rank" not in markdown(result)


def test_a_narrow_screen_shows_ratios_whole_and_splits_below(result: Result) -> None:
    medium = shown(lambda console: print_result(result, console), width=90)
    narrow = shown(lambda console: print_result(result, console), width=80)
    assert "engine GB/s" in medium
    assert "No room here for: engine GB/s" in narrow
    for text in (medium, narrow):
        assert "1.101 ± 0.004" in text
        assert "256 MiB travels direct 91 %, host0 (sm) 9 %." in text
        assert "…" not in text


def test_markdown(result: Result) -> None:
    check_snapshot("result.md", markdown(result))


def test_markdown_escapes_what_would_end_a_cell(result: Result) -> None:
    result.rows[0].split[0].route = "a|b"
    assert "a\\|b |" in markdown(result)
    result.rows[0].split[0].route = "a\\|b\nc"
    assert "a\\\\\\|b c |" in markdown(result)


def test_variants_that_look_like_styles_are_shown_as_they_are(result: Result) -> None:
    for row in result.rows:
        row.variant = row.variant.replace("engine", "[/bold]")
    assert "[/bold] GB/s" in shown(lambda console: print_result(result, console))


def test_charts_of_next_to_no_bandwidth(result: Result) -> None:
    for row in result.rows:
        row.gbps = row.limit_gbps = row.median_us = 5e-324
    for group in groups(result):
        for draw in (result_charts.bandwidth, result_charts.against_engine, result_charts.split):
            assert not re.search("nan|inf", draw(group).replace("info", ""))
    assert html(result)


def test_csv_keeps_every_row_and_figure(result: Result) -> None:
    check_snapshot("result.csv", to_csv(result))
    lines = list(csv.DictReader(io.StringIO(to_csv(result))))
    assert len(lines) == len(result.rows)
    assert [float(line["median_us"]) for line in lines] == [row.median_us for row in result.rows]
    assert lines[9]["split"] == "direct=0.93;host0 (sm)=0.07"


def test_the_page_is_self_contained_and_complete(result: Result) -> None:
    page = html(result)
    for outside in ("http://", "https://", "<script", "<link", "@import", "url("):
        assert outside not in page.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert page.count("<svg") == 6
    assert "Lock them with nvidia-smi" in page
    assert "These GPUs are processes" not in page
    result.machine.devices = [PRETENDED] * 4
    assert "These GPUs are processes on a host: copies are real, their speed is not." in html(result)
    assert len(page) < 100_000


def test_the_page_escapes_what_documents_say(result: Result) -> None:
    result.machine.name = "<script>alert(1)</script>"
    result.warnings = ["<b>"]
    result.settings = {"<i>": "<u>"}
    page = html(result)
    assert "<script" not in page
    assert "<b>" not in page
    assert "<i>" not in page


def test_charts_are_well_formed_and_stay_inside_their_frame(result: Result) -> None:
    for group in groups(result):
        for draw in (result_charts.bandwidth, result_charts.against_engine, result_charts.split):
            root = ElementTree.fromstring(draw(group))
            for circle in root.iter("{http://www.w3.org/2000/svg}circle"):
                assert 0 <= float(circle.attrib["cx"]) <= 620
                assert 0 <= float(circle.attrib["cy"]) <= 320


def test_charts_of_a_single_size_and_of_no_bytes(result: Result) -> None:
    only = [row for row in result.rows if row.bytes == 64 << 20 and row.traffic == "one_way"]
    for size in (64 << 20, 0):
        result.rows = [row.model_copy(update={"bytes": size}) for row in only]
        (group,) = groups(result)
        for draw in (result_charts.bandwidth, result_charts.against_engine, result_charts.split):
            assert "nan" not in draw(group)
        assert html(result)


def test_a_result_of_peers_only_has_no_ratio(result: Result) -> None:
    result.rows = [row for row in result.rows if row.variant == "nccl"]
    (group,) = groups(result)
    assert result_charts.against_engine(group) == ""
    assert result_charts.split(group) == ""
    assert "nccl µs" in markdown(result)


def test_a_result_without_rows_is_shown(result: Result) -> None:
    result.rows = []
    assert "made-up-4" in shown(lambda console: print_result(result, console))
    assert html(result)
    assert to_csv(result).count("\n") == 1


def test_doctor() -> None:
    doctor = Doctor.model_validate(data("doctor"))
    check_snapshot("doctor.txt", shown(lambda console: print_doctor(doctor, console), width=90))
    doctor.checks[2].fix = "one command" + " --with-a-long-option" * 9
    assert doctor.checks[2].fix in shown(lambda console: print_doctor(doctor, console), width=60)
    doctor.checks[1].state = "missing"
    assert summary(doctor) == "1 works, 2 are missing. Needed and missing: /dev/shm."


def test_explain() -> None:
    explanation = Explanation.model_validate(data("explain"))
    check_snapshot("explain.txt", shown(lambda console: print_explanation(explanation, console)))


def test_explain_a_send() -> None:
    plan = SendPlan.model_validate(data("send_plan"))
    check_snapshot("explain-send.txt", shown(lambda console: print_send_plan(plan, console)))


def test_explain_says_what_decided() -> None:
    document = data("explain")
    for decided, said in (("table", "measured fastest"), ("model", "computed"), ("request", "asked for")):
        document["decided_by"] = decided
        assert said in sentences(Explanation.model_validate(document))[0]
    document["decided_by"] = "caution"
    assert "sennit tune" in sentences(Explanation.model_validate(document))[0]


def test_explain_says_when_one_path_is_best() -> None:
    document = data("explain")
    document["shares"] = document["shares"][:1]
    document |= {"predicted_us": 693.6, "predicted_gbps": 387.0}
    said = sentences(Explanation.model_validate(document))
    assert "One path carries everything: at this size no second one pays." in said
    document["bytes"] = 0
    assert sentences(Explanation.model_validate(document)) == ["Nothing to move."]


def test_explain_makes_no_ratio_of_a_time_that_is_none() -> None:
    said = " ".join(sentences(Explanation.model_validate(data("explain") | {"predicted_us": 5e-324})))
    assert "times as fast" not in said


def test_what_a_collective_would_take() -> None:
    found = Simulation.model_validate(data("sim"))
    check_snapshot("sim.txt", shown(lambda console: sim_text.print_simulation(found, console)))


def test_the_simulator_beside_results() -> None:
    check_snapshot("reproduction.md", reproduction_markdown(Reproduction.model_validate(data("reproduction"))))


def test_a_paper_done_again() -> None:
    paper = Paper.model_validate(data("sim_paper"))
    check_snapshot("paper.txt", shown(lambda console: print_paper(paper, console)))
    check_snapshot("paper.md", paper_markdown(paper))
    assert "1.50" in paper_chart(paper)


def test_papers_on_several_machines_are_one_answer() -> None:
    paper = Paper.model_validate(data("sim_paper"))
    both = Papers(version=1, kind="sim papers", machines=[paper, paper])
    text = shown(lambda console: print_papers(both, console))
    # Of each machine's three numbers that nothing was fitted to, one is outside.
    assert "Of 6 numbers that nothing was fitted to, 4 lie within their band (67 %), and half within 20 %." in text
    assert papers_markdown(both).count(f"## {paper.machine}") == 2


def test_figures_of_papers_are_drawn_over_sizes_and_over_nodes() -> None:
    paper = Paper.model_validate(data("sim_paper"))
    lines = [
        {"figure": "x, figure 7", "name": name, "unit": "µs", "over": "nodes", "points": [[2, us], [4, 2 * us]]}
        for name, us in (("ring", 100.0), ("tree", 1.234))
    ]
    paper = paper.model_validate(data("sim_paper") | {"series": [*data("sim_paper")["series"], *lines]})
    drawn = paper_figures(paper)
    assert list(drawn) == ["thesis, figure 5.9", "x, figure 7"]
    assert "ring: 4: 200 µs" in drawn["x, figure 7"]
    assert "tree: 2: 1.23 µs" in drawn["x, figure 7"]
    assert "ring: 64 KiB: 12 %" in drawn["thesis, figure 5.9"]
    assert "| nodes | ring | tree |" in paper_markdown(paper)
    assert beside(paper, "figure 2") == "both paths 120 GB/s, here 118 GB/s"
    assert beside(paper, "figure 5") == "less is slower: does not hold"


def test_messages_on_many_nodes() -> None:
    found = Messages.model_validate(data("sim_messages"))
    check_snapshot("sim-messages.txt", shown(lambda console: sim_text.print_messages(found, console)))


def test_a_simulated_put() -> None:
    found = SimulatedPut.model_validate(data("sim_put"))
    check_snapshot("sim-put.txt", shown(lambda console: sim_text.print_put(found, console)))


def test_beyond_the_papers() -> None:
    found = Beyond.model_validate(data("sim_beyond"))
    check_snapshot("beyond.txt", shown(lambda console: print_beyond(found, console)))
    check_snapshot("beyond.md", beyond_markdown(found))


def collective_plan(**changes: object) -> CollectivePlan:
    return CollectivePlan.model_validate(data("collective_plan") | changes)


def test_explain_a_collective() -> None:
    plan = collective_plan()
    check_snapshot(
        "explain-collective.txt", shown(lambda console: collective_plan_text.print_collective_plan(plan, console))
    )


def test_explain_has_no_column_for_what_was_not_measured() -> None:
    plan = collective_plan()
    for one in plan.candidates:
        one.measured_us = one.spread_us = None
    text = shown(lambda console: collective_plan_text.print_collective_plan(plan, console))
    assert "measured µs" not in text
    assert "→   two_shot 256x256" in text


def test_explain_names_numbers_only_where_they_are_reduced() -> None:
    assert collective_plan_text.title(collective_plan(operation="all_to_all")) == (
        "all-to-all 64 MiB, 4 ranks on gpu0, gpu1, gpu2, gpu3 of made-up-4"
    )
    assert collective_plan_text.title(collective_plan(layout=[], type="int8", operator="max")) == (
        "allreduce 64 MiB, int8 max, 4 ranks on made-up-4"
    )


def test_explain_says_why_a_table_is_passed_over() -> None:
    table = {"file": "mine.json", "used": False, "why": "it was measured with driver 1 instead of 2"}
    first, second, *_ = collective_plan_text.sentences(collective_plan(table=table, reason="because."))
    assert first == "because."
    assert second == "The table mine.json is passed over: it was measured with driver 1 instead of 2."
    assert not any("passed over" in said for said in collective_plan_text.sentences(collective_plan(table=None)))


def test_explain_predicts_only_what_is_a_candidate() -> None:
    chosen = {"algorithm": "ring", "blocks": 256, "threads": 256}
    said = collective_plan_text.sentences(collective_plan(chosen=chosen))
    assert said[1] == "Predicted for ring 256x256: 318 µs."
    assert len(collective_plan_text.sentences(collective_plan(chosen=chosen | {"blocks": 3}))) == 1
    assert "Predicted" not in " ".join(collective_plan_text.sentences(collective_plan(source="model")))
    said = collective_plan_text.sentences(collective_plan(link_gbps=0))
    assert not any("busiest rank" in one for one in said)


def collective(*operations: str) -> Result:
    """The made-up collectives, or some of them."""
    document = data("collective")
    document["rows"] = [row for row in document["rows"] if not operations or row["operation"] in operations]
    return Result.model_validate(document)


def test_collectives_beside_their_peer_and_other_plans() -> None:
    result = collective()
    check_snapshot("collective.txt", shown(lambda console: print_result(result, console)))
    check_snapshot("collective.md", body_markdown(result))


def test_a_collective_is_named_above_its_table() -> None:
    text = body_markdown(collective("allreduce"))
    assert "range.\n\n**Allreduce: float32 sum, 4 ranks, in place, as a CUDA graph.**\n\n| size |" in text
    assert "| 1 KiB | 3.20 ± 0.05 |" in text
    assert "Slower than nccl at 1 GiB (0.923 ± 0.002)." in text


def test_collectives_stand_in_the_order_of_their_document() -> None:
    document = data("collective")
    document["rows"].reverse()
    text = body_markdown(Result.model_validate(document))
    titles = re.findall(r"\*\*([\w-]+):", text)
    assert titles == ["Barrier", "All-to-all-v", "All-to-all", "Reduce-scatter", "Allreduce"]


def test_a_peer_is_compared_at_its_own_operation() -> None:
    # All of these have a row of 1 MiB; all-to-all's was not measured with NCCL.
    for operation, said in (("allreduce", "1.41 ± 0.02"), ("reduce_scatter", "1.70 ± 0.03"), ("all_to_all", "")):
        assert said in body_markdown(collective(operation))
    parts = body_markdown(collective()).split("**All-to-all: ")[1].split("**All-to-all-v: ")
    assert "nccl" not in parts[0]
    assert "| 17.0 | 2.00 ± 0.03 |" in parts[1]


def with_peers(*names: str) -> Result:
    """The made-up allreduce beside others, of which each is twice as slow as the one before."""
    result = collective("allreduce")
    own = [row for row in result.rows if row.variant == "sennit"]
    for power, name in enumerate(names, start=1):
        more = {"variant": name, "plan": "", "blocks": 0}
        result.rows += [row.model_copy(update=more | {"median_us": row.median_us * 2**power}) for row in own[:2]]
    return result


def test_every_peer_has_columns_and_sentences_of_its_own() -> None:
    text = body_markdown(with_peers("openmpi", "mpich"))
    assert "| plan | nccl µs | × nccl | openmpi µs | × openmpi | mpich µs | × mpich |" in text
    assert "| 6.40 | 2.00 ± 0.03 | 12.8 | 4.00 ± 0.06 |" in text
    assert "| 4521 | 0.923 ± 0.002 | – | – | – | – |" in text  # not measured at this size
    places = [text.index(said) for said in ("Slower than nccl", "Faster than openmpi", "Faster than mpich at 1 KiB")]
    assert places == sorted(places)
    assert "At 1 MiB two_shot 128x256 is 1.18 ± 0.01 times as fast as the plan taken." in text
    assert "two_shot 128x256 µs" not in text


def test_a_narrow_screen_leaves_out_the_times_of_several_peers() -> None:
    result = with_peers("openmpi", "[bold]")
    wide = shown(lambda console: print_result(result, console), width=160)
    narrow = shown(lambda console: print_result(result, console), width=132)
    assert "openmpi µs" in wide
    table, missing = narrow.split("No room here for: ")
    assert "openmpi µs" not in table
    assert "nccl µs" not in table
    assert missing.startswith("nccl µs, openmpi µs, [bold] µs.")
    for text in (wide, narrow):
        assert "× openmpi" in text
        assert "× [bold]" in text
        assert "…" not in text


def test_a_barrier_has_no_size_and_no_bandwidth() -> None:
    text = body_markdown(collective("barrier"))
    assert "Barrier: 4 ranks, as a CUDA graph." in text
    assert "| – | 3.00 ± 0.10 | – | – | – | direct 1x32 | 9.00 | 3.00 ± 0.11 |" in text
    assert "Faster than nccl (3.00 ± 0.11)." in text
    assert "dissemination 1x32 is 1.20 ± 0.06 times as fast as the plan taken." in text
    assert " at " not in text


def test_a_collective_names_an_operator_only_where_it_reduces() -> None:
    assert "Reduce-scatter: float32 sum, 4 ranks, in place" in body_markdown(collective("reduce_scatter"))
    assert "All-to-all: float32, 4 ranks, out of place" in body_markdown(collective("all_to_all"))


def test_a_collective_without_a_peer_has_no_columns_for_it() -> None:
    result = collective()
    result.rows = [row for row in result.rows if row.variant != "nccl"]
    text = body_markdown(result)
    assert "nccl µs" not in text
    assert "aster than nccl" not in text
    result.rows = []
    assert "Nothing was measured." in body_markdown(result)
    assert "Nothing was measured." in shown(lambda console: print_result(result, console))
