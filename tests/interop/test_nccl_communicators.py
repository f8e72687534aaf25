"""Communicators of NCCL under the drop-in: how they are made, divided, shrunk and grown, and how they end."""

from __future__ import annotations

import re
import signal

import pytest
from nccl_programs import expect_right, have


@pytest.mark.parametrize("operations", ["allreduce,reduce", "allreduce", "reduce"])
def test_one_that_is_made_while_the_program_goes_on(operations: str) -> None:
    program, library = have()
    job = program.run("patient", 3, library, {"SENNIT_OPS": operations})
    expect_right(job)
    assert job.asked("AllReduce") == (0 if "allreduce" in operations else 3 * 3)
    assert job.asked("Reduce") == 3 * (0 if ",reduce" in operations or operations == "reduce" else 2)


def test_a_group_is_not_over_while_nccl_is_at_work_on_another_one() -> None:
    program, library = have()
    job = program.run("patient_beside", 2, library)
    expect_right(job)
    assert job.asked("AllReduce") == 2


def test_two_that_are_made_in_one_group() -> None:
    program, library = have()
    job = program.run("pairs", 3, library)
    expect_right(job)
    assert job.asked("AllReduce") == 0


@pytest.mark.parametrize("settings", [{}, {"NCCL_COMM_BLOCKING": "0"}], ids=["blocking", "not blocking"])
def test_ranks_of_one_process(settings: dict[str, str]) -> None:
    program, library = have()
    job = program.run("all_in_one", 1, library, settings)
    expect_right(job)
    assert job.asked("AllReduce") == 0
    assert re.search(r"allreduce +to 16 KiB +9 ", job.errors[0]), job.errors[0]
    assert re.search(r"send +to 16 KiB +9 .* direct", job.errors[0]), job.errors[0]


def test_ranks_that_are_threads_of_one_process() -> None:
    program, library = have()
    job = program.run("of_threads", 1, library)
    expect_right(job)
    assert job.asked("AllReduce") == job.asked("Broadcast") == 0


def test_one_that_was_made_by_several_ids() -> None:
    program, library = have()
    job = program.run("scalable", 3, library)
    expect_right(job)
    assert job.asked("AllReduce") == 0


def test_parts_of_a_communicator_are_sennits_too() -> None:
    program, library = have()
    job = program.run("divided", 4, library)
    expect_right(job)
    assert job.asked("AllReduce") == 0


@pytest.mark.parametrize("settings", [{}, {"FAKE_NCCL_IS_WELL": "1"}], ids=["at work", "well"])
def test_parts_that_do_not_block(settings: dict[str, str]) -> None:
    program, library = have()
    job = program.run("patient_parts", 3, library, settings)
    expect_right(job)
    assert job.asked("AllReduce") == 0


def test_one_that_was_shrunk() -> None:
    program, library = have()
    job = program.run("shrunk", 3, library)
    expect_right(job)
    assert job.asked("AllReduce") == 0


def test_one_that_was_shrunk_without_the_knowledge_of_those_excluded() -> None:
    """Parts of the same communicator that are made afterwards are sennit's as ever."""
    program, library = have()
    job = program.run("shrunk_aside", 3, library)
    expect_right(job)
    assert job.asked("AllReduce") == 0


@pytest.mark.parametrize("test", ["grown", "grown_patiently"])
@pytest.mark.parametrize("ranks", [3, 4])
def test_one_that_was_grown(test: str, ranks: int) -> None:
    program, library = have()
    job = program.run(test, ranks, library)
    expect_right(job)
    assert job.asked("AllReduce") == 0


@pytest.mark.parametrize("without", [0, 2, 3], ids=["an old rank", "the bridge rank", "the new rank"])
def test_one_that_was_grown_where_a_rank_has_no_drop_in(without: int) -> None:
    """What the old ranks without it could do they still do; all of the grown one is NCCL's."""
    program, library = have()
    job = program.run("grown", 4, library, without=(without,))
    expect_right(job)
    before = 3 if without < 3 else 0
    assert job.asked("AllReduce") == 4 + before + 4


def test_one_that_was_revoked() -> None:
    """What waits ends, the communicator is NCCL's, and what is made of it is as any."""
    program, library = have()
    job = program.run("revoked", 3, library)
    expect_right(job)
    assert job.asked("AllReduce") == 3
    assert re.search("allreduce .* NCCL: it was revoked", job.errors[0]), job.errors[0]


def test_what_waits_is_ended_by_an_abort() -> None:
    program, library = have()
    expect_right(program.run("aborted", 3, library))


def test_calls_that_do_not_match_are_told_of_once() -> None:
    program, library = have()
    job = program.run("mismatched", 3, library)
    expect_right(job)
    said = [line for each in job.errors for line in each.splitlines() if "at the same place" in line]
    assert len(said) == 1, job.text
    assert re.search("rank . of 3 calls allreduce of [46]000 bytes of NCCL, and rank . .* allreduce of [46]000 bytes",
                     said[0]), said  # fmt: skip


def test_calls_of_which_each_library_has_some_are_told_of_once() -> None:
    """Where SENNIT_OPS has allreduces alone, rank 0's is sennit's, and the others' broadcast at its place NCCL's."""
    program, library = have()
    job = program.run("mismatched_between", 3, library, {"SENNIT_OPS": "allreduce"})
    expect_right(job)
    said = [line for each in job.errors for line in each.splitlines() if "at the same place" in line]
    assert len(said) == 1, job.text
    assert re.search("rank 0 of 3 calls allreduce of 4000 bytes .* rank [12] .* which NCCL does", said[0]), said


def test_calls_that_wait_for_no_rank_are_part_of_no_mismatch() -> None:
    program, library = have()
    job = program.run("uneven", 3, library)
    expect_right(job)
    assert "at the same place" not in job.text, job.text


def test_a_rank_that_dies_is_told_of() -> None:
    program, library = have()
    job = program.run("lost", 3, library)
    assert job.codes == [0, 0, 0], job.text
    assert job.output == ["all right\n", "all right\n", ""], job.text


@pytest.mark.parametrize("what", ["input", "output"])
def test_a_rank_that_frees_memory_in_use_keeps_nobody_waiting(what: str) -> None:
    """To free a GPU's memory waits for what runs there; emulated memory is gone at once, and with it, as under NCCL
    alone, the process that uses it. The other rank hears of that, or has its sums, where all was read before."""
    program, library = have()
    job = program.run(f"freed_{what}", 2, library)
    if job.codes == [0, 0]:
        assert what == "input", job.text
        expect_right(job)
        return
    assert job.codes == [-signal.SIGSEGV, 1], job.text
    assert "allreduce of 70000 elements on rank 1: peer_lost: rank 0 died" in job.output[1], job.text


def test_a_rank_that_is_done_may_leave() -> None:
    program, library = have()
    expect_right(program.run("early", 3, library))


def test_a_rank_that_ended_in_order_is_not_taken_for_dead() -> None:
    program, library = have()
    expect_right(program.run("done_first", 3, library))


def test_one_that_ends_while_its_work_can_still_be_done_waits_for_it() -> None:
    program, library = have()
    expect_right(program.run("ended_in_wait", 3, library))


@pytest.mark.parametrize(("test", "word"), [("ended_in_vain", "died"), ("ended_too_soon", "has ended")])
def test_one_that_ends_with_work_that_cannot_be_done_says_so(test: str, word: str) -> None:
    program, library = have()
    job = program.run(test, 3, library)
    assert job.codes == [0, 0, 0], job.text
    assert job.output == ["all right\n", "all right\n", ""], job.text
    assert any(f"on rank {rank}: peer_lost: rank 2 {word}" in job.errors[rank] for rank in (0, 1)), job.text


def test_an_abort_waits_for_no_rank_that_makes_the_communicator() -> None:
    program, library = have()
    expect_right(program.run("aborted_in_the_making", 3, library))


@pytest.mark.parametrize("test", ["aborted_in_destroy", "aborted_in_finalize"])
def test_an_abort_ends_another_threads_wait_for_the_end(test: str) -> None:
    """And NCCL is asked nothing of what the abort has freed. One rank waits, as an abort of another's ends that, too:
    what waits then ends as it would without one of its own."""
    program, library = have()
    job = program.run(test, 2, library)
    expect_right(job)
    # Of the one that came after it.
    assert (job.asked("CommFinalize"), job.asked("CommDestroy")) == (2, 2), job.text


def test_a_revoke_ends_another_threads_wait_for_the_end() -> None:
    """But not NCCL's communicator, which is ended as the program wants it. One rank waits here, too."""
    program, library = have()
    for test, finalized in (("revoked_in_destroy", 2), ("revoked_in_finalize", 2 + 1)):
        job = program.run(test, 2, library)
        expect_right(job)
        assert job.asked("CommFinalize") == finalized, job.text
        assert job.asked("CommDestroy") == (2 + 1 if test == "revoked_in_destroy" else 2), job.text


def test_a_shrink_ends_another_threads_wait_for_the_end() -> None:
    """Where it is to end what the communicator does, and of that communicator, which the other thread ends later."""
    program, library = have()
    job = program.run("shrunk_in_destroy", 2, library)
    expect_right(job)
    assert job.asked("CommDestroy") == 1 + 1 + 2, job.text


def test_one_that_does_not_block_is_done_with_once_its_calls_are() -> None:
    program, library = have()
    expect_right(program.run("finalized_later", 3, library))


def test_calls_while_the_program_ends() -> None:
    """After sennit has reported."""
    program, library = have()
    job = program.run("ended_late", 2, library)
    expect_right(job)
    assert job.asked("AllReduce") == 0
