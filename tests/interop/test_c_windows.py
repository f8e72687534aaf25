"""One-sided communication of a program in C through the drop-in, with emulated GPU memory."""

from __future__ import annotations

import c_programs
import drop_in
import pytest
import repeats


def run(
    name: str,
    ranks: int,
    where: str,
    preload: bool = True,
    node: str = "0",
    source: str = "c_windows.c",
    more: dict[str, str] | None = None,
) -> tuple[int, str, str]:
    """The program's exit code and what it said; skips where it cannot be had. `node`: of a rank, to the shell.
    `more`: settings of its own."""
    program, library = c_programs.compiled(name, source), drop_in.library()
    if isinstance(program, str):
        pytest.skip(program)
    if isinstance(library, str):
        pytest.skip(library)
    settings = {"SENNIT_REPORT": "1", "EXPECT_RANGE": "1"} | (more or {}) if preload else {}
    if node != "0":
        settings["OUT_OF_REACH"] = "1"
    command = program.start(ranks, where)
    place = command.index(str(program.path))
    shell = f'rank="${{PMI_RANK:-$PMIX_RANK}}"; export SENNIT_NODE={node}; exec "$@"'
    command = [*command[:place], "sh", "-c", shell, "sh", *command[place:]]
    done = program.run(ranks, library if preload else None, settings, command)
    return done.returncode, done.stdout, done.stderr[-4000:]


@pytest.mark.parametrize(
    ("name", "ranks", "where"),
    repeats.in_turn(c_programs.LIBRARIES, [(2, "all"), (3, "even"), (4, "all"), (2, "none")]),
)
def test_one_sided_calls_reach_gpu_memory(name: str, ranks: int, where: str) -> None:
    code, said, errors = run(name, ranks, where)
    assert (code, said) == (0, "all arrived\n"), said + errors
    if where != "none":
        assert "under a lock" in errors, errors
        assert "direct copy" in errors, errors
    if where != "all":
        assert "staged: the target is in host memory" in errors, errors


@pytest.mark.parametrize(
    ("name", "ranks", "where", "node"),
    repeats.in_turn(c_programs.LIBRARIES, [(2, "all", "$rank"), (3, "even", "$((rank / 2))")]),
)
def test_one_sided_calls_of_several_nodes_go_through_mirrors(name: str, ranks: int, where: str, node: str) -> None:
    code, said, errors = run(name, ranks, where, node=node)
    assert (code, said) == (0, "all arrived\n"), said + errors
    assert "staged: ranks out of reach" in errors, errors
    assert "direct copy" not in errors, errors


@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_the_program_is_right_without_the_drop_in(name: str) -> None:
    code, said, errors = run(name, 2, "none", preload=False)
    assert (code, said) == (0, "all arrived\n"), said + errors


# From how many bytes on a GPU accumulates: some, all, none.
@pytest.mark.parametrize(
    ("name", "ranks", "start"), repeats.in_turn(c_programs.LIBRARIES, [(2, "16K"), (3, ""), (2, "1G")])
)
def test_gpus_and_the_host_accumulate_the_same_bits(name: str, ranks: int, start: str) -> None:
    code, said, errors = run(name, ranks, "", source="c_accumulates.c", more={"SENNIT_ACCUMULATE": start})
    assert (code, said) == (0, "all arrived\n"), said + errors
    for family in ("accumulate", "get_accumulate"):
        ways = {line.strip() for line in errors.splitlines() if line.strip().startswith(family)}
        # What only copies is a GPU's whatever the length; types with gaps and numbers out of place are the host's.
        assert any("by a GPU, under a lock" in way for way in ways), errors
        assert any("under a lock" in way and "by a GPU" not in way for way in ways), errors


# Open MPI's own MPI_Get_accumulate of one int and a logical operator fetches something else.
@pytest.mark.parametrize("name", [name for name in c_programs.LIBRARIES if "openmpi" not in name])
def test_the_accumulates_are_right_without_the_drop_in(name: str) -> None:
    code, said, errors = run(name, 2, "", preload=False, source="c_accumulates.c")
    assert (code, said) == (0, "all arrived\n"), said + errors


@pytest.mark.parametrize(("ranks", "what"), [(3, "freed"), (2, "attributes"), (3, "locks")])
@pytest.mark.parametrize("preload", [True, False])
@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_windows_leave_nothing_behind_and_their_locks_wait_alone(
    name: str, preload: bool, ranks: int, what: str
) -> None:
    code, said, errors = run(name, ranks, what, preload=preload, source="c_window_lives.c")
    assert (code, said) == (0, "all arrived\n"), said + errors
