"""What README shows of results: a few lines of each group."""

from __future__ import annotations

from pathlib import Path

import mpi_goals
from kept_documents import NONE_YET, Kept, kept_results
from mpi_goals import DIRECT_PUT, pairs
from sennit import units
from sennit.compare.groups import WAYS, groups, of_limit
from sennit.compare.verdicts import spoken
from sennit.model.result import BENCH_MPI, BY_HAND, COLLECTIVE, NCCL, TORCH, Row
from sennit.units import NOTHING
from sennit.views import torch
from sennit.views.markdown import pipes
from sennit.views.origin import origin

HIGHLIGHTED = (1 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30)  # bytes; others stand in docs/bench-put.md
PEERS = ("engine", "nccl", "ucx")


def highlights(results: list[Kept]) -> str:
    """README: one table, of the first machine in results/."""
    first = [
        kept
        for kept in results
        if Path(kept.path).parent == Path(results[0].path).parent and Path(kept.path).stem != DIRECT_PUT
    ]
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


# Bytes; others stand in docs/bench-collectives.md.
COLLECTIVE_SIZES = (1 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 1 << 30)


def collective_highlights(root: Path) -> str:
    """README: every operation beside NCCL, of the result in results/ that says most."""
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


# Bytes, and ways of calling; others, and other types, stand in docs/bench-torch.md.
TORCH_SIZES = (1 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20)
TORCH_WAYS = ("graph", "queued")


def torch_highlights(root: Path) -> str:
    """README: PyTorch's allreduce beside NCCL, of the torch.json in results/ that is of most GPUs."""
    results = [kept.result for kept in kept_results(root, TORCH) if Path(kept.path).name == "torch.json"]
    for result in sorted(results, key=lambda one: max((row.ranks for row in one.rows), default=0), reverse=True):
        lines = []
        sizes = [size for size in TORCH_SIZES if any(row.bytes == size for row in result.rows)]
        for group in torch.both(result):
            way = group.first.way
            if (group.first.operation, group.first.type) != ("allreduce", "float32") or way not in TORCH_WAYS:
                continue
            cells = dict.fromkeys(sizes, NOTHING)
            for size in group.sizes:
                own, found = group.row(size), group.ratio(size, NCCL)
                if own and found and size in cells:
                    cells[size] = f"{found.value:.2f} × ({units.time(own.median_us)})"
            if any(cell != NOTHING for cell in cells.values()):
                lines.append([f"allreduce, {WAYS[way]}", *cells.values()])
        if lines:
            head = [f"× NCCL, PyTorch on {result.rows[0].ranks} GPUs", *(units.size(size) for size in sizes)]
            return origin(result) + "\n\n" + pipes([head, ["---", *(["---:"] * len(sizes))], *lines])
    return NONE_YET


# Bytes; others, and other operations and peers, stand in docs/bench-mpi.md.
MPI_SIZES = (8, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 256 << 20)
MPI_OPERATIONS = ("latency", "allreduce", "alltoall")


def is_shown(row: Row) -> bool:
    """Whether README has it."""
    return row.buffers == "gpu" and not row.in_place and row.bytes in MPI_SIZES


def mpi_highlights(root: Path) -> str:
    """README: MPI calls with GPU buffers beside the same by way of host memory, of the folder in results/ whose jobs
    had most ranks."""
    results = [(Path(kept.path).parent, kept.result) for kept in kept_results(root, BENCH_MPI)]
    most = max((row.ranks for _, result in results for row in result.rows), default=0)
    folder = next((folder for folder, result in results if any(row.ranks == most for row in result.rows)), None)
    of_folder = [result for each, result in results if each == folder]
    lines: dict[tuple[int, str, str], dict[int, Row]] = {}  # in the table's order
    ratios: dict[int, float] = {}
    for result in of_folder:
        mpi = result.versions["mpi"].split(",")[0].replace(" Version:", "")
        for place, operation in enumerate(MPI_OPERATIONS):
            for own, other in pairs(result.rows, BY_HAND, operation, None, is_shown):
                what = f"{operation}, {own.ranks} ranks" + (f" on {own.nodes} nodes" if own.nodes > 1 else "")
                known = lines.setdefault((place, what, mpi), {})
                # Of several ways, such as between nodes, the fastest.
                if own.bytes not in known or own.median_us < known[own.bytes].median_us:
                    known[own.bytes] = own
                    ratios[id(own)] = mpi_goals.ratio(own, other)
    if not lines:
        return NONE_YET
    table = [["× by hand, GPU buffers", "MPI", *(units.size(size) for size in MPI_SIZES)]]
    table.append(["---", "---", *(["---:"] * len(MPI_SIZES))])
    for (_, what, mpi), rows in sorted(lines.items(), key=lambda line: line[0]):
        found = [rows.get(size) for size in MPI_SIZES]
        cells = [
            f"{units.three_digits(ratios[id(row)])} × ({units.time(row.median_us)})" if row else NOTHING
            for row in found
        ]
        table.append([what, mpi, *cells])
    return origin(of_folder[0]) + "\n\n" + pipes(table)
