"""What README shows of results: a few lines of each comparison."""

from __future__ import annotations

from pathlib import Path

import mpi_goals
from kept_documents import COLLECTIVE, MPI, NONE_YET, TORCH, Kept, documents
from mpi_goals import DIRECT_PUT, pairs
from sennit import units
from sennit.compare.comparison import comparisons, of_limit, spoken
from sennit.model.collective import OWN, CollectiveResult
from sennit.model.document import parse
from sennit.model.mpi import BY_HAND, MpiResult, MpiRow
from sennit.model.torch import WAYS, TorchResult
from sennit.views import torch_table
from sennit.views.collective_table import by_operation, of, peer_of, ratio
from sennit.views.columns import NOTHING
from sennit.views.markdown import pipes
from sennit.views.origin import origin

NCCL = "nccl"
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
        for comparison in comparisons(kept.result)[:1]:
            title = comparison.case.title
            for size in comparison.sizes:
                row = comparison.row(size)
                if size not in HIGHLIGHTED or row is None:
                    continue
                part = of_limit(row)
                ratios = [comparison.ratio(size, peer) for peer in PEERS]
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
    results = [parse(CollectiveResult, document, path) for _, path, document in documents(root, COLLECTIVE)]
    for result in sorted(results, key=lambda one: len(one.rows), reverse=True):
        lines = []
        for rows in by_operation(result):
            cells = []
            for size in COLLECTIVE_SIZES:
                own = next((row for row in of(OWN, rows) if row.bytes == size), None)
                found = ratio(own, peer_of(rows, own, NCCL)) if own else None
                cells.append(f"{found.value:.2f} × ({units.time(own.median_us)})" if own and found else NOTHING)
            if any(cell != NOTHING for cell in cells):
                lines.append([rows[0].operation.replace("_", "-"), *cells])
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
    kept = [each for each in documents(root, TORCH) if Path(each[1]).name == "torch.json"]
    results = [parse(TorchResult, document, path) for _, path, document in kept]
    for result in sorted(results, key=lambda one: max((row.ranks for row in one.rows), default=0), reverse=True):
        lines = []
        sizes = [size for size in TORCH_SIZES if any(row.bytes == size for row in result.rows)]
        for rows in torch_table.tables(result):
            way = rows[0].way
            if (rows[0].operation, rows[0].type) != ("allreduce", "float32") or way not in TORCH_WAYS:
                continue
            cells = dict.fromkeys(sizes, NOTHING)
            for own, other in torch_table.pairs(rows):
                found = torch_table.ratio(own, other)
                if own and found and own.bytes in cells:
                    cells[own.bytes] = f"{found.value:.2f} × ({units.time(own.median_us)})"
            if any(cell != NOTHING for cell in cells.values()):
                lines.append([f"allreduce, {WAYS[way]}", *cells.values()])
        if lines:
            head = [f"× NCCL, PyTorch on {result.rows[0].ranks} GPUs", *(units.size(size) for size in sizes)]
            return origin(result) + "\n\n" + pipes([head, ["---", *(["---:"] * len(sizes))], *lines])
    return NONE_YET


# Bytes; others, and other operations and peers, stand in docs/bench-mpi.md.
MPI_SIZES = (8, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 256 << 20)
MPI_OPERATIONS = ("latency", "allreduce", "alltoall")


def is_shown(row: MpiRow) -> bool:
    """Whether README has it."""
    return row.buffers == "gpu" and not row.in_place and row.bytes in MPI_SIZES


def mpi_highlights(root: Path) -> str:
    """README: MPI calls with GPU buffers beside the same by way of host memory, of the folder in results/ whose jobs
    had most ranks."""
    results = [(Path(path).parent, parse(MpiResult, document, path)) for _, path, document in documents(root, MPI)]
    most = max((row.ranks for _, result in results for row in result.rows), default=0)
    folder = next((folder for folder, result in results if any(row.ranks == most for row in result.rows)), None)
    of_folder = [result for each, result in results if each == folder]
    lines: dict[tuple[int, str, str], dict[int, MpiRow]] = {}  # in the table's order
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
