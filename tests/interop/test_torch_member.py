"""On which streams calls run and what they wait for: sennit.torch.member and .stream_order on made-up streams."""

from __future__ import annotations

import contextlib
import gc
import weakref
from datetime import timedelta
from typing import Any

import needs_torch  # noqa: F401
import pytest
import torch
import torch.distributed as dist
from sennit.capi import Code, SennitError
from sennit.torch import stream_order
from sennit.torch.member import Member, handle
from torch_streams import Stream

DEVICE = torch.device("cuda", 0)


class Site:
    """A GPU that is not there: its streams, and whether the current one is captured."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.current = Stream("current", self.log)
        self.beside = Stream("beside", self.log, cuda_stream=77)
        self.captured = False
        self.ended: SennitError | None = None

    def member(self) -> Member:
        """One whose communicator is made already."""
        made = Member(dist.HashStore(), 0, 2, timedelta(seconds=1))
        made._communicator, made._device = self, DEVICE  # type: ignore[assignment]
        stream_order.of(DEVICE).members += 1
        return made

    def check(self) -> None:
        if self.ended is not None:
            raise self.ended

    def call(self, member: Member, *, asynchronous: bool) -> Any:
        def call(_: Any, stream: int | None) -> None:
            self.log.append(f"a call on {stream}")

        kept = torch.zeros(1)
        work = member.run(DEVICE, call, [kept], [kept], asynchronous=asynchronous)
        said, self.log[:] = self.log.copy(), []
        return work, said


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    made = Site()
    order = stream_order.StreamOrder(made.beside)
    monkeypatch.setattr(stream_order, "_all", {0: order})
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _=None: made.current)
    monkeypatch.setattr(torch.cuda, "stream", lambda _: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: made.captured)
    return made


def test_a_call_at_once_runs_on_the_callers_stream(site: Site) -> None:
    work, said = site.call(site.member(), asynchronous=False)
    assert said == ["a call on 1"], "the legacy stream, which is 0 to PyTorch"
    assert work.wait()
    assert site.log == []
    site.current = Stream("another", site.log)
    work.wait()
    assert site.log == ["another waits for current"]


def test_an_abort_is_told_by_an_exception_of_its_own_each_time(site: Site) -> None:
    """One that is raised again and again would keep what every failed step had."""
    member = Member(dist.HashStore(), 0, 2, timedelta(seconds=1))
    member.abort("it was told to")
    raised = []
    for call in (member.check, lambda: member.communicator(DEVICE), lambda: site.call(member, asynchronous=False)):
        with pytest.raises(SennitError, match="it was told to") as error:
            call()
        raised.append(error.value)
    assert len({id(error) for error in raised}) == 3
    assert {error.code for error in raised} == {Code.ABORTED}


def test_an_asynchronous_call_runs_beside_it(site: Site) -> None:
    work, said = site.call(site.member(), asynchronous=True)
    assert said == ["beside waits for current", "a call on 77", "beside records beside#0"]
    work.wait()
    assert site.log == ["current waits for beside#0"]


def test_two_communicators_take_turns(site: Site) -> None:
    first, second = site.member(), site.member()
    assert site.call(first, asynchronous=False)[1] == ["a call on 1", "current records current#0"]
    site.current = Stream("another", site.log, cuda_stream=5)
    assert site.call(second, asynchronous=False)[1] == [
        "another waits for current#0", "a call on 5", "another records another#0",
    ]  # fmt: skip
    # Its own calls sennit orders itself.
    site.current = Stream("third", site.log, cuda_stream=6)
    assert site.call(second, asynchronous=False)[1] == ["a call on 6", "third records third#0"]


def test_the_second_communicator_waits_for_all_that_the_first_did_alone(site: Site) -> None:
    site.call(site.member(), asynchronous=False)
    second = site.member()
    site.current = Stream("another", site.log, cuda_stream=5)
    assert site.call(second, asynchronous=False)[1][0] == "another waits for current"


def test_in_a_graph_two_communicators_share_a_stream(site: Site) -> None:
    first = site.member()
    site.captured = True
    assert site.call(first, asynchronous=False)[1] == ["a call on 1"]
    site.member()
    assert site.call(first, asynchronous=False)[1] == [
        "beside waits for current", "a call on 77", "beside records beside#0", "current waits for beside#0",
    ]  # fmt: skip
    site.captured = False
    # What was recorded in the graph is nothing to wait for outside of it.
    assert not any("waits" in line for line in site.call(first, asynchronous=False)[1])


@pytest.mark.parametrize("waited", [False, True])
def test_tensors_of_a_forgotten_work_live_until_it_is_done(site: Site, waited: bool) -> None:
    member = site.member()

    def start() -> weakref.ref[torch.Tensor]:
        tensor = torch.zeros(1)
        work = member.run(DEVICE, lambda *_: None, [], [tensor], asynchronous=True)
        if waited:
            work.wait()
        return weakref.ref(tensor)

    tensor = start()
    gc.collect()
    assert (tensor() is None) == waited
    site.call(member, asynchronous=True)
    assert (tensor() is None) == waited
    site.beside.events[0].done = True
    site.call(member, asynchronous=True)
    assert tensor() is None


def test_what_ended_the_communicator_is_raised_by_waiting(site: Site) -> None:
    work, _ = site.call(site.member(), asynchronous=True)
    assert not work.is_completed()
    site.ended = SennitError(Code.PEER_LOST, "rank 1 died")
    with pytest.raises(SennitError, match="rank 1 died"):
        work.wait()
    assert work.is_completed()
    assert not work.is_success()
    assert work.exception() is site.ended


def test_waiting_with_a_limit_ends(site: Site) -> None:
    work, _ = site.call(site.member(), asynchronous=True)
    with pytest.raises(SennitError, match="not done after") as late:
        work.wait(timedelta(milliseconds=1))
    assert late.value.code == Code.TIMED_OUT
    site.beside.events[0].done = True
    assert work.wait(timedelta(milliseconds=1))


def test_another_device_is_refused(site: Site) -> None:
    with pytest.raises(SennitError, match="a tensor is on cuda:1, and this group's are on cuda:0"):
        site.member().communicator(torch.device("cuda", 1))


def test_a_stream_as_a_number(site: Site) -> None:
    assert (handle(site.current), handle(site.beside)) == (1, 77)
