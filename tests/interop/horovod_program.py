"""This makes the calls that Horovod makes: a thread agrees by bits of 8 B on what to reduce next, and sums are fused
into large buffers; an allgather at the start. `horovod_program.py [SUMS]`."""

from __future__ import annotations

import json
import sys
import threading
from array import array

import mpi4py

mpi4py.rc.thread_level = "multiple"
from mpi4py import MPI  # noqa: E402

SUMS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
CYCLES, BYTES = 15 * SUMS, 1 << 20

control, data = MPI.COMM_WORLD.Dup(), MPI.COMM_WORLD.Dup()
MPI.COMM_WORLD.Allgather(bytearray(4), bytearray(4 * MPI.COMM_WORLD.Get_size()))


def agree() -> None:
    bits, agreed = array("Q", [1]), array("Q", [0])
    for _ in range(CYCLES):
        control.Allreduce([bits, MPI.UINT64_T], [agreed, MPI.UINT64_T], MPI.BAND)


thread = threading.Thread(target=agree)
thread.start()
fused, summed = bytearray(BYTES), bytearray(BYTES)
for _ in range(SUMS):
    data.Allreduce([fused, MPI.FLOAT], [summed, MPI.FLOAT], MPI.SUM)
thread.join()
if MPI.COMM_WORLD.Get_rank() == 0:
    print(json.dumps({"cycles": CYCLES, "sums": SUMS, "bytes": BYTES}), flush=True)
