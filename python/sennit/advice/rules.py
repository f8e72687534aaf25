"""What is worth a change, each with its evidence. A rule is a function of a profile, and of what is known of its
machine, to the advice that it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from sennit import units
from sennit.advice.advice import LEAST, NOTHING_KNOWN, Advice, Known
from sennit.advice.placement import apart
from sennit.advice.staging import staged
from sennit.baselines.layout import GATHERS, SCATTERS, bus_factor
from sennit.compare.ratio import Ratio
from sennit.model.machine import Machine
from sennit.model.plans import CollectiveTable
from sennit.model.profile import Profile, Rank, Row, Skew
from sennit.model.profile_links import gpu_classes
from sennit.model.profile_sums import OPERATIONS, Sum, bins, on_gpu_clock, plain, sums

# These decide what is called small, or uneven; defaults, of no measurement.
FEW_BYTES = 64  # of a flag, a counter or Horovod's bits
SMALL_BUCKET = 4 << 20  # where a link is not yet busy with one call
UNEVEN = 0.25  # of the time in calls of all ranks, spent waiting for the last one
MOSTLY = 2 / 3  # of all calls
WELL_USED = 0.7  # of what the links allow
OFTEN = 10  # calls a process: fewer are mostly the first ones, which wait for connections

SUMS = ("MPI_Allreduce", "MPI_Iallreduce")
MESSAGES = tuple(f"MPI_{name}" for name in ["Send", "Isend", "Ssend", "Recv", "Irecv", "Wait", "Start"])

Rule = Callable[[Profile, Known], Iterator[Advice]]


def advise(profile: Profile, known: Known = NOTHING_KNOWN) -> list[Advice]:
    """All that is worth LEAST of the run's time, what could give most first."""
    found = [advice for rule in RULES for advice in rule(profile, known) if advice.share >= LEAST]
    return sorted(found, key=lambda advice: -advice.share)


def small_sums(profile: Profile, _known: Known) -> Iterator[Advice]:
    """Small allreduces in host memory, without the time that they wait for the last rank: that is late_ranks()'s."""
    all_sums = [row for row in profile.counted if plain(row.function) in SUMS and row.to_bytes is not None]
    small = [row for row in all_sums if not row.on_gpu and (row.to_bytes or 0) <= FEW_BYTES]
    total, calls = _sum(profile, small), sum(row.calls for row in all_sums)
    if total.calls == 0 or total.calls < MOSTLY * calls:
        return
    waited = _waited([skew for skew in profile.skew if plain(skew.function) in SUMS])
    seconds = total.seconds * (1 - waited)
    largest = units.size(max(row.to_bytes or 0 for row in small))
    operators = ", ".join(dict.fromkeys(row.reduction for row in small if row.reduction))
    fused = any((row.to_bytes or 0) > SMALL_BUCKET for row in profile.counted if plain(row.function) in OPERATIONS)
    yield Advice(
        profile.share(seconds),
        f"Allreduces of at most {largest} in host memory take {_part(profile, seconds)} of run time.",
        f"{_each(profile, total)}{f' ({operators})' if operators else ''}, {_mean_us(profile, total.calls, seconds)} "
        f"a call without waiting for the last rank; {units.percent(total.calls / calls)} of all allreduces.",
        "Horovod agrees so on what to reduce next: a longer HOROVOD_CYCLE_TIME asks less often, a larger "
        "HOROVOD_FUSION_THRESHOLD reduces more at once. Measure it: elsewhere 30 times fewer of these calls "
        "gained nothing."
        if fused
        else "Reduce several values in one call, or begin the call earlier (MPI_Iallreduce).",
    )


def small_buckets(profile: Profile, _known: Known) -> Iterator[Advice]:
    """Calls on GPUs whose bytes would take less time in larger calls, as the larger ones of the same run show."""
    rows = [row for row in profile.counted if row.on_gpu and plain(row.function) in OPERATIONS and _is_timed(row)]
    for function, found in sums(profile, rows, lambda row: plain(row.function)).items():
        by_size = {upper: _sum(profile, each) for upper, each in bins(found.rows).items()}
        by_size = {upper: one for upper, one in by_size.items() if _is_often(profile, one)}
        rates = {upper: one.bytes / one.seconds for upper, one in by_size.items() if one.seconds > 0 and upper > 0}
        if not rates:
            continue
        best = max(rates, key=lambda upper: rates[upper])
        small = {upper: one for upper, one in by_size.items() if 4 * upper <= best and upper <= SMALL_BUCKET}
        if not small:
            continue
        total = _sum(profile, [row for one in small.values() for row in one.rows])
        saved = total.seconds - total.bytes / rates[best]
        processes = max(1, len(profile.ranks))
        yield Advice(
            profile.share(saved),
            f"{function} of at most {units.size(max(small))} takes {_part(profile, total.seconds)} of run time for "
            f"{units.percent(total.bytes / max(1, found.bytes))} of its bytes: these buckets are too small.",
            f"{_each(profile, total)} at {units.rate(total.bytes / processes / total.seconds / 1e9)}; those of up to "
            f"{units.size(best)} reach {units.rate(rates[best] / processes / 1e9)}.",
            "Larger buckets: bucket_cap_mb of PyTorch’s DistributedDataParallel, HOROVOD_FUSION_THRESHOLD of "
            "Horovod, larger units of FSDP.",
        )


def empty_polls(profile: Profile, _known: Known) -> Iterator[Advice]:
    """Calls that look for a message, or for a request's end, and found nothing."""
    if not profile.polls:
        return
    seconds = sum(each.rank_missed_seconds.mean for each in profile.polls)
    named = "; ".join(f"{each.misses} of {each.calls} calls of {plain(each.function)}" for each in profile.polls[:3])
    yield Advice(
        profile.share(seconds),
        f"Looking for messages that are not there takes {_part(profile, seconds)} of run time.",
        f"Found nothing: {named}.",
        "Look less often, or wait for the message (MPI_Probe, MPI_Wait) where there is nothing else to do.",
    )


def late_ranks(profile: Profile, _known: Known) -> Iterator[Advice]:
    """Waiting for the last rank, where that is much of a call's time."""
    uneven = [skew for skew in profile.skew if skew.calls and skew.wait_seconds > UNEVEN * skew.inside_seconds > 0]
    by_rank: dict[int | None, list[Skew]] = {}
    for skew in uneven:
        by_rank.setdefault(skew.latest_rank if _is_one(profile, skew) else None, []).append(skew)
    hosts = {rank.rank: rank.host for rank in profile.ranks}
    for late, skews in by_rank.items():
        share = profile.share(sum(skew.wait_seconds for skew in skews) / max(1, len(profile.ranks)))
        skews.sort(key=lambda skew: -skew.wait_seconds)
        part = units.percent(share)
        if late is not None:
            calls = "; ".join(
                f"in {skew.latest_calls} of {skew.calls} of {plain(skew.function)}" for skew in skews[:3]
            )
            yield Advice(
                share,
                f"Ranks wait for rank {late} for {part} of run time: it computes longer, the network is not slow.",
                f"It came last {calls}{_less_inside(profile, late)}.",
                f"Look at what rank {late} does before these calls: its part of the work, its GPU, what else runs on "
                f"{hosts.get(late, 'its host')}.",
            )
        else:
            calls = "; ".join(
                f"{units.percent(skew.wait_seconds / skew.inside_seconds)} of the time in {skew.calls} calls of "
                f"{plain(skew.function)}" for skew in skews[:3]
            )  # fmt: skip
            yield Advice(
                share,
                f"Ranks wait for the last one for {part} of run time: they compute for different times, the network "
                "is not slow.",
                f"Waiting is {calls}; it is not one rank alone that is late.",
                "Divide the work more evenly, or begin these calls earlier (MPI_Iallreduce and the like).",
            )


def _is_one(profile: Profile, skew: Skew) -> bool:
    """Whether one rank is waited for: it is last mostly, or is itself in calls for so much less time than the others
    as they wait."""
    if skew.latest_rank is None or skew.latest_calls >= MOSTLY * skew.calls:
        return skew.latest_rank is not None
    inside = {rank.rank: rank.inside_seconds for rank in profile.ranks}
    own = inside.pop(skew.latest_rank, 0.0)
    if not inside or own >= min(inside.values()):
        return False
    return sum(inside.values()) / len(inside) - own >= UNEVEN * skew.wait_seconds / len(inside)


def _less_inside(profile: Profile, late: int) -> str:
    """How much less time than the others a rank is in calls, where it is less."""
    inside = {rank.rank: rank.inside_seconds for rank in profile.ranks if rank.seconds > 0}
    own = inside.pop(late, 0.0)
    if not inside or own >= min(inside.values()):
        return ""
    others = sum(inside.values()) / len(inside)
    return f"; it is in calls for {units.three_digits(own)} s, the others for {units.three_digits(others)} s"


def more_ranks_than_cores(profile: Profile, _known: Known) -> Iterator[Advice]:
    """Processes that take turns on the cores of a host: one that waits in MPI keeps looking, which takes a core."""
    hosts: dict[str, list[Rank]] = {}
    for rank in profile.ranks:
        hosts.setdefault(rank.host, []).append(rank)
    crowded = {host: ranks for host, ranks in hosts.items() if 0 < max(rank.cores for rank in ranks) < len(ranks)}
    if not crowded:
        return
    worst = max(crowded, key=lambda host: len(crowded[host]) / max(rank.cores for rank in crowded[host]))
    ranks, cores = len(crowded[worst]), max(rank.cores for rank in crowded[worst])
    seconds = _sum(profile, [row for row in profile.counted if row.function.startswith("MPI_")]).seconds
    yield Advice(
        min(1.0, profile.share(seconds)) * (1 - cores / ranks),
        f"{ranks} processes share {cores} {'core' if cores == 1 else 'cores'} of {worst}: they take turns, and wait "
        "for each other in MPI’s calls.",
        f"Calls of MPI take {_part(profile, seconds)} of run time; one that waits keeps its core from those that it "
        "waits for.",
        "Start at most as many processes as the host has cores.",
    )


def not_accelerated(profile: Profile, _known: Known) -> Iterator[Advice]:
    """Calls of MPI with GPU buffers that the MPI did by itself."""
    rows = [row for row in profile.counted if row.on_gpu and row.function.startswith("MPI_")]
    if profile.accelerated or not rows:
        return
    total = _sum(profile, rows)
    first = max(rows, key=lambda row: row.rank_seconds.mean)
    yield Advice(
        profile.share(total.seconds),
        f"MPI calls with GPU buffers take {_part(profile, total.seconds)} of run time, and sennit had no part in it.",
        f"{_each(profile, total)}, most of their time in {plain(first.function)}.",
        "sennit profile --accelerate -- … the same command; then sennit compare of both folders.",
    )


def never_tuned(profile: Profile, known: Known) -> Iterator[Advice]:
    """Collectives on GPUs, where nothing was measured that sennit could choose by."""
    rows = [row for row in profile.counted if row.on_gpu and plain(row.function) in OPERATIONS and _is_timed(row)]
    if not known.never_tuned or not rows:
        return
    total = _sum(profile, rows)
    yield Advice(
        profile.share(total.seconds),
        f"Collectives on GPUs take {_part(profile, total.seconds)} of run time, and this machine was never tuned.",
        f"{_each(profile, total)} in GPU memory. Calls of NCCL are taken only where sennit measured faster.",
        "sennit tune (minutes, once), then sennit run -- … the same command.",
    )


def below_the_links(profile: Profile, known: Known) -> Iterator[Advice]:
    """Calls timed on GPUs, beside what the links of the machine allow, and what was measured to be faster there."""
    gbps = port_gbps(known.machine) if known.machine else 0
    rows = [
        row for row in profile.counted if on_gpu_clock(row) and plain(row.function) in OPERATIONS and row.to_bytes
    ]
    if gbps <= 0 or len({rank.host for rank in profile.ranks}) > 1:
        return
    cases = sums(profile, rows, lambda row: f"{plain(row.function)} {row.communicator_size} {row.to_bytes}")
    for total in cases.values():
        row, ranks = total.rows[0], total.rows[0].communicator_size
        if ranks < 2 or total.seconds <= 0 or row.to_bytes is None or not _is_often(profile, total):
            continue
        operation = OPERATIONS[plain(row.function)]
        # A call's size is one rank's message; the larger buffer, which bus_factor() expects, has one of each rank.
        larger = ranks if operation in GATHERS + SCATTERS else 1
        rate = total.bytes / max(1, len(profile.ranks)) / total.seconds / 1e9
        busbw = rate * larger * bus_factor(operation, ranks)
        of_links = gpu_classes(total.rows)[0].of_links
        part = busbw / gbps if of_links is None else of_links
        gain, better = 1 - min(1.0, part / WELL_USED), ""
        if found := faster(known.tuned, operation, ranks, larger * total.bytes // max(1, total.calls)):
            plan, ratio = found
            gain, better = 1 - 1 / ratio.value, f" Measured here: {plan}, {ratio} × as fast as NCCL."
        small = row.to_bytes <= SMALL_BUCKET
        if small and not better and any(_is_larger(other, row) for other in rows):
            continue  # small_buckets() says so
        remedy = (
            "sennit run -- … the same command takes these calls." if better
            else "Larger buckets use the links better." if small
            else "sennit tune finds whether there is a faster way; sennit doctor, whether the GPUs reach each other."
        )  # fmt: skip
        yield Advice(
            profile.share(total.seconds) * gain,
            f"{plain(row.function)} of {units.size(row.to_bytes // 2)} to {units.size(row.to_bytes)} in GPU memory "
            f"takes {_part(profile, total.seconds)} of run time, at {units.percent(part)} of what the links allow.",
            f"{_each(profile, total)}, {_mean_us(profile, total.calls, total.seconds)} each on the GPU: bus "
            f"bandwidth {units.rate(busbw)} of {units.rate(gbps)}.{better}",
            remedy,
        )


def far_apart(profile: Profile, known: Known) -> Iterator[Advice]:
    """Ranks that talk most and sit on different hosts, where the mapper's order would keep their bytes on a host."""
    found = apart(profile, known.order) if known.order is not None else None
    if found is None:
        return
    rows = [row for row in profile.counted if row.function.startswith(MESSAGES)]
    seconds = _sum(profile, rows).seconds * (found.before - found.after) / found.before
    one, other = found.pair
    yield Advice(
        profile.share(seconds),
        f"Ranks {one} and {other} talk most and sit on different hosts: {units.percent(found.before)} of all bytes "
        "go between hosts.",
        f"Ranks in another order would send {units.percent(found.after)} of them there.",
        f"Place ranks so: {found.said()} (a rankfile of mpirun: sennit map --emit rankfile writes one).",
    )


RULES: Sequence[Rule] = (
    more_ranks_than_cores, small_sums, small_buckets, empty_polls, late_ranks, not_accelerated, staged, never_tuned,
    below_the_links, far_apart,
)  # fmt: skip


# ---- figures of several rules -------------------------------------------------------------------------------------


def port_gbps(machine: Machine) -> float:
    """What the GPU with the slowest ports gives and gets at once, in GB/s; 0 where nothing is known. As measured for
    the device, else all its NVLinks together, else its fastest link."""
    ports = []
    for device in machine.devices:
        if device.kind != "gpu":
            continue
        links = [link for link in machine.links if device.id in (link.from_, link.to)]
        rates = [(link.kind, min(link.forward_gbps.value, link.backward_gbps.value)) for link in links]
        nvlinks = sum(rate for kind, rate in rates if kind == "nvlink")
        ends = [figure.value for figure in (device.read_gbps, device.write_gbps) if figure]
        ports.append(min(ends) if ends else nvlinks or max((rate for _, rate in rates), default=0))
    return min(ports, default=0)


def faster(table: CollectiveTable | None, operation: str, ranks: int, size: int) -> tuple[str, Ratio] | None:
    """The plan that the drop-in takes from NCCL for calls of about this size, and how many times as fast it was."""
    cases = [case for case in (table.entries if table else ()) if case.operation == operation and not case.windows]
    near = [case for case in cases if len(case.layout) == ranks and size / 2 <= case.bytes <= 2 * size]
    for case in sorted(near, key=lambda case: abs(case.bytes - size)):
        ratio = case.narrow_over_nccl
        if case.is_sennits and case.narrow and ratio and ratio.verdict == "faster":
            return case.narrow.name, ratio
    return None


def _is_timed(row: Row) -> bool:
    """Whether its time says how long the call took: not that of NCCL's calls, which only enqueue work."""
    return on_gpu_clock(row) or not row.function.startswith("nccl")


def _is_often(profile: Profile, total: Sum) -> bool:
    return total.calls >= OFTEN * max(1, len(profile.ranks))


def _is_larger(other: Row, row: Row) -> bool:
    """Whether a call of the same function is so much larger that the two are compared."""
    return plain(other.function) == plain(row.function) and (other.to_bytes or 0) >= 4 * (row.to_bytes or 0)


def _sum(profile: Profile, rows: Iterable[Row]) -> Sum:
    return Sum.of(rows, len(profile.ranks))


def _waited(skews: Iterable[Skew]) -> float:
    """The part of the time in calls that was waiting for the last rank."""
    found = list(skews)
    inside = sum(skew.inside_seconds for skew in found)
    return min(1.0, sum(skew.wait_seconds for skew in found) / inside) if inside > 0 else 0.0


def _part(profile: Profile, seconds: float) -> str:
    return units.percent(profile.share(seconds))


def _each(profile: Profile, total: Sum) -> str:
    """For example: 4000 calls a process."""
    calls = round(total.calls / max(1, len(profile.ranks)))
    return f"{calls} call{'' if calls == 1 else 's'} a process"


def _mean_us(profile: Profile, calls: int, seconds: float) -> str:
    return units.time(seconds * max(1, len(profile.ranks)) / max(1, calls) * 1e6)
