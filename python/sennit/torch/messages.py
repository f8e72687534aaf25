"""Messages between two ranks of a group.

Nothing waits for a message but what waits for that message. So each direction of a pair has a communicator of its
own, and on GPUs a stream of its own, on which a message begins when it is posted. One whose peer has not come is in
the way of later ones in its direction alone, which come after it there too. One communicator for both would not do:
where a rank posts a receive early, and later sends what the other has to get first, the message would wait behind the
receive. Messages find room beside each other and beside collectives: block_budget.py.

Its first message makes a direction's communicator, for which both ranks must come. That a thread does, one for each
direction: it waits for that peer, in the same direction, and for nothing else, so that no ranks wait in a circle, in
whatever order they begin. What is posted meanwhile begins when the communicator is there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

import torch
import torch.distributed as dist

from sennit.capi import Code, SennitError
from sennit.torch import background
from sennit.torch.block_budget import of_a_message
from sennit.torch.channel import Channel
from sennit.torch.meeting import Meeting
from sennit.torch.message import Message
from sennit.torch.self_messages import SelfMessages

_LOOK = 0.2  # seconds between looks at the group: a default


class Messages:
    """Those of one rank of a group."""

    def __init__(
        self, store: dist.Store, rank: int, size: int, timeout: timedelta, alive: Callable[[], None]
    ) -> None:
        """`alive` raises what ended the group, if anything did."""
        self._store, self._rank, self._size, self._alive = store, rank, size, alive
        self.timeout = timeout  # of communicators that are not made yet
        self._channels: dict[tuple[int, int], Channel] = {}
        self._ending: dict[tuple[int, int], Channel] = {}  # those that close() waits for
        self._to_itself = SelfMessages(rank)
        self._making, self._closing = threading.Lock(), threading.Lock()
        self._closed = threading.Event()
        self._aborted: SennitError | None = None

    def send(self, tensor: torch.Tensor, receiver: int) -> Message:
        """Raises SennitError: INVALID_ARGUMENT where the tensor is not contiguous, what ended the communicator."""
        message = Message(tensor, self._rank)
        if receiver == self._rank:
            self._to_itself.send(message)
        else:
            self._channel(self._rank, receiver, tensor.device).post(message)
        return message

    def receive(self, tensor: torch.Tensor, sender: int) -> Message:
        """Raises SennitError as send() does."""
        message = Message(tensor, sender)
        if sender == self._rank:
            self._to_itself.receive(message)
        else:
            self._channel(sender, self._rank, tensor.device).post(message)
        return message

    def _channel(self, sender: int, receiver: int, device: torch.device) -> Channel:
        with self._making:
            if self._aborted is not None:
                raise self._aborted.again()
            if not self._channels:
                background.start(self._watch)
            if (sender, receiver) not in self._channels:
                sends = sender == self._rank
                store = dist.PrefixStore(f"{sender}>{receiver}/", self._store)
                meeting = Meeting(store, 0 if sends else 1, 2, self.timeout, (sender, receiver))
                most_blocks = of_a_message(device, self._size)
                made = Channel(meeting, sender, receiver, sends, device, most_blocks, self._alive)
                self._channels[sender, receiver] = made
                if self._aborted is not None:  # abort() came too early to find it
                    made.abort(self._aborted.what)
            return self._channels[sender, receiver]

    def _watch(self) -> None:
        """A thread's: what a rank aborts ends the group's communicator, and messages of others here. One that a dead
        rank ended does not: messages between others go on."""
        while not self._closed.wait(_LOOK):
            try:
                with background.meeting():
                    self._alive()
            except background.ProcessEndsError:
                return
            except SennitError as error:
                if error.code == Code.ABORTED:
                    self.abort(error.what)
                return

    def abort(self, why: str) -> None:
        """Waits for nothing."""
        self._aborted = self._aborted or SennitError(Code.ABORTED, why)
        self._to_itself.abort(why)
        for channel in [*self._channels.values(), *self._ending.values()]:
            channel.abort(why)

    def close(self) -> None:
        """Collective for each two ranks that had messages. Waits for those that were posted, as long as they may
        take. All ranks go through directions in one order, so that none waits for one that waits for it. From any
        thread, and again."""
        with self._closing:
            with self._making:
                self._ending, self._channels = self._channels, {}
            for channel in self._ending.values():
                channel.finish()
            for _, channel in sorted(self._ending.items()):
                channel.close()
            self._ending = {}
            self._closed.set()
