"""sennit beside a group of torch.distributed's, whatever backend that has: functions on tensors go through it."""

from __future__ import annotations

import threading
import weakref
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from sennit.capi import Code, SennitError
from sennit.torch import background
from sennit.torch.member import Member
from sennit.torch.process_group import ProcessGroup

_members: weakref.WeakKeyDictionary[Any, Member] = weakref.WeakKeyDictionary()
_making = threading.RLock()  # the collector may end a group meanwhile, in this thread
_TIMEOUT = timedelta(minutes=30)  # what torch.distributed gives a group that is not NCCL's


def is_member(group: dist.ProcessGroup | None) -> bool:
    """Whether this rank is in the group: what torch.distributed.new_group() gives others is none."""
    return bool(group is None or group != dist.GroupMember.NON_GROUP_MEMBER)


def expect_member(group: dist.ProcessGroup | None) -> None:
    """Raises SennitError (INVALID_ARGUMENT) where it is not."""
    if not is_member(group):
        raise SennitError(
            Code.INVALID_ARGUMENT, "this rank is not in the group", "", "Call it on the group's members alone"
        )


def member_of(group: dist.ProcessGroup | None) -> Member:
    """None means the default group. Raises SennitError (INVALID_ARGUMENT) where there is none, or this rank is not in
    the group."""
    expect_member(group)
    if group is None:
        if not dist.is_initialized():
            raise SennitError(
                Code.INVALID_ARGUMENT, "there is no process group", "",
                "Call torch.distributed.init_process_group() first",
            )  # fmt: skip
        group = dist.group.WORLD
    if isinstance(group, ProcessGroup):
        return group.member
    with _making:
        if group not in _members:
            store = dist.PrefixStore("sennit.torch/", group.get_group_store())
            made = _members[group] = Member(store, group.rank(), group.size(), _TIMEOUT)
            weakref.finalize(group, background.start, made.outlive).atexit = False
        return _members[group]
