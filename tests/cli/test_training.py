"""`sennit bench training`: what it trains, how runs are put together, what it shows, and what it says when it
cannot. The file is long, as its tests share made-up runs."""

from __future__ import annotations

import json
import math
import sys
from importlib import util
from pathlib import Path
from typing import Any

import pytest
from conftest import check_snapshot, data, fill, shown
from made_up_training import call, row_of
from sennit.baselines import timing, training
from sennit.baselines.run import Outcome
from sennit.baselines.training import Case, Job
from sennit.compare.groups import ratio
from sennit.compare.ratio import Ratio
from sennit.model.document import parse
from sennit.model.result import Result, Row
from sennit.programs.problem import Exit, Problem
from sennit.verbs import training as verb
from sennit.views.sections import body_markdown, print_result
from sennit.views.training import (
    aims,
    alone,
    cells,
    exposed,
    exposed_spread,
    gains,
    left,
    losses,
    pairs,
    percent,
    rates,
    reached,
)


def result() -> Result:
    return Result.model_validate(data("training"))


# ---- tables -------------------------------------------------------------------------------------------------------


def test_the_tables() -> None:
    check_snapshot("training.txt", shown(lambda console: print_result(result(), console)))
    check_snapshot("training.md", body_markdown(result()))


def test_a_models_name_is_shown_as_it_is() -> None:
    named = result()
    named.rows[0].model = "resnet50 [/bold]"
    assert "[/bold]" in shown(lambda console: print_result(named, console))


def test_a_case_is_compared_by_its_steps() -> None:
    resnet, transformer, mlp, _ = pairs(result())
    found = ratio(*resnet)
    assert found is not None
    assert (str(found), found.verdict) == ("1.042 ± 0.003", "faster")
    held = ratio(*transformer)
    assert held is not None
    assert held.verdict == "same"
    assert ratio(*mlp) is None


def test_communication_is_what_a_step_without_it_lacks() -> None:
    own, other = pairs(result())[0]
    assert own is not None
    assert other is not None
    assert exposed(own) == pytest.approx(1 - 45 / 48)
    assert exposed(other) == pytest.approx(0.1)
    transformer = pairs(result())[1][0]
    assert transformer is not None
    assert exposed(transformer) is None, "FSDP cannot leave it out"


def test_the_exposed_part_is_shown_where_it_is_known() -> None:
    own, other = pairs(result())[0]
    assert own is not None
    assert other is not None
    assert (percent(other, own), percent(own, other)) == ("10%", "6%")
    shaky = other.model_copy(update={"spread_us": 3e3})
    assert exposed_spread(shaky, own) == pytest.approx(0.9 * 3 / 50)
    assert percent(shaky, own) == "–", "steps vary by more"
    assert percent(other.model_copy(update={"silent_spread_us": 2.6e3}), own) == "–", "or those without communication"
    slow = own.model_copy(update={"silent_us": 42e3})
    assert percent(other, slow) == "–", "jobs differ by more"
    assert percent(other, None) == "10%"
    transformer = pairs(result())[1][0]
    assert transformer is not None
    assert exposed_spread(transformer, None) == 0


def test_what_is_aimed_at_is_missed_undecided_or_shown() -> None:
    assert reached(Ratio(0.95, 0.01), True) == "missed"
    assert reached(Ratio(0.98, 0.01), True) == "undecided: ± 0.01"
    assert reached(Ratio(1.02, 0.02), True) == "undecided: ± 0.02"
    assert reached(Ratio(1.0, 0.004), True) == "shown"
    assert aims(result()) == [
        "Aimed at: never below 0.99 of NCCL's; by more than 2 × ± shown in 2 of 3 cases; missed: none; "
        "undecided: transformer fsdp 8 (± 0.01)."
    ]
    document = data("training")
    document["rows"][1]["median_ms"] = 52.0
    assert "in 1 of 3 cases; missed: resnet50 ddp 32 25 MB (0.962 ± 0.003); und" in "".join(
        aims(Result.model_validate(document))
    )
    document["rows"] = document["rows"][:1]
    assert aims(Result.model_validate(document)) == []


def test_few_ratios_decide_nothing() -> None:
    assert reached(Ratio(0.95, 0.01), False) == "undecided: ± 0.01"

    def of(steps: int, gain: float) -> Result:
        document = data("training")
        document["rows"] = document["rows"][:2]
        own = next(row for row in document["rows"] if row["variant"] == "sennit")
        own |= {"steps": steps, "gain": gain, "gain_spread": 0.001, "left_ms": own["median_ms"] * gain}
        return Result.model_validate(document)

    for gain in (0.9, 1.1):
        assert "undecided: resnet50 ddp 32 25 MB (± 0.001, 5 ratios)" in aims(of(5, gain))[0]
        assert "shown in 0 of 1 cases; missed: none" in aims(of(5, gain))[0]
    assert "missed: resnet50 ddp 32 25 MB (0.900 ± 0.001); undecided: none" in aims(of(6, 0.9))[0]
    assert "shown in 1 of 1 cases" in aims(of(6, 1.1))[0]
    assert "shown in 0 of 1 cases" in gains(of(5, 1.1))[0]
    assert "shown in 1 of 1 cases" in gains(of(6, 1.1))[0]


def test_where_communication_is_exposed_training_is_to_be_faster() -> None:
    assert gains(result()) == [
        "Aimed at: above NCCL's where communication is exposed; shown in 2 of 2 cases; not shown: none."
    ]
    document = data("training")
    document["rows"][1]["median_ms"] = 50.0
    (said,) = gains(Result.model_validate(document))
    assert said.endswith("shown in 1 of 2 cases; not shown: resnet50 ddp 32 25 MB (1.000 ± 0.003).")
    document["rows"][0]["spread_ms"] = 3.0
    (said,) = gains(Result.model_validate(document))
    assert said.endswith("shown in 1 of 1 cases; not shown: none."), "steps vary by more than what is exposed"


def test_what_the_drop_in_costs_calls_of_nccls_is_told_by_cases_that_are_steady() -> None:
    document = data("training")
    own, other = document["rows"][-2:]
    assert left(Result.model_validate(document)) == [
        "What the drop-in costs a program whose calls it leaves to NCCL: steps of all cases vary by 0.5% or more, "
        "which cannot tell."
    ]
    own |= {"left_ms": 33.066, "spread_ms": 0.1, "left_spread_ms": 0.1}
    other["spread_ms"] = 0.1
    assert left(Result.model_validate(document)) == [
        "Left to NCCL under sennit, of a step's time without it: 1.002 (resnet50 ddp graph 8 25 MB); aimed at: "
        "within 1%, missed: none."
    ]
    own["left_ms"] = 33.5
    assert "within 1%, missed: resnet50 ddp graph 8 25 MB." in left(Result.model_validate(document))[0]
    document["rows"][1]["left_ms"] = 50.0
    document["rows"][0]["spread_ms"] = 1.0
    assert left(Result.model_validate(document))[0].endswith("Steps of the other cases vary by 0.5% or more.")
    own["left_spread_ms"] = 0.2
    assert "cannot tell" in left(Result.model_validate(document))[0]
    document["rows"] = document["rows"][2:4]
    assert left(Result.model_validate(document)) == [], "jobs that had not both"


def test_rows_of_neither_library_are_left_out() -> None:
    found = result()
    odd = found.rows[0].model_copy(update={"variant": "both", "batch": 7})
    assert pairs(found.model_copy(update={"rows": [odd]})) == []


def test_chance_is_what_steps_without_communication_differ_by() -> None:
    own, other = pairs(result())[0]
    assert own is not None
    assert other is not None
    slow = own.model_copy(update={"silent_us": other.silent_us * 2})
    assert (alone(slow, other), alone(None, other)) == ("0.50", "–")
    assert alone(*pairs(result())[1]) == "–", "FSDP cannot leave it out"


def test_losses_are_the_same_to_the_bit_or_so_far_apart() -> None:
    resnet, transformer, mlp, _ = pairs(result())
    assert losses(*resnet) == "same bits"
    assert losses(*transformer) == "0.001"
    assert losses(*mlp) == "–", "there is nothing to compare with"
    own, other = resnet
    assert own is not None

    def changed(model: str, parallel: str, part: float) -> str:
        of = {"model": model, "parallel": parallel}
        return losses(own.model_copy(update={**of, "losses": [own.losses[0] * part, *own.losses[1:]]}), other)

    assert changed("resnet50", "ddp", 1.0009) == "0.0009"
    assert changed("resnet50", "ddp", 1.002) == "0.002 not equal"
    assert changed("mlp", "tensor", 1.002) == "0.002 not equal"
    assert changed("transformer", "fsdp", 1.009) == "0.009"
    assert changed("transformer", "tensor", 1.02) == "0.02 not equal"
    assert changed("resnet50", "ddp", math.nan) == "inf not equal"
    assert training.difference([1.0, math.nan], [1.1, 1.0]) == math.inf
    assert training.difference([math.nan], [math.nan]) == 0
    assert training.difference([1.0, 0.0], [1.0, 1e-40]) == pytest.approx(1e-10)


def test_a_case_of_one_variant_is_shown_too() -> None:
    assert cells(*pairs(result())[2])[3:8] == ["tokens", "1365000", "–", "–", "–"]


# ---- jobs ---------------------------------------------------------------------------------------------------------


def test_every_model_with_every_batch_and_of_ddp_every_bucket() -> None:
    found = training.cases(["resnet50", "transformer:fsdp"], [4, 32], [25, 100])
    assert [case.name for case in found] == [
        "resnet50 ddp, batch 4, buckets 25 MB",
        "resnet50 ddp, batch 4, buckets 100 MB",
        "resnet50 ddp, batch 32, buckets 25 MB",
        "resnet50 ddp, batch 32, buckets 100 MB",
        "transformer fsdp, batch 4",
        "transformer fsdp, batch 32",
    ]
    assert Job.read(Job(4, found, 40).text()) == Job(4, found, 40)


def test_how_a_step_is_done_is_named_behind_the_model() -> None:
    found = training.cases(
        ["resnet50:graph", "transformer:fsdp:accumulate", "transformer:tensor", "vgg16:ddp:compile"], [8], [25, 100]
    )
    assert [case.name for case in found] == [
        "resnet50 ddp graph, batch 8, buckets 25 MB",
        "resnet50 ddp graph, batch 8, buckets 100 MB",
        "transformer fsdp accumulate, batch 8",
        "transformer tensor, batch 8",
        "vgg16 ddp compile, batch 8, buckets 25 MB",
        "vgg16 ddp compile, batch 8, buckets 100 MB",
    ]
    assert Job.read(Job(2, found, 40).text()).cases == found


@pytest.mark.parametrize(("named", "goes"), [("transformer:fsdp:graph", "ddp, tensor"),
                                             ("mlp:tensor:accumulate", "ddp, fsdp")])  # fmt: skip
def test_a_step_that_does_not_go_with_a_way_is_named(named: str, goes: str) -> None:
    with pytest.raises(Problem, match=f"{named} is not possible") as caught:
        training.cases([named], [1], [25])
    assert caught.value.remedy.endswith(f"goes with {goes}")


@pytest.mark.parametrize(
    "named", ["resnet51", "resnet50:tensor", "mlp", ":ddp", "resnet50:graph:ddp", "vgg16:ddp:ddp"]
)
def test_a_model_that_is_not_there_is_named(named: str) -> None:
    with pytest.raises(Problem, match=f"there is no {named}") as caught:
        training.cases([named], [1], [25])
    assert caught.value.exit_code == Exit.USAGE
    assert "transformer:fsdp" in caught.value.remedy


def outcome(steps: list[float], found: list[float], silent: list[float] | None = None) -> Outcome:
    case = Case("resnet50", "ddp", 8)
    told: list[dict[str, Any]] = [{"machine": {"name": "here", "devices": ["H200"]}}]
    told.append({"case": case.name, "losses": found, "steps_ms": steps, "silent_ms": silent or []})
    return Outcome(rows=told, versions={"torch": "2.11"}, warnings=["twice the same"])


def test_runs_of_both_make_one_result() -> None:
    job = Job(2, [Case("resnet50", "ddp", 8), Case("vgg16", "ddp", 8)], 3)
    document = verb.document_of(
        job,
        {
            "sennit": [outcome([10, 10, 12], [2.0], [8, 8, 8]), outcome([14, 14, 14], [2.0], [8, 8, 8])],
            "nccl": [outcome([20, 20, 20], [2.0]), outcome([20, 20, 20], [2.5])],
        },
        2,
    )
    found = parse(Result, document, "it")
    own, other = found.rows
    assert (own.variant, own.median_us, own.steps, own.runs, own.silent_us) == ("sennit", 13e3, 6, 2, 8e3)
    assert own.spread_us == pytest.approx(1.75e3), "a step's spread is more than that of the two runs"
    assert own.per_second == pytest.approx(2 * 8 / 13 * 1e3)
    assert (own.silent_spread_us, other.silent_spread_us) == (0, 0)
    assert (own.repeatable, other.repeatable) == (True, False)
    left_out = (
        "Left out, as no job under sennit and nccl finished it: vgg16 ddp, batch 8, buckets 25 MB. Measure it again."
    )
    assert found.warnings == ["twice the same", left_out]
    assert found.machine.name == "here"


def test_that_all_calls_were_nccls_is_said_and_shows_nothing() -> None:
    case = Case("resnet50", "ddp", 8)
    jobs = {"nccl": [Outcome(rows=[row_of(case)])], "sennit": [Outcome(rows=[row_of(case) | {"taken": 0}])]}
    document = verb.document_of(Job(2, [case], 3), jobs, 1)
    assert document["warnings"] == [
        "All calls are NCCL's (SENNIT_EXPLAIN=1 says why); try sennit tune collectives, or SENNIT_TAKE=all."
    ]
    found = parse(Result, document, "it")
    assert aims(found) == ["Aimed at: never below 0.99 of NCCL's; no case tells, as all calls were left to NCCL."]
    assert gains(found) == []
    jobs["sennit"].append(Outcome(rows=[row_of(case) | {"taken": 7}]))
    document = verb.document_of(Job(2, [case], 3), jobs, 2)
    assert document["warnings"] == []
    assert "shown in 1 of 1 cases" in aims(parse(Result, document, "it"))[0]


def test_of_cases_that_were_nccls_the_others_tell() -> None:
    found = result()
    next(row for row in found.rows if row.variant == "sennit").plan = "NCCL"
    assert aims(found) == [
        "Aimed at: never below 0.99 of NCCL's; by more than 2 × ± shown in 1 of 2 cases; missed: none; undecided: "
        "transformer fsdp 8 (± 0.01); all calls left to NCCL: resnet50 ddp 32 25 MB."
    ]
    assert "shown in 1 of 1 cases" in gains(found)[0]


def test_each_case_tells_of_its_own_calls() -> None:
    first, second = Case("resnet50", "ddp", 8), Case("vgg16", "ddp", 8)
    under_sennit = [row_of(first) | {"taken": 3}, row_of(second) | {"taken": 0}]
    jobs = {"nccl": [Outcome(rows=[row_of(first), row_of(second)])], "sennit": [Outcome(rows=under_sennit)]}
    document = verb.document_of(Job(2, [first, second], 3), jobs, 2)
    rows = parse(Result, document, "it").rows
    assert {row.model: row.plan for row in rows if row.variant == "sennit"} == {"resnet50": "", "vgg16": "NCCL"}
    assert {row.plan for row in rows if row.variant == "nccl"} == {""}
    assert document["warnings"] == []


def test_what_a_job_has_of_both_libraries_is_compared_within_it() -> None:
    case = Case("resnet50", "ddp", 8)
    turns = [[11.0, 10.0], [33.0, 30.0], [12.0, 10.0], [5.5, 5.0], [11.0, 10.0], [22.0, 20.0], [11.0, 10.0]]
    run = {"losses": [1.0], "steps_ms": [own for _, own in turns], "turns_ms": turns, "silent_ms": []}
    own = Row.model_validate(training.row(case, "sennit", 2, [run]))
    assert (own.left_us, own.median_us, own.left_spread_us) == (11e3, 10e3, 3e3)
    assert own.gain == pytest.approx(1.1)
    assert own.gain_spread == pytest.approx(0.1 / 4), "from the least to the greatest of so few"
    alone_ = own.model_copy(update={"variant": "nccl", "left_us": 0.0, "gain": 0.0, "median_us": 100e3})
    found = ratio(own, alone_)
    assert found is not None
    assert found.value == pytest.approx(1.1), "jobs of their own do not count then"
    assert rates(own, alone_) == pytest.approx((16e3 / 11, 1600))
    assert ratio(own, None) == found


def test_blocks_of_both_libraries_take_turns() -> None:
    order = training.turns(18)
    assert order[:6] == [True, False, False, True, True, False]
    assert len(order) == 10, "five blocks of four steps each"
    took = [1.0 if is_left else 2.0 for is_left in order]
    assert training.by_turns(order, took) == [(1.0, 2.0)] * 5


def test_steps_are_timed_on_until_that_is_enough() -> None:
    sharp, shaky = [(10.0, 10.0)] * 10, [(10.0, 10.0), (10.5, 10.0)] * 5
    assert not training.times_on(sharp, 1, 3, math.inf)
    assert training.times_on(shaky, 1, 3, math.inf)
    assert training.times_on(shaky, 3, 3, 3)
    assert not training.times_on(shaky, 4, 3, math.inf), "four times as many at most"
    assert not training.times_on(shaky, 1, 3, 2.9), "the other cases have the rest of the time"
    assert training.times_on(sharp[:5], 1, 3, math.inf), "so few may agree by chance"
    assert training.times_on(sharp[:5], 5, 3, math.inf), "of steps that make one pair a round"
    assert not training.times_on(sharp[:5], 1, 3, 2.9)
    assert not training.times_on(sharp[:6], 1, 3, math.inf)


def test_cases_share_the_time_that_is_left() -> None:
    job = Job(2, [Case("vgg16", "ddp", 8)] * 3, 40, until_s=100.0)
    assert [job.share_s(10.0, 0), job.share_s(50.0, 1), job.share_s(60.0, 2)] == pytest.approx([31.0, 67.5, 88.0])
    assert Job(2, job.cases, 40).share_s(10.0, 0) == math.inf


def test_cases_that_are_timed_on_leave_time_for_the_last() -> None:
    job = Job(2, [Case("vgg16", "ddp", 8, bucket) for bucket in range(6)], 40, until_s=40.0)
    took: dict[Case, float] = {}
    now = 0.0
    for number, case in enumerate(job.cases):
        begun = now
        assert job.begins(case, took, now), f"case {number}"
        # Two seconds of losses, rounds of one and a half, and then a step without communication.
        rounds = 1
        now += 3.5
        while training.times_on([(1.0, 1.0), (2.0, 1.0)], rounds, 1.5, job.share_s(begun, number) - now):
            rounds, now = rounds + 1, now + 1.5
        now += 0.8
        took[case] = now - begun
    assert rounds > 1


def test_the_interval_of_a_median_holds_it_in_19_of_20_runs() -> None:
    def held(count: int, outside: int) -> float:
        """How often: each value is less than the median with probability 1/2."""
        return 1 - 2 * sum(math.comb(count, less) for less in range(outside + 1)) / (1 << count)

    assert [timing.outside_interval(count) for count in (1, 4, 5, 6, 8, 9, 16, 100)] == [0, 0, 0, 0, 0, 1, 3, 39]
    for count in range(timing.LEAST_VALUES, 400):
        outside = timing.outside_interval(count)
        assert held(count, outside) >= 0.95 > held(count, outside + 1), count
    assert held(timing.LEAST_VALUES - 1, 0) < 0.95
    assert timing.median_and_spread([float(i) for i in range(9)]) == (4.0, (7 - 1) / 4)


def test_the_spread_of_a_median_shrinks_with_more_values() -> None:
    few = timing.median_and_spread([float(i) for i in range(16)])
    many = timing.median_and_spread([i / 16 for i in range(256)])
    assert few[0] == pytest.approx(7.5)
    assert many[0] == pytest.approx(255 / 32)
    assert 0 < many[1] < few[1] / 3
    assert timing.median_and_spread([2.0]) == (2.0, 0.0)


def test_the_same_tokens_on_all_ranks_count_once() -> None:
    case = Case("mlp", "tensor", 4)
    made = training.row(case, "nccl", 8, [{"losses": [], "steps_ms": [10.0], "silent_ms": []}])
    assert made["per_second"] == pytest.approx(4 * training.TOKENS / 10 * 1e3)
    assert made["spread_us"] == 0


def test_a_step_of_several_batches_counts_all_of_them() -> None:
    run = {"losses": [], "steps_ms": [10.0], "silent_ms": []}
    made = training.row(Case("resnet50", "ddp", 8, step="accumulate"), "nccl", 2, [run])
    assert made["per_second"] == pytest.approx(4 * 8 * 2 / 10 * 1e3)
    assert made["step"] == "accumulate"


# ---- the verb -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["", "many", "0", "4,-1", "٣"])
def test_what_is_no_number_is_named(given: str) -> None:
    with pytest.raises(Problem, match="--batches") as caught:
        call(batches=given)
    assert caught.value.exit_code == Exit.USAGE


@pytest.mark.usefixtures("installed")
def test_both_libraries_take_turns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran: list[str] = []

    def run(job: Job, _: Any, library: str, progress: Any, outcome: Outcome, most_s: float) -> None:
        assert (job.ranks, job.losses, job.until_s, most_s) == (2, 20, 0, math.inf)
        progress(0, 1, "resnet50")
        ran.append("sennit" if library else "nccl")
        fill(outcome, Outcome(rows=[row_of(job.cases[0])]))

    monkeypatch.setattr(verb, "_job", run)
    file = tmp_path / "training.json"
    call(json_file=str(file))
    assert ran == ["nccl", "sennit", "nccl", "sennit"]
    kept = parse(Result, json.loads(file.read_text(encoding="utf-8")), "it")
    assert {row.variant for row in kept.rows} == {"sennit", "nccl"}
    assert kept.warnings == []
    assert "budget_s" not in kept.settings


def test_a_case_that_a_rank_left_out_is_told_of_once() -> None:
    case, other = Case("resnet50", "ddp", 8), Case("vgg16", "ddp", 8)
    said = [f"{training.left_out(other)}: no memory"]
    refused = Outcome(rows=[row_of(case)], warnings=said)
    whole = Outcome(rows=[row_of(case), row_of(other)])
    document = verb.document_of(Job(2, [case, other], 3), {"nccl": [whole], "sennit": [refused]}, 1)
    assert [row["model"] for row in document["rows"]] == ["resnet50", "resnet50"]
    assert document["warnings"] == ["vgg16 ddp, batch 8, buckets 25 MB is left out: no memory"]


def test_disabled_there_is_nothing_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENNIT_DISABLE", "1")
    with pytest.raises(Problem, match="SENNIT_DISABLE is set: jobs under sennit would run without it") as caught:
        call()
    assert (caught.value.exit_code, "unset SENNIT_DISABLE" in caught.value.remedy) == (Exit.USAGE, True)


def test_without_pytorch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(util, "find_spec", lambda _: None)
    with pytest.raises(Problem, match="torch is not installed") as caught:
        call()
    assert caught.value.remedy == f"{sys.executable} -m pip install torch torchvision"
