"""What NCCL programs under the drop-in hear of errors of the one library and the other."""

from __future__ import annotations

from nccl_programs import expect_right, have


def test_the_latest_error_is_named_whichever_function_of_nccl_it_came_of() -> None:
    program, library = have()
    expect_right(program.run("latest", 2, library))
