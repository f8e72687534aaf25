"""What docs/use/gains.md shows of results: a few lines of each group; and the four lines of README."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import mpi_goals
from kept_documents import NONE_YET, Kept, kept_results
from mpi_goals import DIRECT_PUT, pairs
from sennit import units
from sennit.compare.groups import WAYS, groups, of_limit
from sennit.compare.verdicts import spoken
from sennit.model.result import BENCH_MPI, BY_HAND, COLLECTIVE, NCCL, TORCH, UCX, Result, Row
from sennit.units import NOTHING
from sennit.views import torch
from sennit.views.markdown import pipes
from sennit.views.origin import origin

HIGHLIGHTED = (1 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30)  # bytes; others stand in docs/tune/bench-put.md
PEERS = ("engine", "nccl", "ucx")


def of_first_machine(results: list[Kept]) -> list[Kept]:
    """The results of bench put of the first machine in results/."""
    folders = [Path(kept.path).parent for kept in results]
    here = [kept for kept, folder in zip(results, folders, strict=True) if folder == folders[0]]
    return [kept for kept in here if Path(kept.path).stem != DIRECT_PUT]


def highlights(results: list[Kept]) -> str:
    """Messages of sennit's own: one table, of the first machine in results/."""
    first = of_first_machine(results)
    headings = ["message", "size", "GB/s", "of links", *(f"× {spoken(peer)}" for peer in PEERS)]
    rows = []
    for kept in first:
        for group in groups(kept.result)[:1]:
            title = group.title
            for size in group.sizes:
                row = group.row(size)
                if size not in HIGHLIGHTED or row is None:
                    continue
                part = of_limit(row)
                ratios = [group.ratio(size, peer) for peer in PEERS]
                cells = [
                    title,
                    units.size(size),
                    units.three_digits(row.gbps),
                    units.percent(part) if part else NOTHING,
                ]
                rows.append(cells + [str(ratio) if ratio else NOTHING for ratio in ratios])
                title = ""  # named once, then left empty
    if not rows:
        return NONE_YET
    lines = [headings, ["---", *(["---:"] * (len(headings) - 1))], *rows]
    longest = max((kept.result for kept in first), key=lambda result: len(result.versions))
    return origin(longest) + "\n\n" + pipes(lines)


# Bytes; others stand in docs/tune/bench-collectives.md.
COLLECTIVE_SIZES = (1 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 1 << 30)


def collective_highlights(root: Path) -> str:
    """Every operation beside NCCL, of the result in results/ that says most."""
    results = [kept.result for kept in kept_results(root, COLLECTIVE)]
    for result in sorted(results, key=lambda one: len(one.rows), reverse=True):
        lines = []
        for group in groups(result):
            cells = []
            for size in COLLECTIVE_SIZES:
                own = group.row(size) if size in group.rows else None
                found = group.ratio(size, NCCL) if own else None
                cells.append(f"{found.value:.2f} × ({units.time(own.median_us)})" if own and found else NOTHING)
            if any(cell != NOTHING for cell in cells):
                lines.append([group.first.operation.replace("_", "-"), *cells])
        if lines:
            head = [f"× NCCL, {result.rows[0].ranks} GPUs", *(units.size(size) for size in COLLECTIVE_SIZES)]
            table = [head, ["---", *(["---:"] * len(COLLECTIVE_SIZES))], *lines]
            return origin(result) + "\n\n" + pipes(table)
    return NONE_YET


# Bytes, and ways of calling; others, and other types, stand in docs/tune/bench-torch.md.
TORCH_SIZES = (1 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20)
TORCH_WAYS = ("graph", "queued")


def torch_lines(root: Path) -> tuple[Result, dict[str, dict[int, tuple[Row, float]]]] | None:
    """PyTorch's allreduce of float32: by the way of calling it and the size sennit's row, and how many times as fast
    it is as NCCL's; of the torch.json in results/ that is of most GPUs. None where there is none."""
    results = [kept.result for kept in kept_results(root, TORCH) if Path(kept.path).name == "torch.json"]
    for result in sorted(results, key=lambda one: max((row.ranks for row in one.rows), default=0), reverse=True):
        lines: dict[str, dict[int, tuple[Row, float]]] = {}
        for group in torch.both(result):
            row = group.first
            if (row.operation, row.type) != ("allreduce", "float32") or row.way not in TORCH_WAYS:
                continue
            for size in group.sizes:
                own, found = group.row(size), group.ratio(size, NCCL)
                if own and found and size in TORCH_SIZES:
                    lines.setdefault(own.way, {})[size] = (own, found.value)
        if lines:
            return result, lines
    return None


def torch_highlights(root: Path) -> str:
    """PyTorch's allreduce beside NCCL."""
    found = torch_lines(root)
    if found is None:
        return NONE_YET
    result, lines = found
    sizes = [size for size in TORCH_SIZES if any(row.bytes == size for row in result.rows)]
    table = [[f"× NCCL, PyTorch on {result.rows[0].ranks} GPUs", *(units.size(size) for size in sizes)]]
    table.append(["---", *(["---:"] * len(sizes))])
    for way, rows in lines.items():
        cells = [f"{rows[size][1]:.2f} × ({units.time(rows[size][0].median_us)})" if size in rows else NOTHING
                 for size in sizes]  # fmt: skip
        table.append([f"allreduce, {WAYS[way]}", *cells])
    return origin(result) + "\n\n" + pipes(table)


# Bytes; others, and other operations and peers, stand in docs/tune/bench-mpi.md.
MPI_SIZES = (8, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 256 << 20)
MPI_OPERATIONS = ("latency", "allreduce", "alltoall")


def is_shown(row: Row) -> bool:
    """Whether docs/use/gains.md has it."""
    return row.buffers == "gpu" and not row.in_place and row.bytes in MPI_SIZES


MpiLines = dict[tuple[int, str, str], dict[int, tuple[Row, float]]]  # by place in the table, what, and which MPI


def mpi_lines(root: Path, peer: str = BY_HAND) -> tuple[Result, MpiLines] | None:
    """MPI calls with GPU buffers: by size sennit's row, and how many times as fast it is as the peer's, by default
    copies to host memory by hand; of the folder in results/ whose jobs had most ranks. None where there is none."""
    results = [(Path(kept.path).parent, kept.result) for kept in kept_results(root, BENCH_MPI)]
    most = max((row.ranks for _, result in results for row in result.rows), default=0)
    folder = next((folder for folder, result in results if any(row.ranks == most for row in result.rows)), None)
    of_folder = [result for each, result in results if each == folder]
    lines: MpiLines = {}
    for result in of_folder:
        mpi = result.versions["mpi"].split(",")[0].replace(" Version:", "")
        for place, operation in enumerate(MPI_OPERATIONS):
            for own, other in pairs(result.rows, peer, operation, None, is_shown):
                what = f"{operation}, {own.ranks} ranks" + (f" on {own.nodes} nodes" if own.nodes > 1 else "")
                known = lines.setdefault((place, what, mpi), {})
                # Of several ways, such as between nodes, the fastest.
                if own.bytes not in known or own.median_us < known[own.bytes][0].median_us:
                    known[own.bytes] = (own, mpi_goals.ratio(own, other))
    return (of_folder[0], lines) if lines else None


def mpi_highlights(root: Path) -> str:
    """MPI calls with GPU buffers beside the same by way of host memory."""
    found = mpi_lines(root)
    if found is None:
        return NONE_YET
    result, lines = found
    table = [["× by hand, GPU buffers", "MPI", *(units.size(size) for size in MPI_SIZES)]]
    table.append(["---", "---", *(["---:"] * len(MPI_SIZES))])
    for (_, what, mpi), rows in sorted(lines.items(), key=lambda line: line[0]):
        cells = [f"{units.three_digits(rows[size][1])} × ({units.time(rows[size][0].median_us)})" if size in rows
                 else NOTHING for size in MPI_SIZES]  # fmt: skip
        table.append([what, mpi, *cells])
    return origin(result) + "\n\n" + pipes(table)


HOST_TO_GPU = ("host0", "gpu0", "one_way")
SUMMARY_SIZES = (64 << 10, 1 << 20, 16 << 20, 64 << 20)  # bytes


Line = tuple[str, str, Result, Mapping[int, float]]  # what, beside what, where, and by size how many times as fast


def torch_summary(root: Path) -> list[Line]:
    """PyTorch's allreduce, as programs call it that are ahead of their GPU."""
    found = torch_lines(root)
    if found is None or "queued" not in found[1]:
        return []
    ratios = {size: ratio for size, (_, ratio) in found[1]["queued"].items()}
    return [(f"PyTorch: allreduce on {found[0].rows[0].ranks} GPUs", "NCCL", found[0], ratios)]


def mpi_summary(root: Path) -> list[Line]:
    """An allreduce and a message on one node, of the first MPI."""
    lines: list[Line] = []
    for operation, peer, what, beside in (
        ("allreduce", BY_HAND, "MPI: allreduce of GPU buffers", "copies to host memory by hand"),
        ("latency", UCX, "MPI: message from GPU to GPU", "UCX with CUDA under the same MPI"),
    ):
        found = mpi_lines(root, peer)
        for (_, name, _), rows in sorted(found[1].items() if found else (), key=lambda line: line[0]):
            if found and name.startswith(f"{operation},") and " nodes" not in name:
                ratios = {size: ratio for size, (_, ratio) in rows.items()}
                lines.append((f"{what}, {next(iter(rows.values()))[0].ranks} ranks", beside, found[0], ratios))
                break
    return lines


def copy_summary(results: list[Kept]) -> list[Line]:
    """A copy from host memory to a GPU."""
    lines: list[Line] = []
    for kept in of_first_machine(results):
        for group in groups(kept.result)[:1]:
            if (group.first.from_, group.first.to, group.first.traffic) == HOST_TO_GPU:
                ratios = {size: group.ratio(size, "engine") for size in group.sizes}
                gains = {size: ratio.value for size, ratio in ratios.items() if ratio}
                lines.append(("Copy from host memory to a GPU", "`cudaMemcpyAsync`", kept.result, gains))
    return lines


def summary(root: Path, results: list[Kept]) -> str:
    """README: a line for each kind of program, of the machine with most GPUs."""
    rows = [*torch_summary(root), *mpi_summary(root), *copy_summary(results)]
    if not rows:
        return NONE_YET
    table = [["times as fast", "as", *(units.size(size) for size in SUMMARY_SIZES)]]
    table.append(["---", "---", *(["--:"] * len(SUMMARY_SIZES))])
    for what, peer, _, ratios in rows:
        cells = [f"{units.three_digits(ratios[size])} ×" if size in ratios else NOTHING for size in SUMMARY_SIZES]
        table.append([what, peer, *cells])
    dates = sorted(result.date[:10] for _, _, result, _ in rows)
    devices = sorted({f"{len(result.machine.devices)} × {result.machine.devices[0]}" for _, _, result, _ in rows})
    where = f"Measured {dates[0]} to {dates[-1]} on {' and '.join(devices)}, NCCL without NVLink multicast."
    return f"{pipes(table)}\n\n{where}"
