"""When SimGrid says that flows end: a case as JSON from stdin, the time of each end as JSON to stdout.

A program of its own, since a process can simulate only once. A second and a byte a second here are a µs and a byte/µs
there, so that SimGrid's precision in time is far below what is compared. The platform is a file because that is what
SimGrid 3.32 (Debian 12) and 4 read alike."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import simgrid

# Max-min sharing and nothing else: no factors of TCP's, no window over the latency, no traffic of acknowledgements.
SETTINGS = (
    "network/model:CM02",
    "network/TCP-gamma:0",
    "network/crosstraffic:no",
    "maxmin/precision:1e-12",
    "surf/precision:1e-9",
)


def platform(case: dict[str, Any]) -> str:
    """Hosts, links with their bytes a second, and the links between each pair of hosts that flows join."""
    lines = [f'<host id="{host}" speed="1f"/>' for host in case["hosts"]]
    lines += [f'<link id="{name}" bandwidth="{rate!r}Bps" latency="0s"/>' for name, rate in case["links"].items()]
    for source, destination in sorted({(flow["from"], flow["to"]) for flow in case["flows"]}):
        links = "".join(f'<link_ctn id="{name}"/>' for name in case["ways"][f"{source}>{destination}"])
        lines.append(f'<route src="{source}" dst="{destination}" symmetrical="NO">{links}</route>')
    # SimGrid compares this address with its own; it reads nothing from there.
    kind = '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
    head = ["<?xml version='1.0'?>", kind, '<platform version="4.1">', '<zone id="all" routing="Full">']
    return "\n".join([*head, *lines, "</zone>", "</platform>", ""])


def simulate(case: dict[str, Any]) -> list[float]:
    """The end of each flow {"from", "to", "bytes", "start"}."""
    engine = simgrid.Engine(["simgrid_ends", "--log=root.thresh:error", *(f"--cfg={each}" for each in SETTINGS)])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "platform.xml"
        file.write_text(platform(case), encoding="utf-8")
        engine.load_platform(str(file))
    hosts = {name: simgrid.Host.by_name(name) for name in case["hosts"]}
    ends = [0.0] * len(case["flows"])

    def send(index: int) -> None:
        flow = case["flows"][index]
        simgrid.this_actor.sleep_until(flow["start"])
        simgrid.Comm.sendto_async(hosts[flow["from"]], hosts[flow["to"]], flow["bytes"]).wait()
        ends[index] = simgrid.Engine.clock

    anywhere = hosts[case["hosts"][0]]
    for index in range(len(ends)):
        if hasattr(anywhere, "add_actor"):  # since 4.1
            anywhere.add_actor(f"flow{index}", send, index)
        else:
            simgrid.Actor.create(f"flow{index}", anywhere, send, index)
    engine.run()
    return ends


if __name__ == "__main__":
    print(json.dumps(simulate(json.load(sys.stdin))))
