"""Where a result was measured, in one sentence: without it a figure says nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sennit.model.result import MeasuredOn, Result
from sennit.units import percent, three_digits


def origin(result: Result) -> str:
    """For example: Measured 2026-11-21 on hgx-h200-4 (4 × NVIDIA H200, 64 cores), driver 580.159, CUDA 13.0, …"""
    date = f" {result.date[:10]}" if result.date else ""
    measured = f"Measured{date} on {place(result.machine, result.versions)}."
    return " ".join(part for part in (measured, _run(result), _set_up(result), _late(result)) if part)


def place(machine: MeasuredOn, versions: Mapping[str, str]) -> str:
    """The machine and its software, for example: hgx-h200-4 (4 × NVIDIA H200, 64 cores), driver 580.159, …"""
    devices = [f"{count} × {model}" for model, count in Counter(machine.devices).items()]
    if machine.host_cpu:
        devices.append(machine.host_cpu)
    if machine.cores:
        devices.append(f"{machine.cores} cores")
    software = [f"driver {machine.driver}"] if machine.driver else []
    software += [f"CUDA {machine.cuda}"] if machine.cuda else []
    software += [f"{name} {version}" for name, version in versions.items() if version]
    hardware = f" ({', '.join(devices)})" if devices else ""
    return ", ".join([f"{machine.name}{hardware}", *software])


def _run(result: Result) -> str:
    """Of a profile, how long the program ran; else empty."""
    seconds, share = result.settings.get("run_seconds"), result.settings.get("in_calls")
    if not isinstance(seconds, float) or not isinstance(share, float):
        return ""
    return f"It ran for {three_digits(seconds)} s, {percent(share)} of it in calls."


def _set_up(result: Result) -> str:
    """What `--setup` measured; empty without it."""
    took, ranks = result.settings.get("setup_ms"), result.settings.get("ranks")
    if isinstance(took, bool) or not isinstance(took, int | float) or not isinstance(ranks, int):
        return ""
    return f"A communicator of {ranks} ranks was set up in {took:.3g} ms, beside what CUDA itself takes."


def _late(result: Result) -> str:
    """What `--skew` did; empty without it."""
    skew = result.settings.get("skew_us")
    if isinstance(skew, bool) or not isinstance(skew, int | float) or skew <= 0:
        return ""
    return f"The last rank started each run {skew:g} µs later, which is not counted."


def repetitions(result: Result) -> str:
    """How often: "Medians of 20 to 500 repetitions, ± half the interquartile range."."""
    counts = [row.repetitions for row in result.rows if row.repetitions]
    if not counts:
        return "Medians, ± half the interquartile range."
    span = str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    return f"Medians of {span} repetitions, ± half the interquartile range."
