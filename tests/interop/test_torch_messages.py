"""On which streams messages run, when they begin, and what becomes of them: sennit.torch.channel on made-up
streams."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import needs_torch  # noqa: F401
import pytest
import torch
import torch.distributed as dist
from sennit.capi import Code, SennitError
from sennit.torch import block_budget, message, streams
from sennit.torch import channel as under_test
from sennit.torch.channel import Channel
from sennit.torch.meeting import Meeting
from torch_streams import Stream

DEVICE = torch.device("cuda", 0)


class Tensor:
    """Of a GPU that is not there."""

    def __init__(self, name: str) -> None:
        self.name, self.device, self.is_cuda = name, DEVICE, True


class Site:
    """A channel from rank 7 to rank 4, of which rank 4 is here; and how its communicator comes about."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.current = Stream("current", self.log)
        self.own = Stream("own", self.log, cuda_stream=77)
        self.captured = False
        self.come = threading.Event()
        self.failure: SennitError | None = None
        self.ended: SennitError | None = None
        self.alive: Callable[[], None] = lambda: None
        self.check: Callable[[], None] = lambda: None  # the meeting's

    def create(self, device: torch.device, first: str, *, messages: bool, most_blocks: int) -> Site:
        assert (device, first, messages, most_blocks) == (DEVICE, "first message from rank 7 to rank 4", True, 16)
        while not self.come.wait(0.001):
            self.check()
        if self.failure is not None:
            raise self.failure
        self.log.append("met")
        self.check = lambda: None
        return self

    def send_receive(self, given: Any, stream: int | None) -> None:
        ((one),) = given
        self.log.append(f"{'to' if one.sends else 'from'} {one.peer} at {one.data} on {stream}")

    def abort(self, why: str) -> None:
        self.ended = SennitError(Code.ABORTED, why)

    def make(self) -> Channel:
        meeting: Any = self
        return Channel(meeting, 7, 4, False, DEVICE, 16, lambda: self.alive())

    def post(self, channel: Channel, name: str) -> message.Message:
        tensor: Any = Tensor(name)
        made = message.Message(tensor, 7)
        channel.post(made)
        return made

    def said(self) -> list[str]:
        said, self.log[:] = self.log.copy(), []
        return said


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    made = Site()
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _=None: made.current)
    monkeypatch.setattr(torch.cuda, "set_device", lambda _: None)
    monkeypatch.setattr(streams, "take", lambda _: made.own)
    monkeypatch.setattr(message, "capturing", lambda _: made.captured)
    monkeypatch.setattr(message, "address", lambda tensor, _: tensor.name)
    monkeypatch.setattr(under_test, "bytes_of", lambda _: 8)
    return made


def test_messages_begin_in_their_order_when_both_ranks_are_there(site: Site) -> None:
    channel = site.make()
    first = site.post(channel, "a")
    site.current = Stream("another", site.log)
    second = site.post(channel, "b")
    assert not first.is_completed()
    assert site.said() == ["current records current#0", "another records another#0"]
    site.come.set()
    second.wait()
    assert site.said() == [
        "met", "own waits for current#0", "from 0 at a on 77", "own records own#0",
        "own waits for another#0", "from 0 at b on 77", "own records own#1", "another waits for own#1",
    ]  # fmt: skip
    # From then on at once, behind the stream that is current where they are posted.
    third = site.post(channel, "c")
    assert site.said() == [
        "another records another#1", "own waits for another#1", "from 0 at c on 77", "own records own#2",
    ]  # fmt: skip
    first.wait()
    assert site.said() == ["another waits for own#0"]
    assert not third.is_completed()
    site.own.events[2].done = True
    assert third.is_completed()
    assert third.source_rank() == 7


def test_waiting_with_a_limit_ends(site: Site) -> None:
    channel = site.make()
    posted = site.post(channel, "a")
    with pytest.raises(SennitError, match="not done after") as late:
        posted.wait(timedelta(milliseconds=5))
    assert late.value.code == Code.TIMED_OUT
    site.come.set()
    with pytest.raises(SennitError, match="not done after"):
        posted.wait(timedelta(milliseconds=5))


def test_a_rank_that_does_not_come_ends_all_that_was_posted(site: Site) -> None:
    site.failure = SennitError(Code.PEER_LOST, "rank 0 died", "meet", "Look at what rank 0 printed last")
    channel = site.make()
    posted = [site.post(channel, name) for name in "ab"]
    site.come.set()
    for each in posted:
        with pytest.raises(SennitError, match="rank 7 died") as lost:
            each.wait()
        assert (lost.value.code, lost.value.where) == (Code.PEER_LOST, "message from rank 7 to rank 4")
        assert lost.value.remedy == "Look at what rank 7 printed last"
        assert each.is_completed()
        assert str(each.exception()) == str(lost.value)
    with pytest.raises(SennitError, match="rank 7 died"):
        site.post(channel, "c")


def test_what_ended_the_group_ends_the_meeting_in_its_own_words(site: Site) -> None:
    channel = site.make()
    posted = site.post(channel, "a")

    def lost() -> None:
        raise SennitError(Code.PEER_LOST, "rank 1 died")

    site.alive = lost
    with pytest.raises(SennitError, match="rank 1 died"):
        posted.wait()


def test_an_abort_ends_the_meeting(site: Site) -> None:
    channel = site.make()
    posted = site.post(channel, "a")
    channel.abort("enough")
    with pytest.raises(SennitError, match="enough") as ended:
        posted.wait()
    assert ended.value.code == Code.ABORTED


def test_an_abort_ends_the_communicator(site: Site) -> None:
    channel = site.make()
    site.come.set()
    posted = site.post(channel, "a")
    posted.wait()
    channel.abort("enough")
    assert site.ended is not None


def test_what_ended_the_communicator_is_raised_by_waiting(site: Site) -> None:
    channel = site.make()
    site.come.set()
    posted = site.post(channel, "a")
    posted.wait()

    def lost() -> None:
        raise SennitError(Code.PEER_LOST, "rank 0 died")

    site.check = lost
    with pytest.raises(SennitError, match="rank 7 died"):
        posted.wait()


def test_a_graph_needs_a_direction_that_is_there(site: Site) -> None:
    channel = site.make()
    site.captured = True
    with pytest.raises(SennitError, match="a graph has the first message") as refused:
        site.post(channel, "a")
    assert "before the capture" in refused.value.remedy
    site.captured = False
    posted = site.post(channel, "b")
    site.come.set()
    posted.wait()
    site.said()
    site.captured = True
    site.post(channel, "c").wait()
    assert site.said() == [
        "current records current#2", "own waits for current#2", "from 0 at c on 77", "own records own#1",
        "current waits for own#1",
    ]  # fmt: skip


@pytest.mark.parametrize("come", [False, True])
def test_a_tensor_lives_until_its_message_is_done(site: Site, come: bool) -> None:
    channel = site.make()
    if come:
        site.come.set()
        site.post(channel, "first").wait()

    def post() -> weakref.ref[Any]:
        return weakref.ref(site.post(channel, "a").tensor)

    tensor = post()
    gc.collect()
    assert tensor() is not None
    site.come.set()
    until = time.monotonic() + 10
    while len(site.own.events) < 1 + come:
        assert time.monotonic() < until
    assert tensor() is not None
    site.own.events[-1].done = True
    site.own.events[0].done = True
    site.post(channel, "b")
    gc.collect()
    assert tensor() is None


def test_streams_are_nobody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    given: list[Any] = []

    def stream(device: torch.device, priority: int) -> Stream:
        assert (device, priority) == (DEVICE, -1)
        made = Stream("one", log, cuda_stream=len(given) % 32)
        setattr(made, "device", device)  # noqa: B010
        given.append(made)
        return made

    monkeypatch.setattr(torch.cuda, "Stream", stream)
    monkeypatch.setattr(streams, "_taken", {})
    taken: list[Any] = [streams.take(DEVICE) for _ in range(20)]
    for _ in range(20):
        stream(DEVICE, -1)  # a program's own
    taken += [streams.take(DEVICE) for _ in range(12)]
    assert len({each.cuda_stream for each in taken}) == 32
    assert streams.take(DEVICE) is not None, "there are no more: one that is taken"
    streams.give_back(taken[5])
    assert streams.take(DEVICE).cuda_stream == taken[5].cuda_stream


@pytest.mark.parametrize("sms", [1, 14, 108, 132])
@pytest.mark.parametrize("ranks", range(1, 9))
def test_calls_find_room_beside_each_other(monkeypatch: pytest.MonkeyPatch, sms: int, ranks: int) -> None:
    monkeypatch.setattr(block_budget, "_sms", lambda _: sms)
    one = block_budget.of_a_message(DEVICE, ranks)
    all_of_them = 2 * (ranks - 1) * one
    assert one >= 1
    if sms >= 14:
        assert block_budget.of_a_collective(DEVICE) + all_of_them <= 2 * sms


def test_on_the_host_any_number_of_blocks() -> None:
    assert block_budget.of_a_collective(torch.device("cpu")) == block_budget.of_a_message(torch.device("cpu"), 2) == 0


def test_a_meeting_ends_when_it_need_not_be_any_more() -> None:
    meeting = Meeting(dist.HashStore(), 0, 2, timedelta(seconds=60), names=(5, 6))

    def lost() -> None:
        raise SennitError(Code.PEER_LOST, "rank 6 died")

    meeting.check = lost
    with pytest.raises(SennitError, match="rank 6 died"):
        meeting(b"mine")
    late = Meeting(dist.HashStore(), 0, 2, timedelta(milliseconds=20), names=(5, 6))
    with pytest.raises(TimeoutError, match=r"rank 6 did not come within 0:00:00\.02"):
        late(b"mine")
