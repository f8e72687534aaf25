"""sennit for PyTorch: a backend of torch.distributed, and functions on tensors. docs/use/torch.md is the tour.

    import sennit.torch
    torch.distributed.init_process_group("cuda:sennit,cpu:gloo")

Importing it registers the backend. Nothing of it is compiled; it needs PyTorch 2.8 or later."""

try:
    import torch.distributed as dist
except ModuleNotFoundError:
    raise ModuleNotFoundError("sennit.torch needs PyTorch 2.8 or later: pip install torch", name="torch") from None

from sennit.capi import SennitError
from sennit.torch.copying import copy_
from sennit.torch.functions import allreduce
from sennit.torch.process_group import ProcessGroup, create
from sennit.torch.windows import Window, empty, get, put, register

NAME = "sennit"

dist.Backend.register_backend(NAME, create, devices=["cuda"])
# Since 2.15 PyTorch hangs a recorder of its own on groups that do not record their calls. It asks a backend of C++
# for its name, which a group of Python's does not have, and no group could be made.
_recorded: set[str] = getattr(dist.distributed_c10d, "_FR_SELF_RECORDING_BACKENDS", set())
_recorded.add(NAME)

__all__ = ["NAME", "ProcessGroup", "SennitError", "Window", "allreduce", "copy_", "empty", "get", "put", "register"]
