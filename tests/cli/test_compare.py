"""`sennit compare`: two runs of the same benchmark, row by row. The file is long, as its tests share made-up runs."""

from __future__ import annotations

import json
import math
from functools import partial
from typing import Any

import pytest
from conftest import Programs, check_snapshot, data, shown
from sennit.compare.changes import Judged, Verdict, counted, differing, geometric_mean, judged, unclear
from sennit.compare.ratio import Ratio
from sennit.compare.runs import NOT_COMPARED, Comparison, Limit, broken, compare, comparison_document, limit
from sennit.model.result import Result
from sennit.programs.problem import Exit, Problem
from sennit.views.changes_text import print_comparison, sentences

FILES = ("before.json", "after.json")


def changed(name: str, *changes: tuple[int, dict[str, Any]], **more: Any) -> Result:
    """A made-up result, with members of some rows replaced."""
    document = data(name) | more
    for index, values in changes:
        document["rows"][index] |= values
    return Result.model_validate(document)


collectives, puts = partial(changed, "collective"), partial(changed, "result")
torches, trainings = partial(changed, "torch"), partial(changed, "training")


def later() -> Result:
    """The made-up collectives, measured again."""
    after = collectives(
        (0, {"median_us": 2.9, "plan": "one_shot_packets 2x256"}),
        (1, {"graph": False}),
        (2, {"median_us": 14.3}),
        (5, {"median_us": 5200.0, "spread_us": 10}),
        (6, {"calls": 1}),
    )
    after.machine.driver = "1.2.4"
    after.versions["sennit"] = "0.2.0"
    after.rows[4] = after.rows[4].model_copy(update={"bytes": 2 << 20})
    return after


def verdict_of(found: Comparison, index: int = 0) -> tuple[Verdict, str]:
    pair = found.pairs[index]
    return pair.judged.verdict, pair.remark


@pytest.mark.parametrize(
    ("times", "verdict"),
    [
        ((10, 0.01, 10.1, 0.01), "same"),  # as two runs may differ
        ((10, 0.1, 11, 0.1), "slower"),
        ((10, 0.1, 9, 0.1), "faster"),
        ((10, 0.5, 10, 0.5), "unclear"),
        ((10, 0.5, 20, 1), "slower"),  # wide, and still beyond doubt
        ((0, 0, 10, 0.1), "unclear"),
        ((10, 0.1, 5e-324, 0), "unclear"),
    ],
)
def test_a_verdict_is_given_only_where_it_can_be(times: tuple[float, ...], verdict: str) -> None:
    one = judged(*times)
    assert one.verdict == verdict
    assert one.clear == (verdict != "unclear")
    assert bool(one.reason) != one.clear


def test_what_is_unclear_says_how_much_would_be_seen() -> None:
    assert judged(10, 0.5, 10, 0.5).reason == "too much noise to see a difference of 5 %"
    assert judged(10, 0.2, 10, 0.1).verdict == "same"


def test_verdicts_are_counted_and_averaged() -> None:
    ones = [
        Judged(Verdict.FASTER, Ratio(2, 0)),
        Judged(Verdict.SLOWER, Ratio(0.5, 0)),
        Judged(Verdict.FASTER, Ratio(8, 0)),
    ]
    ones += [unclear("why", Ratio(100, 0)), unclear("why")]
    assert counted(ones, "row") == "5 rows: 0 same, 2 faster, 1 slower, 2 unclear."
    assert counted(ones[:1], "row") == "1 row: 0 same, 1 faster, 0 slower, 0 unclear."
    assert geometric_mean(ones) == pytest.approx(2)
    assert geometric_mean([]) is None
    assert geometric_mean([Judged(Verdict.SLOWER, Ratio(0, 0))]) is None
    assert geometric_mean([Judged(Verdict.FASTER, Ratio(1e9, 0))] * 100) == pytest.approx(1e9)


def test_what_differs_is_told_in_few_words() -> None:
    assert differing({"a": 1, "b": ["x", "x"]}, {"a": 1, "b": ["x", "y"], "c": 3}) == [
        "b (x, x and x, y)",
        "c (? and 3)",
    ]
    (long,) = differing({"a": "x\n" * 500}, {"a": ""})
    assert len(long) < 80
    assert "\n" not in long


def test_two_runs_of_collectives() -> None:
    runs = collectives(), later()
    found = compare(*runs)
    text = shown(lambda console: print_comparison(found, runs, FILES, console))
    check_snapshot("compare-collectives.txt", text)
    assert text.startswith("A and B differ in sennit (0.1.0 and 0.2.0), driver (1.2.3 and 1.2.4):")


def test_two_runs_of_puts() -> None:
    split = [{"route": "direct", "share": 0.9}, {"route": "host0 (sm)", "share": 0.1}]
    runs = puts(), puts((6, {"median_us": 53.0, "split": split}), (9, {"spread_us": 8.0}), (10, {"verified": False}))
    found = compare(*runs)
    check_snapshot("compare-puts.txt", shown(lambda console: print_comparison(found, runs, FILES, console)))
    assert [verdict_of(found, index) for index in (6, 7, 9, 10)] == [
        (Verdict.SAME, "direct → direct + host0 (sm)"),
        (Verdict.SAME, ""),
        (Verdict.UNCLEAR, "too much noise to see a difference of 5 %"),
        (Verdict.UNCLEAR, "verified in A alone"),
    ]


def test_two_runs_of_pytorchs_collectives() -> None:
    runs = torches(), torches(
        (0, {"median_us": 3.6}),
        (2, {"how": "two_shot_whole 64x256"}),
        (3, {"calls": 20}),
        (6, {"median_us": 8.0}),
        (8, {"verified": False}),
        settings={"runs": 5, "seconds": 1, "take": "all"},
    )  # fmt: skip
    found = compare(*runs)
    check_snapshot("compare-torch.txt", shown(lambda console: print_comparison(found, runs, FILES, console)))
    assert found.differences == ["take (measured and all)"]
    assert [verdict_of(found, index) for index in (0, 1, 2, 3, 6, 8)] == [
        (Verdict.SLOWER, ""),
        (Verdict.SAME, ""),
        (Verdict.SAME, "two_shot 64x256 → two_shot_whole 64x256"),
        (Verdict.UNCLEAR, "times of 50 and of 20 calls back to back"),
        (Verdict.FASTER, ""),
        (Verdict.UNCLEAR, "verified in A alone"),
    ]
    assert list(found.geometric_means()) == ["sennit", "nccl"]


def test_a_plan_that_nobody_told_is_a_question_mark() -> None:
    found = compare(torches((0, {"how": ""})), torches())
    assert verdict_of(found) == (Verdict.SAME, "? → one_shot_packets 8x256")


def test_two_runs_of_training() -> None:
    runs = trainings(), trainings(
        (1, {"median_ms": 49.9, "spread_ms": 0.2}),
        (3, {"losses": [1.0, 0.8, 0.7]}),
        (5, {"median_ms": 28.0}),
        settings={"runs": 1, "steps": 20, "losses": 50},
    )  # fmt: skip
    found = compare(*runs)
    check_snapshot("compare-training.txt", shown(lambda console: print_comparison(found, runs, FILES, console)))
    assert found.differences == []
    assert [verdict_of(found, index) for index in (0, 1, 3, 5)] == [
        (Verdict.SAME, ""),
        (Verdict.SLOWER, ""),
        (Verdict.SAME, "losses up to 0.1 apart, relative"),
        (Verdict.FASTER, ""),
    ]
    assert broken(found, [limit("slower")]) == [
        "Training: resnet50 ddp, buckets 25 MB, 4 ranks, batch 32, sennit: 0.96 ± 0.01 times as fast"
    ]


def test_training_is_named_by_its_batch_and_timed_in_microseconds() -> None:
    rows = comparison_document(compare(trainings(), trainings()), "bench training", FILES)["rows"]
    assert rows[0]["what"] == "Training: resnet50 ddp, buckets 25 MB, 4 ranks"
    assert (rows[0]["batch"], "bytes" in rows[0]) == (32, False)
    assert rows[0]["a"] == {"median_us": 50000.0, "spread_us": 100.0, "way": ""}
    assert rows[2]["what"] == "Training: transformer fsdp, 4 ranks"


def test_a_run_is_the_same_as_itself() -> None:
    runs: list[Result] = [collectives(), puts(), torches(), trainings()]
    for run in runs:
        for row in run.rows:
            row.spread_us = row.median_us / 100
        found = compare(run, run)
        assert len(found.pairs) == len(run.rows)
        assert {pair.judged.verdict for pair in found.pairs} == {Verdict.SAME}
        assert (found.differences, found.only_first, found.only_second) == ([], [], [])
        assert set(found.geometric_means().values()) == {1.0}


def test_what_was_not_measured_in_the_same_way_is_unclear() -> None:
    for values, why in (
        ({"graph": False}, "as a CUDA graph in A, call by call in B"),
        ({"calls": 40}, "times of 100 and of 40 calls back to back"),
        ({"calls": 201}, "times of 100 and of 201 calls back to back"),
        ({"verified": False}, "verified in A alone"),
    ):
        found = compare(collectives(), collectives((0, values)))
        assert verdict_of(found) == (Verdict.UNCLEAR, why)
        assert found.pairs[0].judged.ratio is None
    settings = data("collective")["settings"]
    found = compare(collectives(), collectives(settings=settings | {"skew_us": 50}))
    assert {(pair.judged.verdict, pair.remark) for pair in found.pairs} == {
        (Verdict.UNCLEAR, "in one the last rank starts later")
    }
    assert compare(collectives(), collectives(settings=settings | {"skew_us": 0})).all_judged[0].clear
    back = compare(collectives((0, {"graph": False})), collectives())
    assert verdict_of(back) == (Verdict.UNCLEAR, "call by call in A, as a CUDA graph in B")
    # How many calls make a graph follows from the time, which is never quite the same.
    assert verdict_of(compare(collectives(), collectives((0, {"calls": 60}))))[0] == Verdict.SAME


@pytest.mark.parametrize(
    "values",
    [
        {"operation": "reduce"}, {"variant": "nccl2"}, {"bytes": 3}, {"type": "int8"}, {"operator": "max"},
        {"ranks": 2}, {"in_place": False},
    ],
)  # fmt: skip
def test_what_is_another_case_is_not_compared(values: dict[str, Any]) -> None:
    found = compare(collectives(), collectives((0, values)))
    assert (len(found.only_first), len(found.only_second)) == (1, 1)
    assert found.only_first[0].title.startswith("Allreduce: float32 sum, 4 ranks, in place")


@pytest.mark.parametrize(
    "values", [{"from": "gpu2"}, {"to": "host0"}, {"traffic": "both_ways", "bytes": 1}, {"window": 9}, {"bytes": 3}]
)
def test_another_put_is_not_compared(values: dict[str, Any]) -> None:
    found = compare(puts(), puts((0, values)))
    assert (len(found.only_first), len(found.only_second)) == (1, 1)


@pytest.mark.parametrize(
    "values",
    [
        {"operation": "broadcast"}, {"variant": "passed_on"}, {"way": "queued"}, {"bytes": 3}, {"type": "int8"},
        {"ranks": 4},
    ],
)  # fmt: skip
def test_another_call_of_pytorch_is_not_compared(values: dict[str, Any]) -> None:
    found = compare(torches(), torches((0, values)))
    assert (len(found.only_first), len(found.only_second)) == (1, 1)
    assert str(found.only_first[0]) == "Allreduce, float32, in a CUDA graph, 2 ranks, 1 KiB, sennit"


@pytest.mark.parametrize(
    "values",
    [
        {"model": "vgg16"}, {"parallel": "fsdp"}, {"batch": 16}, {"bucket_mb": 100}, {"step": "compile"},
        {"variant": "other"}, {"ranks": 2},
    ],
)  # fmt: skip
def test_another_training_is_not_compared(values: dict[str, Any]) -> None:
    found = compare(trainings(), trainings((0, values)))
    assert (len(found.only_first), len(found.only_second)) == (1, 1)
    assert "Only in A: Training: resnet50 ddp, buckets 25 MB, 4 ranks, nccl (batch 32)." in sentences(found)


def test_an_operator_counts_only_where_something_is_reduced() -> None:
    index = next(number for number, row in enumerate(data("collective")["rows"]) if row["operation"] == "all_to_all")
    assert not compare(collectives(), collectives((index, {"operator": "max"}))).only_first


def test_a_barrier_has_no_size() -> None:
    (pair, *_) = (pair for pair in compare(collectives(), collectives()).pairs if "Barrier" in pair.case.title)
    assert (str(pair.case), pair.case.size) == ("Barrier: 4 ranks, sennit", "–")


def test_means_are_apart_for_each_who_did_it() -> None:
    found = compare(collectives(), collectives((1, {"median_us": 22.8}), (3, {"median_us": 6.0, "spread_us": 0.01})))
    means = found.geometric_means()
    assert list(means) == ["sennit", "nccl", "forced plans"]
    assert means["sennit"] == 1
    assert means["nccl"] < 1
    assert means["forced plans"] > 1


def test_a_peer_that_was_left_out_makes_no_difference() -> None:
    without = collectives(versions={"sennit": "0.1.0"}, settings={"ranks": 4, "seconds": 9, "sizes": [1]})
    without.rows = [row for row in without.rows if row.variant == "sennit"]
    found = compare(collectives(), without)
    assert found.differences == []
    assert "Only in A: " in sentences(found)[-1]
    other = collectives(
        settings={"ranks": 4, "scratch_bytes": 1}, machine=data("collective")["machine"] | {"name": "b"}
    )
    found = compare(collectives(settings={"ranks": 4, "scratch_bytes": 2}), other)
    assert found.differences == ["scratch_bytes (2 and 1)", "machine (made-up-4 and b)"]


def test_runs_of_two_benchmarks_are_refused() -> None:
    with pytest.raises(Problem, match="A is of kind 'bench put' and B of kind 'bench collective'") as caught:
        compare(puts(), collectives())
    assert caught.value.exit_code == Exit.USAGE
    with pytest.raises(Problem, match="A is of kind 'bench torch' and B of kind 'bench training'"):
        compare(torches(), trainings())
    with pytest.raises(Problem, match="bench get"):
        compare(puts(), puts(kind="bench get"))


def test_limits_are_read() -> None:
    assert limit("slower") == Limit(Verdict.SLOWER, 0)
    assert limit("slower:3") == limit("slower:3%") == Limit(Verdict.SLOWER, 3)
    assert limit("unclear") == Limit(Verdict.UNCLEAR)


@pytest.mark.parametrize(
    "text",
    ["", "faster", "slower:", "slower:much", "slower:-1", "slower:nan", "slower:inf", "unclear:3", ":"],
)
def test_limits_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(Problem, match="there is no --fail-if") as caught:
        limit(text)
    assert caught.value.exit_code == Exit.USAGE
    assert "slower:3" in caught.value.remedy


def test_a_limit_gives_the_benefit_of_the_noise() -> None:
    for value, spread, percent, is_broken in (
        (0.90, 0.01, 0, True),
        (0.90, 0.01, 8, True),
        (0.90, 0.01, 9, False),  # 0.92 is within 9 % of 1
        (0.99, 0.01, 0, False),
        (1.20, 0.01, 0, False),
    ):
        one = Judged(Verdict(Ratio(value, spread).verdict), Ratio(value, spread))
        assert Limit(Verdict.SLOWER, percent).broken(one) == is_broken
        assert not Limit(Verdict.UNCLEAR).broken(one)
    assert not Limit(Verdict.SLOWER).broken(unclear("why", Ratio(0.1, 0)))
    assert Limit(Verdict.UNCLEAR).broken(unclear("why"))


def test_broken_limits_name_their_rows() -> None:
    found = compare(collectives(), later())
    assert broken(found, []) == []
    slower = ["Allreduce: float32 sum, 4 ranks, in place, 1 GiB, sennit: 0.94 ± 0.01 times as fast"]
    assert broken(found, [limit("slower:3")]) == slower
    assert broken(found, [limit("slower:6")]) == []
    assert [line.split(": ")[-1] for line in broken(found, [limit("unclear")])] == [
        "as a CUDA graph in A, call by call in B",
        "times of 100 and of 1 calls back to back",
        "too much noise to see a difference of 5 %",
        "too much noise to see a difference of 5 %",
    ]
    assert len(broken(found, [limit("unclear"), limit("slower")])) == 5


def test_a_check_that_compared_nothing_did_not_pass() -> None:
    nothing = compare(collectives(), collectives(rows=[]))
    assert broken(nothing, [limit("slower")]) == [NOT_COMPARED]
    assert broken(nothing, []) == []
    assert sentences(nothing)[0] == "0 rows: 0 same, 0 faster, 0 slower, 0 unclear."


def save(programs: Programs, before: Any, after: Any) -> None:
    for name, document in zip(FILES, (before, after), strict=True):
        (programs.folder / name).write_text(json.dumps(document))


def test_compare_on_the_command_line(programs: Programs) -> None:
    save(programs, data("collective"), later().model_dump())
    done = programs.sennit("compare", *FILES)
    assert (done.returncode, done.stderr) == (0, "")
    assert "16 rows: 10 same, 1 faster, 1 slower, 4 unclear." in done.stdout
    assert "SLOWER" in done.stdout
    done = programs.sennit("compare", *FILES, "--fail-if", "slower:3")
    assert done.returncode == 1
    assert "1 GiB, sennit: 0.94 ± 0.01 times as fast" in done.stderr
    assert "SLOWER" in done.stdout
    assert programs.sennit("compare", *FILES, "--fail-if", "slower:50").returncode == 0
    done = programs.sennit("compare", *FILES, "--fail-if", "slower:50", "--fail-if", "unclear")
    assert done.returncode == 1
    assert "call by call in B" in done.stderr


def test_compare_prints_its_document(programs: Programs) -> None:
    save(programs, data("collective"), later().model_dump())
    done = programs.sennit("compare", *FILES, "--json", "--fail-if", "slower")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    found = compare(collectives(), later())
    assert document == json.loads(json.dumps(comparison_document(found, "bench collective", FILES)))
    assert document["kind"] == "bench collective comparison"
    first = document["rows"][0]
    assert (first["verdict"], first["variant"], first["bytes"]) == ("faster", "sennit", 1024)
    assert first["ratio"] == pytest.approx(3.2 / 2.9)
    assert first["b"]["way"] == "one_shot_packets 2x256"
    assert document["rows"][1]["ratio"] is None
    assert sum(document["counts"].values()) == len(document["rows"])
    assert math.isfinite(document["geometric_means"]["sennit"])


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("result", "gpu0 → gpu1, both ways, window 1"),
        ("mpi", "Allreduce: float32 sum, GPU buffers, in place, 2 ranks"),
        ("torch", "Allreduce, float32, in a CUDA graph, 2 ranks"),
        ("training", "Training: resnet50 ddp graph, buckets 25 MB, 4 ranks"),
    ],
)
def test_compare_takes_results_of_every_benchmark(programs: Programs, name: str, title: str) -> None:
    after = data(name)
    save(programs, data(name), after)
    done = programs.sennit("compare", *FILES, "--fail-if", "slower")
    assert done.returncode == 0, done.stderr
    assert title in done.stdout
    for time in ("median_us", "median_ms"):
        after["rows"][0] |= {time: 2 * after["rows"][0].get(time, 1)}
    save(programs, data(name), after)
    done = programs.sennit("compare", *FILES, "--fail-if", "slower:3")
    assert done.returncode == 1
    assert "0.50 ± " in done.stderr


def test_compare_refuses_what_makes_no_sense(programs: Programs) -> None:
    save(programs, data("collective"), data("result"))
    for arguments in (
        FILES,
        FILES[:1],
        ("before.json", "none.json"),
        (*FILES[:1], "before.json", "--fail-if", "big"),
    ):
        done = programs.sennit("compare", *arguments)
        assert done.returncode == 2
        assert done.stdout == ""
    (programs.folder / "after.json").write_text(json.dumps(data("plans")))
    done = programs.sennit("compare", *FILES)
    assert done.returncode == 2
    assert "after.json" in done.stderr
