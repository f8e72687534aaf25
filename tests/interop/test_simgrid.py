"""The solver of src/sim/fluid.h against SimGrid's: random flows over random links end at the same times.

sennit's side is a schedule of copies by engines, one lane a flow, replayed over a machine of GPUs behind two switches
with a link between them. The costs of steps are set to 0, but for that of a copy's start: lanes copy nothing so many
times, and so begin when the case says. A replay says when the last of all lanes ends. So each flow's end is asked for
by one of its own, in which its lane copies for a known time over links that nobody else uses, and is the last.

Needs the module simgrid: Debian's python3-simgrid, or the extra `oracle` (built from source, five minutes)."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
FOLDER = os.environ.get("SENNIT_TEST_PROGRAMS", "")
START_US = 8.0  # of a copy: starts of flows are multiples of it
CLOCK = ("gpu98", "gpu99")  # whose links only the last copy of a replay uses
CLOCK_RATE = 1e6  # bytes/µs


@cache
def interpreter() -> str | None:
    """A Python that has simgrid: this one, else Debian's own; None where neither has."""
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            done = subprocess.run([python, "-c", "import simgrid"], capture_output=True, timeout=60, check=False)
        except OSError:
            continue
        if done.returncode == 0:
            return python
    return None


def missing() -> str:
    """What keeps the test from running."""
    if not FOLDER:
        return "SENNIT_TEST_PROGRAMS names no folder; make test sets it"
    return "" if interpreter() else "no Python here has the module simgrid (Debian: python3-simgrid)"


@dataclass(frozen=True)
class Flow:
    """Bytes from a host to another one, from the time of `starts` copies' starts on."""

    source: int
    destination: int
    bytes: int
    starts: int


@dataclass(frozen=True)
class Case:
    """Rates in bytes/µs. Each host has a link up and a link down, which may be limited together; those of the second
    switch reach those of the first over a trunk."""

    up: list[float]
    down: list[float]
    both: list[float | None]
    second: list[bool]  # of each host: behind the second switch
    trunk: tuple[float, float]  # to the second switch, and back
    flows: list[Flow]

    @property
    def hosts(self) -> range:
        return range(len(self.up))


def made_up(seed: int) -> Case:
    """A random case. In every other one all figures are round, so that much happens at the same time."""
    dice = random.Random(seed)
    hosts = dice.randint(2, 6)

    def rate(least: float, most: float) -> float:
        return float(dice.choice([1, 2, 3, 4])) * 12500 if seed % 2 else dice.uniform(least, most)

    up, down = ([rate(5e3, 60e3) for _ in range(hosts)] for _ in range(2))
    both = [max(up[i], down[i]) * dice.uniform(1, 1.9) if dice.random() < 0.3 else None for i in range(hosts)]
    flows = []
    for _ in range(dice.randint(1, 14)):
        source, destination = dice.sample(range(hosts), 2)
        size = dice.choice([1_000_000, 2_000_000]) if seed % 2 else dice.randint(1, 4_000_000)
        flows.append(Flow(source, destination, size, dice.choice([1, 1, dice.randint(1, 25)])))
    second = [dice.random() < 0.4 for _ in range(hosts)]
    return Case(up, down, both, second, (rate(5e3, 90e3), rate(5e3, 90e3)), flows)


def of_simgrid(case: Case) -> list[float]:
    """The ends, by SimGrid."""
    links = {"trunk0": case.trunk[0], "trunk1": case.trunk[1]}
    ways = {}
    for i in case.hosts:
        links |= {f"up{i}": case.up[i], f"down{i}": case.down[i]}
        limit = case.both[i]
        if limit is not None:
            links[f"both{i}"] = limit
    for i, j in permutations(case.hosts, 2):
        trunk = [] if case.second[i] == case.second[j] else ["trunk0" if case.second[j] else "trunk1"]
        limits = [f"both{k}" for k in (i, j) if case.both[k] is not None]
        ways[f"h{i}>h{j}"] = [f"up{i}", *trunk, f"down{j}", *limits]
    flows = [
        {"from": f"h{one.source}", "to": f"h{one.destination}", "bytes": one.bytes, "start": one.starts * START_US}
        for one in case.flows
    ]
    question = {"hosts": [f"h{i}" for i in case.hosts], "links": links, "ways": ways, "flows": flows}
    python = interpreter()
    assert python is not None
    done = subprocess.run(
        [python, str(HERE / "simgrid_ends.py")],
        input=json.dumps(question), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [float(end) for end in json.loads(done.stdout)]


def machine(case: Case) -> dict[str, Any]:
    """The case's links as a machine's."""

    def gbps(rate: float) -> dict[str, Any]:
        return {"value": rate / 1000, "source": "assumed"}

    def link(one: str, other: str, forward: float, backward: float) -> dict[str, Any]:
        ends = {"from": one, "to": other, "kind": "nvlink"}
        return ends | {"forward_gbps": gbps(forward), "backward_gbps": gbps(backward)}

    gpus = [f"gpu{i}" for i in case.hosts]
    links = [link("nvswitch0", "nvswitch1", *case.trunk), link(*CLOCK, CLOCK_RATE, CLOCK_RATE)]
    links += [link(name, "nvswitch0", 1000, 1000) for name in CLOCK]  # all GPUs must reach each other
    for i in case.hosts:
        own = link(gpus[i], f"nvswitch{int(case.second[i])}", case.up[i], case.down[i])
        limit = case.both[i]
        links.append(own if limit is None else own | {"both_gbps": gbps(limit)})
    devices = [{"id": name, "kind": "gpu"} for name in (*gpus, *CLOCK)]
    devices += [{"id": f"nvswitch{i}", "kind": "nvswitch"} for i in range(2)]
    return {"version": 1, "name": "case", "devices": devices, "links": links}


def schedule(case: Case, asked: int, clock_us: float) -> dict[str, Any]:
    """The case's flows as copies of lanes; that of flow `asked` then copies for `clock_us` elsewhere."""
    ranks = len(case.up) + len(CLOCK)

    def copy(group: int, size: int, source: int, destination: int) -> dict[str, Any]:
        return {"act": "move", "group": group, "bytes": size, "from": [[source, 0]], "to": [[destination, 0]]}

    strands = []
    for index, flow in enumerate(case.flows):
        ends = (flow.source, flow.destination)
        steps = [copy(group, 0, *ends) for group in range(flow.starts - 1)]
        steps.append(copy(flow.starts, flow.bytes, *ends))
        if index == asked:
            steps.append(copy(flow.starts + 1, round(clock_us * CLOCK_RATE), ranks - 2, ranks - 1))
        strands.append({"rank": flow.source, "lane": index, "block": -1, "steps": steps})
    regions = [{"rank": rank, "name": "input", "bytes": 1 << 60} for rank in range(ranks)]
    parts = {"regions": regions, "launches": [], "strands": strands, "promises": []}
    return {"version": 1, "kind": "schedule", "ranks": ranks} | parts


def of_sennit(case: Case, folder: Path) -> list[float]:
    """The ends, by sennit's replay."""
    (folder / "machine.json").write_text(json.dumps(machine(case)))
    slowest = min(*case.up, *case.down, *case.trunk)
    # Longer than all flows one after the other, so that what it adds to is the end of all.
    clock_us = round(sum(flow.bytes for flow in case.flows) / slowest + 1000)
    ends = []
    for asked in range(len(case.flows)):
        (folder / "flows.json").write_text(json.dumps(schedule(case, asked, clock_us)))
        command = [str(Path(FOLDER) / "sennit-sim"), "replay", str(folder / "flows.json")]
        command += ["--machine", str(folder / "machine.json"), "--costs", f"engine_us={START_US},event_us=0"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        ends.append(float(json.loads(done.stdout)["us"]) - START_US - clock_us)
    return ends


# Where it cannot run, one skip says so, and not one a seed.
SEEDS = [pytest.param(0, marks=pytest.mark.skip(reason=missing()))] if missing() else list(range(24))


@pytest.mark.parametrize("seed", SEEDS)
def test_flows_end_when_simgrid_says(seed: int, tmp_path: Path) -> None:
    case = made_up(seed)
    assert of_sennit(case, tmp_path) == pytest.approx(of_simgrid(case), rel=1e-6), case
