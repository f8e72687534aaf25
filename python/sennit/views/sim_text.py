"""What a collective would take: plans as a table, and what holds the fastest up, in words."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from sennit import units
from sennit.model.sim import Check, Messages, Replay, Replayed, SentAlgorithm, SimulatedPlan, SimulatedPut, Simulation
from sennit.units import NOTHING
from sennit.views.text_table import Table, print_table

SHOWN = 5  # of delays and of loads
APART = 1.05  # times a call's time: what blocks gain by drifting apart is told from there on
CHANGED = ["before", "× before"]  # columns of what --what-if changes


def print_simulation(found: Simulation, console: Console) -> None:
    """Prints the whole document, of each algorithm the fastest plan."""
    console.print(Text(title(found), style="bold"))
    fastest = found.plans[0]
    headings = ["plan", "one call", "back to back", *(CHANGED if found.before else []), "× fastest"]
    lines = [
        [
            each.plan,
            units.time(each.once_us),
            units.time(each.us),
            *(changed(each.before_us, each.us) if found.before else []),
            times(each, fastest),
        ]
        for each in of_each_algorithm(found.plans)
    ]
    print_table(Table(headings, lines), console)
    console.print()
    for sentence in sentences(found):
        console.print(Text(sentence))


def changed(before_us: float | None, us: float) -> list[str]:
    """What it took without the what-if, and how many times as fast it is with it."""
    if before_us is None:
        return [NOTHING, NOTHING]
    return [units.time(before_us), f"{before_us / us:.2f}" if us > 0 else NOTHING]


def times(plan: SimulatedPlan, fastest: SimulatedPlan) -> str:
    """How many times as long as the fastest plan: "1.30"."""
    return f"{plan.us / fastest.us:.2f}" if fastest.us > 0 else NOTHING


def title(found: Simulation) -> str:
    """For example: allreduce 64 MiB, 4 ranks on mist, if nvlink.bandwidth=2x."""
    what_if = f", if {' and '.join(found.what_if)}" if found.what_if else ""
    operation = found.operation.replace("_", "-")
    return f"{operation} {units.size(found.bytes)}, {found.ranks} ranks on {found.machine}{what_if} (simulated)"


def of_each_algorithm(plans: list[SimulatedPlan]) -> list[SimulatedPlan]:
    """The first plan of each algorithm: they come with the fastest first."""
    first: dict[str, SimulatedPlan] = {}
    for plan in plans:
        first.setdefault(plan.algorithm, plan)
    return list(first.values())


def sentences(found: Simulation) -> list[str]:
    """What a call by the fastest plan waits for, and how busy links are."""
    fastest = found.plans[0]
    lines = [f"Of a call by {fastest.plan}, {units.time(fastest.once_us)}:"]
    lines += delays_and_loads(fastest.once_us, found)
    if found.in_step_us > fastest.once_us * APART:
        lines.append(
            f"Had its blocks stayed in step, it would be {units.time(found.in_step_us)}: they drift apart, and what "
            "one leaves of a link another one takes."
        )
    if found.before and fastest.us > 0:
        lines.append(
            f"Before, the fastest was {found.before.plan}, {units.time(found.before.us)} back to back: now it is "
            f"{found.before.us / fastest.us:.2f} times as fast."
        )
    if found.bound_us and fastest.us:
        lines.append(
            f"All links together allow {units.time(found.bound_us)}, whatever the algorithm: "
            f"back to back it reaches {units.percent(found.bound_us / fastest.us)} of that."
        )
    if found.epsilon_us > 0:
        lines.append(f"Ends of flows within {found.epsilon_us:g} µs of each other were taken together.")
    return lines


def delays_and_loads(total_us: float, found: Replayed) -> list[str]:
    """The longest waits as parts of the time, and the busiest resources."""
    shown = found.critical[:SHOWN] if total_us else []
    lines = [f"  {units.percent(each.us / total_us):>5} of the time  {each.what}" for each in shown]
    busy = [f"{each.resource} {units.percent(each.busy)}" for each in found.loads[:SHOWN]]
    return lines + ([f"Busy: {', '.join(busy)}."] if busy else [])


def messages_title(found: Messages) -> str:
    """For example: broadcast 2 MiB from 16 roots, 16 ranks on 16 × ri2 (simulated)."""
    what_if = f", if {' and '.join(found.what_if)}" if found.what_if else ""
    nodes = f"{found.nodes} × {found.machine}" if found.nodes > 1 else found.machine
    chunks = f" in {found.chunks} chunks" if found.chunks > 1 else ""
    roots = f" from {found.sources} roots" if found.sources > 1 else ""
    operation = found.operation.replace("_", "-")
    how = "by equations" if found.equations else "simulated"
    where = f"{found.ranks} ranks on {nodes}{what_if}"
    return f"{operation} {units.size(found.bytes)}{chunks}{roots}, {where} ({how})"


def print_messages(found: Messages, console: Console) -> None:
    """Prints the whole document."""
    if found.equations:
        print_equations(found, console)
        return
    console.print(Text(messages_title(found), style="bold"))
    fastest = found.algorithms[0]
    columns = message_columns(found)
    lines = [[cell(each) for _, cell in columns] for each in found.algorithms]
    print_table(Table([heading for heading, _ in columns], lines), console)
    if any(each.folded for each in found.algorithms):
        console.print(Text("~ rounds that are alike were simulated once."))
    if found.skipped:
        several = f"{found.sources} sources" if found.sources > 1 else f"{found.chunks} chunks"
        console.print(Text(f"Left out, of too many messages in {several}: {', '.join(found.skipped)}."))
    if found.unreachable:
        console.print(Text(f"Left out, as no links join some GPUs: {', '.join(found.unreachable)}."))
    console.print()
    console.print(Text(f"Of a call by {fastest.algorithm}, {units.time(fastest.us)}:"))
    for sentence in delays_and_loads(fastest.us, found):
        console.print(Text(sentence))


# Of each scheme the equation of Chu et al. 2018 that src/plan/broadcast_model.h corrects.
EQUATIONS = {
    "linear": NOTHING, "linear_staged": NOTHING, "chain": "1, 2", "chain_staged": "3", "tree": "4, 6, k = 2",
    "knomial": "4, 6", "knomial_staged": "5", "multicast": "7", "multicast_streaming": "8",
}  # fmt: skip


def print_equations(found: Messages, console: Console) -> None:
    """What each scheme of a broadcast should take."""
    console.print(Text(messages_title(found), style="bold"))
    fastest = found.algorithms[0]
    lines = [
        [
            each.algorithm,
            units.time(each.us),
            f"{each.us / fastest.us:.2f}" if fastest.us > 0 else NOTHING,
            str(each.chunks),
            EQUATIONS.get(each.algorithm, NOTHING),
        ]
        for each in found.algorithms
    ]
    print_table(Table(["scheme", "should take", "× fastest", "chunks", "equation"], lines), console)
    if found.unreachable:
        console.print(Text(f"Left out, as no links join some GPUs: {', '.join(found.unreachable)}."))
    nodes = f"--machine {found.machine} --nodes {found.nodes}"
    console.print(Text(f"\nWhat links and other messages do to that: sennit sim broadcast {found.bytes} {nodes}"))


def message_columns(found: Messages) -> list[tuple[str, Callable[[SentAlgorithm], str]]]:
    """The headings, and what stands below each; only those that say something of any algorithm."""
    fastest = found.algorithms[0]
    columns: list[tuple[str, Callable[[SentAlgorithm], str]]] = [
        ("algorithm", lambda each: each.algorithm + (" ~" if each.folded else "")),
        ("one call", lambda each: units.time(each.us)),
    ]
    if found.what_if:
        columns += [(CHANGED[at], lambda each, at=at: changed(each.before_us, each.us)[at]) for at in (0, 1)]  # type: ignore[misc]
    columns.append(("× fastest", lambda each: f"{each.us / fastest.us:.2f}" if fastest.us > 0 else NOTHING))
    if any(each.chunks != found.chunks for each in found.algorithms):
        columns.append(("chunks", lambda each: str(each.chunks)))
    columns.append(("messages", lambda each: f"{each.messages:,}".replace(",", " ")))
    if any(each.overlap is not None for each in found.algorithms):
        columns.append(("overlap", lambda each: NOTHING if each.overlap is None else units.percent(each.overlap)))
    if any(each.closed_form_us for each in found.algorithms):  # of most operations on several nodes there is none
        form = "equation" if found.operation == "broadcast" else "α-β-γ"
        columns.append((form, lambda each: units.time(each.closed_form_us) if each.closed_form_us else NOTHING))
    return columns


def print_put(found: SimulatedPut, console: Console) -> None:
    """Prints the whole document."""
    what_if = f", if {' and '.join(found.what_if)}" if found.what_if else ""
    window = f", window {found.window}" if found.window > 1 else ""
    ways = ", both ways" if found.both_ways else ""
    title = (
        f"put {units.size(found.bytes)} from {found.from_} to {found.to}{window}{ways} on {found.machine}{what_if}"
    )
    console.print(Text(f"{title} (simulated)", style="bold"))
    split = ", ".join(f"{each.route} {units.percent(each.share)}" for each in found.split)
    lines = [
        [split, units.time(found.us), f"{found.gbps(found.us):.1f}", f"{found.single_us / found.us:.2f}"],
        [f"{found.single} alone", units.time(found.single_us), f"{found.gbps(found.single_us):.1f}", "1.00"],
    ]
    print_table(Table(["what", "time", "GB/s", "× single path"], lines), console)
    console.print()
    for sentence in delays_and_loads(found.us, found):
        console.print(Text(sentence))
    if found.before_us is not None:
        before, ratio = changed(found.before_us, found.us)
        console.print(Text(f"Before it took {before}: now it is {ratio} times as fast."))
    if found.limit_gbps and not found.both_ways:
        console.print(Text(f"All links together allow {found.limit_gbps:.1f} GB/s."))


def print_replay(name: str, found: Replay, console: Console) -> None:
    """Prints the whole document."""
    what = f"{name}, {found.ranks} ranks on {found.machine} (simulated): {units.time(found.us)}"
    console.print(Text(what, style="bold"))
    for sentence in delays_and_loads(found.us, found):
        console.print(Text(sentence))


def counted(count: int, what: str) -> str:
    """For example: 1 job, 3 jobs."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def print_check(found: Check, console: Console) -> None:
    """Says what was proved, or everything that is wrong."""
    steps = f"{found.steps / 1e6:.1f} million steps" if found.steps >= 100_000 else counted(found.steps, "step")
    console.print(
        Text(
            f"{counted(found.algorithms, 'algorithm')} of {counted(found.operations, 'operation')} in "
            f"{counted(found.jobs, 'job')} of {steps}: "
            + ("right, in every order in which their parties could run." if not found.findings else "not right.")
        )
    )
    for each in found.findings:
        place = ", in place" if each.in_place else ""
        scratch = f", {units.size(each.scratch_bytes)} of scratch" if each.scratch_bytes else ""
        size = f", {each.bytes} bytes" if each.bytes else ""  # of a schedule from a file nobody knows it
        case = f"{each.operation} by {each.algorithm}, {each.ranks} ranks{size}{scratch}{place}"
        console.print(Text(f"\n{each.fault}: {case}\n  {each.what}"))
