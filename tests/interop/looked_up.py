"""A rank that opens an MPI's library itself and looks its functions up, as Julia's MPI.jl does: it reduces GPU
memory. test_loading.py starts it.

    looked_up.py LIBRARY
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

COUNT = 1000


def main() -> None:
    library = ctypes.CDLL(sys.argv[1], os.RTLD_NOW | os.RTLD_LOCAL)
    openmpi = hasattr(library, "ompi_mpi_comm_world")
    handles: list[Any] = [ctypes.c_int(handle) for handle in (0x44000000, 0x4C000405, 0x58000003)]
    if openmpi:
        names = ("ompi_mpi_comm_world", "ompi_mpi_int", "ompi_mpi_op_sum")
        handles = [ctypes.byref(ctypes.c_byte.in_dll(library, name)) for name in names]
    world, number, add = handles
    assert library.MPI_Init(None, None) == 0
    rank, ranks = ctypes.c_int(), ctypes.c_int()
    library.MPI_Comm_rank(world, ctypes.byref(rank))
    library.MPI_Comm_size(world, ctypes.byref(ranks))
    sennit = ctypes.CDLL(None)
    sennit.sennit_emulated_allocate.restype = ctypes.c_void_p
    sennit.sennit_emulated_allocate.argtypes = [ctypes.c_int, ctypes.c_size_t]
    at = sennit.sennit_emulated_allocate(rank.value, 4 * COUNT)
    memory = (ctypes.c_int * COUNT).from_address(at)
    memory[:] = [rank.value + 1] * COUNT
    in_place = ctypes.c_void_p(1 if openmpi else -1)
    assert library.MPI_Allreduce(in_place, ctypes.c_void_p(at), COUNT, number, add, world) == 0
    assert set(memory) == {ranks.value * (ranks.value + 1) // 2}
    library.MPI_Finalize()
    os.write(1, b"reduced\n")  # in one piece: a launcher may mix what ranks write


if __name__ == "__main__":
    main()
