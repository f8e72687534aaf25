"""What SENNIT_EXPLAIN says of a program's calls, with emulated GPU memory."""

from __future__ import annotations

import re
from pathlib import Path

import c_programs
import drop_in
import pytest

SHORT, MIDDLE, LONG = "64 B", "39.06 KiB", "8 MiB"
DIRECT = r"direct copy, by (this GPU|its receiver|its sender's GPU|a block that stays on this GPU).*"
STAGED = "staged: small, or from host memory"
# What rank 0 says, each of them once: of what a type, an operator or a buffer is, wherever ranks are.
ANYWHERE = [
    f"send of {SHORT}: staged: .*",
    f"isend of {SHORT}: staged: .*",
    f"recv of {SHORT}: {STAGED}",
    f"irecv of {SHORT}: {STAGED}",
    "send of 1 KiB: staged: derived type with gaps, rows alone",
    f"file_write_at of {SHORT}: staged: no such call on GPUs",
]
ON_ONE_NODE = [
    "allreduce of 4 B: staged: another rank's buffer or type",
    "allreduce of 4 B: one_shot.*",
    "win_create of 8 MiB: its ranks reach each other's GPU memory",
    f"put of {SHORT}: direct copy",
    f"accumulate of {MIDDLE}: by a GPU, under a lock",
    "compare_and_swap of 4 B: under a lock, by the host: GPUs do not compare and swap",
]
ON_TWO_NODES = [
    f"send of {MIDDLE}: staged: to another node, and short",
    f"isend of {MIDDLE}: staged: to another node, and short",
    f"irecv of {MIDDLE}: {STAGED}",
    *(f"{call} of {LONG}: in chunks, through the MPI" for call in ("send", "isend", "recv", "irecv")),
    "win_create of 8 MiB: mirrored in host memory: rank . is on another node",
    f"put of {SHORT}: staged: ranks out of reach",
]


def explained(name: str, folder: Path, node: str, settings: dict[str, str]) -> str:
    """What the program says of two ranks; skips where it cannot be had. `node`: of a rank, to the shell."""
    program, library = c_programs.compiled(name, "c_explained.c"), drop_in.library()
    if isinstance(program, str) or isinstance(library, str):
        pytest.skip(str(program if isinstance(program, str) else library))
    command = program.start(2, str(folder / "file"))
    place = command.index(str(program.path))
    shell = ["sh", "-c", f'rank="${{PMI_RANK:-$PMIX_RANK}}"; export SENNIT_NODE={node}; exec "$@"', "sh"]
    done = program.run(2, library, settings, [*command[:place], *shell, *command[place:]])
    assert (done.returncode, done.stdout) == (0, "all arrived\n"), done.stdout + done.stderr[-4000:]
    return done.stderr


def expect_once(wanted: list[str], said: str) -> None:
    for line in wanted:
        assert len(re.findall(rf"^sennit: {line}$", said, re.MULTILINE)) == 1, f"{line}\n{said}"


@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_each_kind_of_call_is_explained_once(name: str, tmp_path: Path) -> None:
    said = explained(name, tmp_path, "0", {"SENNIT_EXPLAIN": "1"})
    expect_once([*ANYWHERE, *ON_ONE_NODE], said)
    # Who copies depends on who comes first: so each way once.
    for call in ("send", "isend", "recv", "irecv"):
        for size in (MIDDLE, LONG):
            ways = re.findall(rf"^sennit: {call} of {size}: ({DIRECT}|.*host memory.*)$", said, re.MULTILINE)
            assert ways, (call, size, said)
            assert len(ways) == len(set(ways)), said


@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_calls_between_nodes_are_explained_once(name: str, tmp_path: Path) -> None:
    expect_once([*ANYWHERE, *ON_TWO_NODES], explained(name, tmp_path, "$rank", {"SENNIT_EXPLAIN": "1"}))


def test_what_is_not_wanted_is_said(tmp_path: Path) -> None:
    said = explained("mpich", tmp_path, "0", {"SENNIT_EXPLAIN": "1", "SENNIT_OPS": "none"})
    expect_once([f"send of {MIDDLE}: staged: SENNIT_OPS", "allreduce of 4 B: staged: SENNIT_OPS"], said)


def test_nothing_is_said_where_nobody_asks(tmp_path: Path) -> None:
    assert "sennit: " not in explained("mpich", tmp_path, "0", {})
