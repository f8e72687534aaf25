"""A profile for people: where the time went in one sentence, then by function, size and partner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from sennit import units
from sennit.advice.advice import Advice
from sennit.model.profile import Profile, Row
from sennit.model.profile_links import gpu_classes
from sennit.model.profile_sums import on_gpu_clock, plain, spent, sums
from sennit.views.queues_text import by_poll, by_queue, by_variable, queues_said, variables_said
from sennit.views.registered_text import by_registration, registered_said
from sennit.views.text_table import Table, print_part

NO_PHASE = "outside of phases"
LITTLE = 0.02  # of run time, below which nothing is worth a change
MOST_LINES, FEW = 12, 4  # functions; FEW at a program's end
BY_EVENTS = "From an event before the call on its stream to one behind it"
BY_KERNELS = "While kernels or copies of the call ran, as CUPTI says"
UNEVEN = 0.25  # of the time in calls of all ranks


def print_summary(profile: Profile, advice: Sequence[Advice], console: Console) -> None:
    """Prints what is to be known at a program's end: what took the time, and what could give most."""
    console.print(Text(headline(profile), style="bold"))
    console.print(Text(run(profile)))
    if profile.counted:
        print_part("By function", [by_function(profile, FEW)], [], console)
    for first in advice[:1]:
        console.print()
        console.print(Text(f"{first.what} {first.remedy}"))
    for said in warnings(profile):
        console.print()
        console.print(Text(said))


def print_profile(profile: Profile, console: Console) -> None:
    """Prints the sentence and the tables."""
    console.print(Text(headline(profile), style="bold"))
    console.print(Text(run(profile)))
    if profile.counted:
        print_part("By function", [by_function(profile)], [], console)
    sizes = by_size(profile)
    if sizes.lines:
        print_part("By size and memory", [sizes], [], console)
    if any(row.device_calls for row in profile.rows):
        print_part("On GPUs", [by_gpu_time(profile)], gpu_times_said(profile), console)
    requests = by_request(profile)
    if requests.lines:
        print_part("Nonblocking calls", [requests], [], console)
    if profile.polls:
        print_part("Polls", [by_poll(profile)], [], console)
    if profile.queues and profile.queues.ranks:
        print_part("Queues", [by_queue(profile)], queues_said(profile), console)
    if profile.variables:
        print_part("Variables of the MPI", [by_variable(profile)], variables_said(profile), console)
    if profile.registered:
        print_part("Memory registered", [by_registration(profile)], registered_said(profile), console)
    phases = by_phase(profile)
    if phases.lines:
        print_part("By phase", [phases], [], console)
    if profile.partners:
        print_part("Partners", [by_partner(profile)], partners_said(profile), console)
    for said in (*skew_said(profile), *warnings(profile)):
        console.print()
        console.print(Text(said))


def headline(profile: Profile) -> str:
    """Says where the time went, in one sentence."""
    if not profile.counted:
        return "The program called neither MPI nor NCCL between its start and its end."
    inside = sum(row.rank_seconds.mean for row in profile.counted)
    share = profile.share(inside)
    if untimed(profile):
        return _by_bytes(profile)
    on_gpus = sorted((row for row in profile.counted if row.gpu_seconds), key=lambda row: -row.gpu_seconds)
    if on_gpus:
        whole, largest = (
            profile.share(sum(row.gpu_seconds for row in rows) / max(1, len(profile.ranks)))
            for rows in (on_gpus, on_gpus[:1])
        )
        return (
            f"NCCL was at work on the GPUs for {units.percent(whole)} of run time, {units.percent(largest)} in "
            f"{described(on_gpus[0])}; calls of MPI and NCCL took {units.percent(share)} on the host."
        )
    if only_enqueued(profile):
        return (
            f"Calls of MPI and NCCL took {units.percent(share)} of run time on the host; what NCCL did on the GPUs "
            "meanwhile is not in it."
        )
    if share < LITTLE:
        return f"Communication took {units.percent(share)} of run time: there is little to gain."
    first = max(profile.counted, key=lambda row: row.rank_seconds.mean)
    part = units.percent(profile.share(first.rank_seconds.mean))
    waited = profile.share(sum(skew.wait_seconds for skew in profile.skew) / max(1, len(profile.ranks)))
    late = f"; {units.percent(waited)} was waiting for the last rank" if waited >= LITTLE else ""
    threads = " (several threads at once)" if share > 1 else ""
    return (
        f"{units.percent(share)} of run time{threads} went into communication, {part} into {described(first)}{late}."
    )


def untimed(profile: Profile) -> bool:
    """Whether nothing is known of any call's time, as of dumps of Flight Recorder without it."""
    return not any(row.seconds or row.device_seconds for row in profile.counted)


def _by_bytes(profile: Profile) -> str:
    first = max(profile.counted, key=lambda row: max(row.bytes_in, row.bytes_out))
    total = sum(max(row.bytes_in, row.bytes_out) for row in profile.counted)
    part = units.percent(max(first.bytes_in, first.bytes_out) / total) if total else units.NOTHING
    return (
        f"No call was timed, so where the time went is not known; {part} of the bytes are in {described(first)}. "
        "Flight Recorder takes times with TORCH_NCCL_ENABLE_TIMING=1, and sennit profile always."
    )


def only_enqueued(profile: Profile) -> bool:
    """Whether calls of NCCL moved bytes in a time that is known of the host alone."""
    return any(row.function.startswith("nccl") and row.memory and not row.device_calls for row in profile.counted)


def described(row: Row) -> str:
    """Such as: MPI_Allreduce of 4 to 8 MiB in GPU memory."""
    said = plain(row.function)
    if row.memory and row.to_bytes:
        said += f" of {span(row)}"
    if row.memory:
        said += f" in {memory(row)} memory"
    return said


def memory(row: Row) -> str:
    """In words."""
    return row.memory.replace("gpu", "GPU")


def span(row: Row) -> str:
    """The sizes of a row's bin."""
    if row.from_bytes is None or row.to_bytes is None:
        return "all sizes"
    if row.to_bytes <= 1:
        return units.size(row.to_bytes)
    return f"{units.size(row.to_bytes // 2)} to {units.size(row.to_bytes)}"


def run(profile: Profile) -> str:
    """Says what was profiled."""
    ranks = len(profile.ranks)
    hosts = len({rank.host for rank in profile.ranks})
    libraries = " and ".join(each for each in (profile.mpi, profile.nccl) if each)
    calls = sum(row.calls for row in profile.rows)
    paused = sum(rank.paused_seconds for rank in profile.ranks) / max(1, ranks)
    return (
        f"{ranks} {'process' if ranks == 1 else 'processes'} on {hosts} {'host' if hosts == 1 else 'hosts'}"
        f"{f', {libraries}' if libraries else ''}{', accelerated' if profile.accelerated else ''}; "
        f"{units.three_digits(profile.seconds)} s"
        f"{f' beside {units.three_digits(paused)} s paused' if paused else ''}, {calls} calls."
    )


def by_function(profile: Profile, most: int = MOST_LINES) -> Table:
    """Lists what took longest first: on the GPU, where calls were timed there, as NCCL's only enqueue work."""
    totals = sums(profile, profile.counted, lambda row: plain(row.function))
    processes = max(1, len(profile.ranks))
    timed = any(map(on_gpu_clock, profile.counted))
    lines = []
    for name, total in list(totals.items())[:most]:
        clock = ["GPU" if any(map(on_gpu_clock, total.rows)) else "host"] if timed else []
        is_known = total.seconds > 0 and total.calls > 0
        lines.append((
            name,
            share(profile, total.seconds),
            f"{total.seconds:.3f}" if is_known else units.NOTHING,
            *clock,
            str(round(total.calls / processes)),
            units.three_digits(total.seconds * processes / total.calls * 1e6) if is_known else units.NOTHING,
            units.size(total.bytes // max(1, total.calls)) if total.bytes else units.NOTHING,
        ))  # fmt: skip
    clocks = ["timed on"] if timed else []
    headings = ("function", "of run time", "s a process", *clocks, "calls a process", "µs a call", "mean size")
    return Table(headings, lines, left=("function", "timed on"))


def share(profile: Profile, seconds: float) -> str:
    """Of run time; where other tools recorded no time, nothing."""
    return units.percent(profile.share(seconds)) if seconds > 0 else units.NOTHING


def by_size(profile: Profile) -> Table:
    """The bins of Temuçin 2021, section 3.3.4: calls that have a size, CPU and GPU buffers apart."""
    rows = [row for row in profile.counted if row.memory and row.to_bytes is not None]
    bins: dict[int, list[Row]] = {}
    for row in rows:
        bins.setdefault(row.to_bytes or 0, []).append(row)
    lines, processes = [], len(profile.ranks)
    for upper in sorted(bins):
        of_gpu = [row for row in bins[upper] if row.on_gpu]
        of_host = [row for row in bins[upper] if not row.on_gpu]
        lines.append((
            span(bins[upper][0]),
            *(str(sum(row.calls for row in each)) if each else units.NOTHING for each in (of_host, of_gpu)),
            *(share(profile, sum(spent(row, processes) for row in each)) for each in (of_host, of_gpu)),
        ))  # fmt: skip
    return Table(
        ("size", "calls, CPU buffers", "calls, GPU buffers", "of run time, CPU", "of run time, GPU"),
        lines,
        left=("size",),
    )


def gpu_times_said(profile: Profile) -> list[str]:
    """From where times on GPUs are, and how much communication the program's own kernels overlapped."""
    source = BY_KERNELS if profile.gpu_times == "kernel" else BY_EVENTS
    said = [f"{source}: waiting for other ranks is in it. GB/s: the call's size by that time."]
    said += of_links_said(profile)
    collected = [rank.kernels for rank in profile.ranks if rank.kernels and rank.kernels.refused is None]
    communication = sum(each.communication_seconds for each in collected)
    if communication > 0:
        part = sum(each.overlapped_seconds for each in collected) / communication
        said.append(
            f"In {units.percent(part)} of the time of communication on GPUs, the program's own kernels ran, too."
        )
    for reason in sorted({rank.kernels.refused for rank in profile.ranks if rank.kernels and rank.kernels.refused}):
        said.append(f"Kernels were not collected: {reason}.")
    return said


def by_gpu_time(profile: Profile) -> Table:
    """Calls that were timed on GPUs, by size; what took longest first."""
    processes = max(1, len(profile.ranks))
    lines = [
        (
            plain(each.first.function),
            span(each.first) if each.first.memory else units.NOTHING,
            str(each.first.communicator_size),
            str(each.calls),
            units.three_digits(each.us),
            units.three_digits(each.gbps) if each.gbps is not None else units.NOTHING,
            units.percent(each.of_links) if each.of_links is not None else each.no_links,
            units.percent(profile.share(each.gpu_seconds / processes)),
        )
        for each in gpu_classes(profile.rows)[:MOST_LINES]
    ]
    headings = ("function", "size", "ranks", "calls", "µs a call", "GB/s", "of links", "of run time")
    return Table(headings, lines, left=("function", "size"))


def of_links_said(profile: Profile) -> list[str]:
    """What "of links" is of, or how it would be known."""
    if links := profile.links:
        figures = "as measured" if links.measured else "by specifications, not measured: sennit topo --measure"
        return [f"Of links: the least time that the links of {links.machine} allow such a call ({figures}), over the "
                "time that it took. Ranks are taken to have the first GPUs."]  # fmt: skip
    return ["Of links: needs the machine's document. sennit topo --json > FOLDER/machine.json, on that machine, puts "
            "it into the profile's folder."]  # fmt: skip


def by_flight(profile: Profile) -> dict[str, list[Row]]:
    """Functions whose requests have ended; those that were waited for longest first."""
    groups: dict[str, list[Row]] = {}
    for row in profile.rows:
        if row.requests:
            groups.setdefault(plain(row.function), []).append(row)
    return dict(sorted(groups.items(), key=lambda item: -sum(row.waited_seconds for row in item[1])))


def flight_overlapped(rows: Iterable[Row]) -> float:
    """The part of the time in which these calls' requests were under way that the program did something else."""
    found = list(rows)
    flight = sum(row.flight_seconds for row in found)
    return 1 - sum(row.waited_seconds for row in found) / flight if flight else 0.0


def by_request(profile: Profile) -> Table:
    """How much of the time in which requests were under way the program did something else."""
    lines = []
    for name, rows in by_flight(profile).items():
        requests = sum(row.requests for row in rows)
        flight, waited = (sum(getattr(row, f"{part}_seconds") for row in rows) for part in ("flight", "waited"))
        lines.append((
            name,
            str(requests),
            units.three_digits(flight / requests * 1e6),
            units.three_digits(waited / requests * 1e6),
            units.percent(flight_overlapped(rows)),
        ))  # fmt: skip
    return Table(
        ("function", "requests", "µs in flight", "µs waited for", "overlapped"),
        lines[:MOST_LINES],
        left=("function",),
    )


def by_phase(profile: Profile) -> Table:
    """Of programs that name phases."""
    if not any(row.phase for row in profile.counted):
        return Table((), [])
    totals = profile.totals(lambda row: row.phase or NO_PHASE)
    lines = [
        (name, units.percent(profile.share(total.seconds)), f"{total.seconds:.3f}", str(total.calls))
        for name, total in list(totals.items())[:MOST_LINES]
    ]
    return Table(("phase", "of run time", "s a process", "calls"), lines, left=("phase",))


def by_partner(profile: Profile, most: int = MOST_LINES) -> Table:
    """The pairs with most bytes."""
    pairs = sorted(profile.partners, key=lambda pair: (-pair.bytes, -pair.messages, pair.sender, pair.receiver))
    lines = [
        (f"{pair.sender} → {pair.receiver}", str(pair.messages), units.size(pair.bytes)) for pair in pairs[:most]
    ]
    return Table(("ranks", "messages", "bytes"), lines, left=("ranks",))


def partners_said(profile: Profile) -> list[str]:
    """With how many others ranks talk (Temuçin 2021, section 3.3.5)."""
    partners: dict[int, set[int]] = {}
    for pair in profile.partners:
        partners.setdefault(pair.sender, set()).add(pair.receiver)
    numbers = sorted(len(each) for each in partners.values())
    if not numbers:
        return []
    span = str(numbers[0]) if numbers[0] == numbers[-1] else f"{numbers[0]} to {numbers[-1]}"
    return [f"Each rank sends to {span} {'other' if span == '1' else 'others'}."]


def skew_said(profile: Profile) -> list[str]:
    """Says how long ranks waited for the last one, where it is worth a word."""
    said = []
    for skew in profile.skew:
        waited = skew.wait_seconds / max(1, len(profile.ranks))
        if skew.inside_seconds == 0 or skew.wait_seconds < UNEVEN * skew.inside_seconds:
            continue
        if profile.share(waited) < LITTLE:
            continue
        late = f" Rank {skew.latest_rank} was waited for most often ({skew.latest_calls} times)."
        said.append(
            f"{units.percent(skew.wait_seconds / skew.inside_seconds)} of the time in {plain(skew.function)} is "
            f"waiting for the last rank ({skew.calls} calls, {skew.communicator_size} ranks): it computes longer, "
            f"the network is not slow.{'' if skew.latest_rank is None else late}"
        )
    return said


def warnings(profile: Profile) -> list[str]:
    """Says what is missing of the profile."""
    said = []
    if profile.missing:
        said.append(f"Ranks {', '.join(map(str, profile.missing))} wrote no file: their calls are missing here.")
    said += [f"{each.file} is left out: {each.why}." for each in profile.unreadable]
    killed = [str(rank.rank) for rank in profile.ranks if rank.ended == "killed"]
    if killed:
        said.append(f"Ranks {', '.join(killed)} were killed, or have not ended: their calls until then are here.")
    lost = sum(rank.calls_lost for rank in profile.ranks)
    if lost:
        said.append(
            f"Of {lost} calls only the sums were kept, since the files were full; the numbers above are exact."
        )
    return said
