"""Calls that sennit's drop-in for MPI staged through host memory, and what can be done about the reason."""

from __future__ import annotations

from collections.abc import Iterator

from sennit.advice.advice import Advice, Known
from sennit.model.profile import Profile
from sennit.model.profile_sums import plain, sums
from sennit.units import percent

STAGED = "staged: "
# By how a reason begins, as docs/use/trouble.md has them. Of others (small calls, calls that GPUs cannot do) nothing
# can be gained.
REMEDIES = {
    "a buffer in host memory": "Give all buffers of all ranks GPU memory, one GPU a rank.",
    "to a process that uses no GPU yet": "Let each rank select its GPU before it communicates.",
    "no such reduction of this type on GPUs": "Use a type and an operator that GPUs reduce (docs/use/mpi.md).",
    "derived type with gaps": "Send without gaps what is large: it is then copied straight.",
    "GPU ": "Give each rank a GPU of its own: sennit run --gpu-per-rank behind the launcher.",
    "the GPUs have no peer access": "sennit doctor says why (check p2p); in containers --ipc=host helps.",
    "ranks out of reach": "Place ranks that share a window on one host, or on GPUs that reach each other.",
}


def staged(profile: Profile, _known: Known) -> Iterator[Advice]:
    """By reason, where something can be done about it. The call's own transfer is in its time: no more than that can
    be gained."""
    rows = [row for row in profile.counted if row.how and row.how.startswith(STAGED)]
    for why, total in sums(profile, rows, lambda row: (row.how or "").removeprefix(STAGED)).items():
        remedy = next((said for begin, said in REMEDIES.items() if why.startswith(begin)), None)
        if remedy is None:
            continue
        functions = ", ".join(dict.fromkeys(plain(row.function) for row in total.rows))
        calls = round(total.calls / max(1, len(profile.ranks)))
        share = profile.share(total.seconds)
        yield Advice(
            share,
            f"Calls that go through host memory ({why}) take {percent(share)} of run time.",
            f"{calls} call{'' if calls == 1 else 's'} a process of {functions}.",
            remedy,
        )
