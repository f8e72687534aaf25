"""One-sided communication of a program in C through the drop-in, with emulated GPU memory."""

from __future__ import annotations

import c_programs
import drop_in
import pytest


def run(name: str, ranks: int, where: str, preload: bool = True, node: str = "0") -> tuple[int, str, str]:
    """The program's exit code and what it said; skips where it cannot be had. `node`: of a rank, to the shell."""
    program, library = c_programs.compiled(name, "c_windows.c"), drop_in.library()
    if isinstance(program, str):
        pytest.skip(program)
    if isinstance(library, str):
        pytest.skip(library)
    settings = {"SENNIT_REPORT": "1", "EXPECT_RANGE": "1"} if preload else {}
    if node != "0":
        settings["OUT_OF_REACH"] = "1"
    command = program.start(ranks, where)
    place = command.index(str(program.path))
    shell = f'rank="${{PMI_RANK:-$PMIX_RANK}}"; export SENNIT_NODE={node}; exec "$@"'
    command = [*command[:place], "sh", "-c", shell, "sh", *command[place:]]
    done = program.run(ranks, library if preload else None, settings, command)
    return done.returncode, done.stdout, done.stderr[-4000:]


@pytest.mark.parametrize(("ranks", "where"), [(2, "all"), (3, "even"), (4, "all"), (2, "none")])
@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_one_sided_calls_reach_gpu_memory(name: str, ranks: int, where: str) -> None:
    code, said, errors = run(name, ranks, where)
    assert (code, said) == (0, "all arrived\n"), said + errors
    if where != "none":
        assert "under a lock" in errors, errors
        assert "direct copy" in errors, errors
    if where != "all":
        assert "staged: the target is in host memory" in errors, errors


@pytest.mark.parametrize(("ranks", "where", "node"), [(2, "all", "$rank"), (3, "even", "$((rank / 2))")])
@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_one_sided_calls_of_several_nodes_go_through_mirrors(name: str, ranks: int, where: str, node: str) -> None:
    code, said, errors = run(name, ranks, where, node=node)
    assert (code, said) == (0, "all arrived\n"), said + errors
    assert "staged: ranks out of reach" in errors, errors
    assert "direct copy" not in errors, errors


@pytest.mark.parametrize("name", c_programs.LIBRARIES)
def test_the_program_is_right_without_the_drop_in(name: str) -> None:
    code, said, errors = run(name, 2, "none", preload=False)
    assert (code, said) == (0, "all arrived\n"), said + errors
