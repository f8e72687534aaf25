"""Heat in a plate: Jacobi's method on a grid that the ranks divide in both directions, each with its part in GPU
memory. Step by step as heat.c does it, and with the same bits. It needs mpi4py and CuPy.

    sennit run -- mpirun -n 4 python heat.py [--rows 1024] [--columns 1024] [--steps 1000] [--output FILE]

`--arrays numpy` computes in host memory.
"""

from __future__ import annotations

import argparse
import importlib
from typing import Any

from mpi4py import MPI


def share(cells: int, number: int, of: int) -> tuple[int, int]:
    """The first cell of one part, and how many it has."""
    first = cells * number // of
    return first, cells * (number + 1) // of - first


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rows", type=int, default=1024)
parser.add_argument("--columns", type=int, default=1024)
parser.add_argument("--steps", type=int, default=1000)
parser.add_argument("--output", help="a file that gets the field, in doubles")
parser.add_argument("--arrays", default="cupy", help="the module of arrays: cupy, numpy")
options = parser.parse_args()
xp = importlib.import_module(options.arrays)

WORLD = MPI.COMM_WORLD
ON_GPU = hasattr(xp, "cuda")
if ON_GPU:
    local_rank = WORLD.Split_type(MPI.COMM_TYPE_SHARED).Get_rank()
    xp.cuda.Device(local_rank % xp.cuda.runtime.getDeviceCount()).use()

# The plate, and which part of it is this rank's: its own cells, and an edge of one cell that is its neighbours', or
# the plate's.
across = MPI.Compute_dims(WORLD.Get_size(), 2)
plate = WORLD.Create_cart(across)
(up, down), (left, right) = plate.Shift(0, 1), plate.Shift(1, 1)
place = plate.Get_coords(plate.Get_rank())
first_row, rows = share(options.rows, place[0], across[0])
first_column, columns = share(options.columns, place[1], across[1])
width = columns + 2
if min(rows, columns) < 1:
    raise SystemExit(f"{options.rows} x {options.columns} cells are too few for {across[0]} x {across[1]} ranks")

# The field at the beginning: hot at the left, warmer and warmer along the top, else cold.
now = xp.zeros((rows + 2, width))
if first_row == 0:
    now[0:1, :] = xp.arange(first_column, first_column + width) / float(options.columns)
if first_column == 0:
    now[:, 0:1] = 1.0
after = now.copy()
change = xp.zeros(1)

row = MPI.DOUBLE
column = MPI.DOUBLE.Create_vector(rows, 1, width).Commit()


def exchange(field: Any) -> list[MPI.Request]:
    """Sends and receives of all four edges: rows as they lie in memory, columns as a vector type."""
    cells = field.ravel()  # the same memory

    def at(row: int, column: int) -> Any:
        return cells[row * width + column :]

    return [
        plate.Irecv([at(0, 1), columns, row], up, 0),
        plate.Irecv([at(rows + 1, 1), columns, row], down, 1),
        plate.Irecv([at(1, 0), 1, column], left, 2),
        plate.Irecv([at(1, columns + 1), 1, column], right, 3),
        plate.Isend([at(rows, 1), columns, row], down, 0),
        plate.Isend([at(1, 1), columns, row], up, 1),
        plate.Isend([at(1, columns), 1, column], right, 2),
        plate.Isend([at(1, 1), 1, column], left, 3),
    ]


def sweep(top: int, bottom: int, first: int, last: int) -> None:
    """The next step of a rectangle of cells, the last row and column included."""
    here, there = slice(top, bottom + 1), slice(first, last + 1)
    above, below = slice(top - 1, bottom), slice(top + 1, bottom + 2)
    before, behind = slice(first - 1, last), slice(first + 1, last + 2)
    after[here, there] = 0.25 * (now[above, there] + now[below, there] + now[here, before] + now[here, behind])


def synchronize() -> None:
    """Until what is to be sent or reduced is there: MPI knows no streams."""
    if ON_GPU:
        xp.cuda.Device().synchronize()


def main() -> None:
    global now, after
    tells = plate.Get_rank() == 0
    if tells:
        print(f"{options.rows} x {options.columns} cells on {across[0]} x {across[1]} ranks")
    every = max(options.steps // 10, 1)
    synchronize()
    plate.Barrier()
    since = MPI.Wtime()
    for step in range(1, options.steps + 1):
        edges = exchange(now)
        if min(rows, columns) > 2:
            sweep(2, rows - 1, 2, columns - 1)  # what needs none of a neighbour
        MPI.Request.Waitall(edges)
        for top, bottom, first, last in (
            (1, 1, 1, columns),
            (rows, rows, 1, columns),
            (1, rows, 1, 1),
            (1, rows, columns, columns),
        ):
            sweep(top, bottom, first, last)
        if step % every == 0 or step == options.steps:
            change[:] = abs(after - now)[1:-1, 1:-1].max()
            synchronize()
            plate.Allreduce(MPI.IN_PLACE, [change, 1, MPI.DOUBLE], MPI.MAX)
            if tells:
                print(f"step {step}: cells change by {float(change[0]):.9e} at most")
        synchronize()
        now, after = after, now
    if tells:
        print(f"{(MPI.Wtime() - since) * 1e6 / options.steps:.1f} us a step")
    if options.output:
        write(options.output)


def write(name: str) -> None:
    """All parts' own cells into a file, in the plate's order."""
    in_memory = MPI.DOUBLE.Create_subarray([rows + 2, width], [rows, columns], [1, 1]).Commit()
    whole = [options.rows, options.columns]
    in_file = MPI.DOUBLE.Create_subarray(whole, [rows, columns], [first_row, first_column]).Commit()
    file = MPI.File.Open(plate, name, MPI.MODE_CREATE | MPI.MODE_WRONLY)
    file.Set_view(0, MPI.DOUBLE, in_file)
    file.Write_all([now, 1, in_memory])
    file.Close()
    in_memory.Free()
    in_file.Free()


main()
