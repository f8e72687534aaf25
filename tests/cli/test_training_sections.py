"""Results of training of one machine in one table: which measurement of a case counts, and what is said of many."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from conftest import data
from kept_documents import NONE_YET
from sennit.baselines.training import read_unfinished, unfinished
from sennit.model.result import Result
from sennit.views.training import EXPLAINED, case_of
from training_sections import (
    CALLS_EXPLAINED,
    Section,
    Source,
    above,
    left_to_nccl,
    markdown,
    merge,
    never_below,
    sections,
    training_sections,
)


def both(model: str, gain: float, spread: float = 0.001, **more: Any) -> list[dict[str, Any]]:
    """The rows of a case of DDP with 8 images, 25 MB and two ranks, unless `more` says otherwise. Steps have no part
    that is known to be exposed."""
    known = {"model": model, "parallel": "ddp", "batch": 8, "bucket_mb": 25, "ranks": 2, "runs": 1, "steps": 16}
    known |= {"unit": "images", "per_second": 100.0, "median_ms": 10.0} | more
    own = {"variant": "sennit", "gain": gain, "gain_spread": spread, "left_ms": 10.0 * gain}
    return [known | {"variant": "nccl", "calls": ""}, known | own]


def source(
    name: str,
    rows: list[dict[str, Any]],
    date: str = "2026-11-24",
    warnings: tuple[str, ...] = (),
    folder: str = "made-up",
    **changes: Any,
) -> Source:
    """A result in results/made-up/NAME.json, of two GPUs."""
    document = {"version": 1, "kind": "bench training", "date": f"{date}T14:00:00+00:00", "rows": rows}
    document["machine"] = {"name": "hgx", "driver": "580", "cuda": "13.0", "devices": ["H200", "H200"], "cores": 8}
    document["versions"] = {"sennit": f"0.1.0+{name}", "torch": "2.11", "nccl": "2.28"}
    document["warnings"] = list(warnings)
    return Source(f"results/{folder}/{name}.json", Result.model_validate(document | changes))


def merged(*sources: Source) -> Section:
    """The only section of them."""
    (section,) = sections(sources)
    return section


def cases(result: Result) -> list[str]:
    """Those of which there is a row, in order."""
    return list(dict.fromkeys(case_of(row) for row in result.rows))


# ---- which cases --------------------------------------------------------------------------------------------------


def test_each_case_is_as_it_was_measured_last() -> None:
    old = source("a-old", both("resnet50", 0.9) + both("vgg16", 1.1), "2026-11-22")
    new = source("new", both("resnet50", 1.2), "2026-11-24")
    older = source("z-older", both("resnet50", 0.5), "2026-11-21")
    for sources in ((old, new, older), (older, new, old)):
        section = merged(*sources)
        gains = {row.model: row.gain for row in section.result.rows if row.variant == "sennit"}
        assert gains == {"resnet50": 1.2, "vgg16": 1.1}
        assert len(section.result.rows) == 4, "no row of a measurement that is not the newest"
        assert section.sources == [new, old], "the newest first, and none of which nothing is shown"
        assert section.result.date == new.result.date


def test_of_two_of_the_same_date_the_last_by_name_counts() -> None:
    first, second = source("a", both("vgg16", 1.0)), source("b", both("vgg16", 1.1))
    assert merged(first, second).sources == merged(second, first).sources == [second]


def test_cases_are_ordered_by_what_they_are() -> None:
    ways: list[dict[str, Any]] = [
        {"model": "transformer", "parallel": "tensor", "bucket_mb": 0},
        {"model": "vgg16", "parallel": "fsdp", "bucket_mb": 0},
        {"model": "someday", "parallel": "pipeline", "bucket_mb": 0},
        {"model": "resnet50", "step": "accumulate"},
        {"model": "resnet50", "step": "graph"},
        {"model": "alexnet", "step": "compile"},
        {"model": "vgg16"},
        {"model": "resnet152"},
        {"model": "another"},
        {"model": "resnet50", "batch": 32},
        {"model": "resnet50", "bucket_mb": 100},
        {"model": "resnet50"},
    ]
    sources = [source(str(at), both(way.pop("model"), 1.0, **way)) for at, way in enumerate(ways)]
    assert cases(merged(*sources).result) == [
        "resnet50 ddp 8 25 MB",
        "resnet50 ddp 32 25 MB",
        "resnet50 ddp 8 100 MB",
        "resnet152 ddp 8 25 MB",
        "vgg16 ddp 8 25 MB",
        "another ddp 8 25 MB",
        "alexnet ddp compile 8 25 MB",
        "resnet50 ddp graph 8 25 MB",
        "resnet50 ddp accumulate 8 25 MB",
        "vgg16 fsdp 8",
        "transformer tensor 8",
        "someday pipeline 8",
    ]


def test_unequal_machines_have_sections_of_their_own() -> None:
    old, new = source("a", both("vgg16", 1.0)), source("b", both("vgg16", 1.1), "2026-11-25")
    assert merged(old, new).name == "made-up"
    elsewhere = source("a", both("vgg16", 1.0), folder="another")
    assert [section.name for section in sections([old, new, elsewhere])] == ["another", "made-up"]
    for changes in (
        {"machine": {"name": "hgx", "devices": ["H100", "H100"]}},
        {"versions": {"torch": "2.12", "nccl": "2.28"}},
        {"versions": {"torch": "2.11", "nccl": "2.29"}},
        {"rows": both("vgg16", 1.1, ranks=4)},
    ):
        found = sections([old, source("b", **{"rows": both("vgg16", 1.1), "date": "2026-11-25"} | changes)])
        assert [section.sources[0].path for section in found] == ["results/made-up/b.json", old.path]
        assert found[1].name == "made-up (2 × H200), torch 2.11, nccl 2.28, 2 ranks"
        assert found[0].name != found[1].name


def test_drivers_that_differ_are_named_both() -> None:
    other = {"name": "hgx", "driver": "570", "cuda": "13.0", "devices": ["H200", "H200"]}
    section = merged(source("b", both("vgg16", 1.0), "2026-11-25"), source("a", both("resnet50", 1.0), machine=other))
    assert (section.result.machine.driver, section.result.machine.cuda) == ("580 and 570", "13.0")
    assert section.result.versions == {"torch": "2.11", "nccl": "2.28"}, "commits of sennit differ"


def test_results_without_cases_make_no_section() -> None:
    odd = [row | {"variant": "both"} for row in both("vgg16", 1.0)]
    assert sections([source("a", []), source("b", odd)]) == []
    assert merged(source("a", [*both("vgg16", 1.0), odd[0] | {"model": "mlp"}])).result.rows[0].model == "vgg16"


# ---- warnings -----------------------------------------------------------------------------------------------------


def test_what_a_warning_of_missing_cases_names_is_read_back() -> None:
    warning = unfinished("nccl and sennit", ["vgg16 ddp, batch 8, buckets 25 MB", "vgg16 fsdp, batch 8"])
    assert read_unfinished(warning) == (
        "nccl and sennit",
        ["vgg16 ddp, batch 8, buckets 25 MB", "vgg16 fsdp, batch 8"],
    )
    assert read_unfinished("vgg16 fsdp, batch 8 is left out: no memory") is None


def test_cases_that_another_result_has_are_not_missing() -> None:
    vgg, alexnet, mlp = "vgg16 ddp graph, batch 8, buckets 25 MB", "alexnet fsdp, batch 32", "mlp tensor, batch 8"
    shown = source("a", both("resnet50", 1.0), "2026-11-24", (unfinished("nccl and sennit", [vgg, alexnet]),))
    has = source("b", both("vgg16", 1.0, step="graph"), "2026-11-23", (unfinished("nccl and sennit", [mlp]),))
    hidden = source("c", both("resnet50", 1.0), "2026-11-22", (unfinished("nccl and sennit", [alexnet]),))
    alone = source("d", both("resnet50", 1.0), "2026-11-21", (unfinished("sennit", [vgg, mlp]),))
    assert merged(shown, has, hidden, alone).result.warnings == [
        unfinished("nccl and sennit", [alexnet, mlp]),
        unfinished("sennit", [mlp]),
    ]
    own = source("a", both("vgg16", 1.0, step="graph"), warnings=(unfinished("sennit", [vgg]),))
    assert merged(own).result.warnings == []


def test_other_warnings_stay_with_the_name_of_what_they_are_of() -> None:
    shown = source("a", both("resnet50", 1.0), "2026-11-24", ("Clocks changed; measure it again.",))
    hidden = source("b", both("resnet50", 1.0), "2026-11-23", ("The machine was in use; wait.",))
    assert merged(shown, hidden).result.warnings == ["Of `a.json`: Clocks changed; measure it again."]


# ---- what is said -------------------------------------------------------------------------------------------------


def test_many_cases_are_counted_and_those_that_missed_are_named() -> None:
    rows = [*both("resnet50", 1.0), *both("vgg16", 0.9), *both("alexnet", 1.0, 0.02), *both("resnet152", 1.0, 0.05)]
    found = merged(source("a", rows + both("densenet201", 0.9, steps=5))).result
    assert never_below(found) == [
        "Aimed at: never below 0.99 of NCCL's; by more than 2 × ± shown in 1 of 5 cases; missed: vgg16 ddp 8 25 MB "
        "(0.900 ± 0.001); undecided: 2 by their ± of 0.02 to 0.05, 1 of fewer than 6 ratios."
    ]
    rows = both("resnet50", 1.0, 0.02) + both("vgg16", 1.0, calls="nccl")
    assert never_below(merged(source("a", rows)).result)[0].endswith(
        "shown in 0 of 1 case; missed: none; undecided: 1 by their ± of 0.02. 1 further case cannot tell, as all "
        "calls were left to NCCL."
    )
    assert never_below(merged(source("a", rows[2:])).result) == [
        "Aimed at: never below 0.99 of NCCL's. 1 case cannot tell, as all calls were left to NCCL."
    ]
    assert never_below(merged(source("a", both("vgg16", 1.0)[:1])).result) == [], "there is nothing to compare with"


def test_cases_above_nccls_are_named() -> None:
    exposed = {"silent_ms": 8.0}
    rows = both("resnet50", 1.1) + both("vgg16", 1.0, **exposed) + both("alexnet", 1.2, calls="nccl", **exposed)
    rows += both("densenet201", 1.1, steps=5) + both("resnet152", 1.1, 0.06)
    assert above(merged(source("a", rows)).result) == [
        "By more than 2 × ± above NCCL's: resnet50 ddp 8 25 MB (1.100 ± 0.001). Aimed at where communication is "
        "exposed: shown in 0 of 1 case."
    ]
    assert above(merged(source("a", both("vgg16", 1.0))).result) == ["By more than 2 × ± above NCCL's: none."]
    assert above(merged(source("a", both("vgg16", 1.1, calls="nccl"))).result) == []


def test_what_is_left_to_nccl_is_a_range_of_those_that_tell() -> None:
    rows = both("resnet50", 0.998) + both("vgg16", 1.02) + both("alexnet", 1.5, spread_ms=1.0)
    assert left_to_nccl(merged(source("a", rows)).result) == [
        "Left to NCCL under sennit, of a step's time without it: 0.998 to 1.020, in those 2 of 3 cases whose steps "
        "vary by less than 0.5%; aimed at: within 1%, missed: vgg16 ddp 8 25 MB (1.020)."
    ]
    (said,) = left_to_nccl(merged(source("a", rows[:2])).result)
    assert ": 0.998, in those 1 of 1 case whose" in said
    assert said.endswith("missed: none.")
    assert "cannot tell" in left_to_nccl(merged(source("a", rows[4:])).result)[0]


# ---- the page -----------------------------------------------------------------------------------------------------


def test_a_section_says_whence_it_is() -> None:
    new = source("b", both("vgg16", 1.0, calls="nccl"), "2026-11-25", ("Clocks changed; measure it again.",))
    page = markdown(merged(source("a", both("resnet50", 1.0), versions={"torch": "2.11", "nccl": "2.28"}), new))
    head = "## made-up\n\nMeasured 2026-11-24 to 2026-11-25 on hgx (2 × H200, 8 cores), driver 580, CUDA 13.0, "
    assert page.startswith(
        f"{head}torch 2.11, nccl 2.28.\n\nWarning: Of `b.json`: Clocks changed; measure it again.\n\n**Training on 2"
    )
    assert re.findall(r"\| losses \| calls \|$|^\| (resnet50|vgg16) .* \| (\S+) \|$", page, re.MULTILINE) == [
        ("", ""),
        ("resnet50", "–"),
        ("vgg16", "NCCL's"),
    ]
    assert page.endswith(
        "Sources:\n\n- `results/made-up/b.json`: 2026-11-25, sennit 0.1.0+b\n"
        "- `results/made-up/a.json`: 2026-11-24, sennit –"
    )


def test_columns_are_explained_once(tmp_path: Path) -> None:
    assert training_sections(tmp_path) == NONE_YET
    for folder in ("one", "two"):
        (tmp_path / "results" / folder).mkdir(parents=True)
        (tmp_path / "results" / folder / "training.json").write_text(json.dumps(data("training")))
    page = training_sections(tmp_path)
    assert page.startswith(f"{EXPLAINED} {CALLS_EXPLAINED}\n\n## one\n\n")
    assert page.count(EXPLAINED) == 1
    assert re.findall("^## (.*)$", page, re.MULTILINE) == ["one", "two"]


def test_a_merge_of_one_result_has_what_it_has() -> None:
    only = Source("results/made-up/training.json", Result.model_validate(data("training")))
    section = merge("made-up", [only])
    assert sorted(section.result.rows, key=repr) == sorted(only.result.rows, key=repr)
    assert section.result.versions == only.result.versions
    assert section.sources == [only]
