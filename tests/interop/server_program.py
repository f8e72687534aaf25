"""A parameter server: rank 0 looks for what the others send, again and again, and answers. It says how often it has
looked. `server_program.py [STEPS]`."""

from __future__ import annotations

import json
import sys

from mpi4py import MPI

BYTES, PUSH, PULL = 4096, 1, 2
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 200

comm = MPI.COMM_WORLD
rank, ranks = comm.Get_rank(), comm.Get_size()
mine = bytearray(BYTES)
if rank == 0:
    polls = 0
    for _ in range(STEPS * (ranks - 1)):
        status = MPI.Status()
        polls += 1
        while not comm.Iprobe(MPI.ANY_SOURCE, PUSH, status):
            polls += 1
        comm.Recv(mine, status.Get_source(), PUSH)
        comm.Isend(mine, status.Get_source(), PULL).Wait()
    print(json.dumps({"steps": STEPS * (ranks - 1), "polls": polls, "bytes": BYTES}), flush=True)
else:
    for _ in range(STEPS):
        request = comm.Isend(mine, 0, PUSH)
        comm.Recv(mine, 0, PULL)
        request.Wait()
