"""The C API from Python: a face over include/sennit/sennit.h by ctypes, without anything compiled.

    from sennit.capi import Communicator, Operator, Type

    with Communicator.create() as comm:
        data = comm.allocate(1024)
        comm.allreduce(data, data, 256, Type.FLOAT32, Operator.SUM)
        comm.synchronize()

Memory is an address and streams are a cudaStream_t as a number, as in C. Errors are SennitError. sennit.torch puts
tensors over it."""

from sennit.capi.communicator import Communicator, Message, Window
from sennit.capi.error import SennitError
from sennit.capi.names import Code, Operator, Type
from sennit.capi.partitioned import PartitionedReceive, PartitionedSend

__all__ = [
    "Code",
    "Communicator",
    "Message",
    "Operator",
    "PartitionedReceive",
    "PartitionedSend",
    "SennitError",
    "Type",
    "Window",
]
