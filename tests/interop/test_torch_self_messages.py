"""Messages of a rank to itself on GPUs: on which stream they are copied and behind what, on made-up streams."""

from __future__ import annotations

from typing import Any

import needs_torch  # noqa: F401
import pytest
import torch
from sennit.capi import Code, SennitError
from sennit.torch import message, self_messages
from sennit.torch.self_messages import SelfMessages
from torch_streams import Stream

DEVICE = torch.device("cuda", 0)


class Tensor:
    """One of a GPU that is not there."""

    is_cuda, device = True, DEVICE

    def __init__(self, name: str, log: list[str], length: int = 8) -> None:
        self.name, self.log, self.length = name, log, length

    def numel(self) -> int:
        return self.length

    def view(self, _: object) -> Tensor:
        return self

    def copy_(self, source: Tensor) -> None:
        self.log.append(f"{source.name} to {self.name}")

    def record_stream(self, stream: Stream) -> None:
        self.log.append(f"{self.name} is kept for {stream.name}")


class Site:
    """What happens, and the current stream."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log: list[str] = []
        self.current = Stream("first", self.log)
        self.messages = SelfMessages(5)
        monkeypatch.setattr(torch.cuda, "current_stream", lambda _=None: self.current)
        monkeypatch.setattr(message, "capturing", lambda _: False)
        monkeypatch.setattr(message, "address", lambda *_: 0)
        monkeypatch.setattr(self_messages, "bytes_of", lambda tensor: tensor.length)

    def message(self, name: str, length: int = 8) -> message.Message:
        tensor: Any = Tensor(name, self.log, length)
        return message.Message(tensor, 5)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    return Site(monkeypatch)


@pytest.mark.parametrize("sends_first", [True, False])
def test_the_copy_is_behind_both_and_who_waits_is_behind_it(site: Site, *, sends_first: bool) -> None:
    posted = []
    for stream, sends in (("first", sends_first), ("second", not sends_first)):
        site.current = Stream(stream, site.log)
        posted.append(site.message("source" if sends else "target"))
        post = site.messages.send if sends else site.messages.receive
        post(posted[-1])
    assert site.log == [
        "first records first#0", "second records second#0", "second waits for first#0", "source to target",
        "source is kept for second", "target is kept for second", "second records second#1",
    ]  # fmt: skip
    site.current = Stream("third", site.log)
    for each in posted:
        assert each.wait()
    assert site.log[7:] == ["third waits for second#1"] * 2


def test_of_nothing_there_is_no_copy(site: Site) -> None:
    site.messages.send(site.message("source", 0))
    site.messages.receive(site.message("target", 0))
    assert "source to target" not in site.log


def test_other_lengths_fail_on_both_ends(site: Site) -> None:
    received = site.message("target", 4)
    site.messages.receive(received)
    with pytest.raises(SennitError, match="8 bytes on cuda:0 are sent, and 4 on cuda:0 received") as error:
        site.messages.send(site.message("source"))
    assert error.value.where == "message from rank 5 to itself"
    with pytest.raises(SennitError, match="Post the same length for both"):
        received.wait()


def test_an_abort_ends_what_waits_and_what_comes(site: Site) -> None:
    waiting = site.message("target")
    site.messages.receive(waiting)
    site.messages.abort("so it was told")
    with pytest.raises(SennitError, match="so it was told") as error:
        waiting.wait()
    assert error.value.code == Code.ABORTED
    with pytest.raises(SennitError, match="so it was told"):
        site.messages.send(site.message("source"))
