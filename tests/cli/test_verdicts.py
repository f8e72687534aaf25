"""What a result says in sentences."""

from __future__ import annotations

from collections.abc import Callable

from sennit.compare.groups import groups
from sennit.compare.verdicts import below, verdicts
from sennit.model.result import Result

Change = Callable[..., Result]
MIB64 = 64 << 20


def test_cases_keep_pairs_traffics_and_windows_apart(result: Result) -> None:
    one_way, both_ways = groups(result)
    assert one_way.title == "gpu0 → gpu1, one way, window 1"
    assert both_ways.title == "gpu0 → gpu1, both ways, window 1"
    assert one_way.variants == ["sennit", "engine", "nccl"]
    assert both_ways.sizes == [64 << 20, 1 << 30]


def test_a_gain_is_stated_with_its_size(result: Result) -> None:
    said = verdicts(groups(result)[0])
    assert said[0] == "Most at 256 MiB: 1.101 ± 0.004 times the engine alone."
    assert said[1] == "At no size slower than the engine alone beyond the noise."
    assert said[2] == "Nearest to the links' limit at 1 GiB: 435 GB/s, 97 % of 447 GB/s."


def test_a_loss_is_stated_with_what_to_do(result: Result) -> None:
    said = " ".join(verdicts(groups(result)[1]))
    assert "Slower than the engine alone at 64 MiB (0.96 ± 0.01)" in said
    assert "no split is to blame" in said
    assert "SENNIT_SPLIT=direct=1" not in said
    for row in result.rows:
        row.split = row.split * 2
    assert "SENNIT_SPLIT=direct=1" in " ".join(verdicts(groups(result)[1]))


def test_bytes_that_were_not_checked_are_named(changed: Change) -> None:
    result = changed({"variant": "sennit", "bytes": MIB64, "traffic": "one_way"}, {"verified": False})
    assert "Not verified at 64 MiB: do not use them." in verdicts(groups(result)[0])


def test_below_names_each_size_that_falls_short(result: Result) -> None:
    short = below(result, 1.0)
    assert [line.split(":")[0] for line in short] == [
        "gpu0 → gpu1, both ways, window 1, 64 MiB",
        "gpu0 → gpu1, both ways, window 1, 1 GiB",
    ]
    assert below(result, 0.9) == []


def test_below_does_not_pass_what_it_could_not_compare(result: Result) -> None:
    result.rows = [row for row in result.rows if row.variant == "sennit"]
    assert below(result, 1.0) == ["nothing was compared with the engine alone; add engine to --vs"]


def test_a_limit_that_is_not_known_is_not_spoken_of(changed: Change) -> None:
    result = changed({}, {"limit_gbps": 0})
    assert not any("limit" in sentence for sentence in verdicts(groups(result)[0]))
