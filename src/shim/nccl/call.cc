#include "shim/nccl/call.h"

#include <algorithm>

namespace sennit::shim::nccl {

coll::Operation operation_of(Entry entry) {
  using enum coll::Operation;
  switch (entry) {
    case Entry::reduce_scatter: return coll::Operation::reduce_scatter;
    case Entry::all_gather: return allgather;
    case Entry::broadcast:
    case Entry::bcast: return coll::Operation::broadcast;
    case Entry::reduce: return coll::Operation::reduce;
    case Entry::all_to_all: return coll::Operation::all_to_all;
    case Entry::gather: return coll::Operation::gather;
    case Entry::scatter: return coll::Operation::scatter;
    case Entry::send:
    case Entry::recv: return coll::Operation::sendrecv;
    default: return allreduce;
  }
}

std::string_view name_of(Entry entry) {
  switch (entry) {
    case Entry::all_reduce: return "allreduce";
    case Entry::reduce_scatter: return "reduce_scatter";
    case Entry::all_gather: return "allgather";
    case Entry::broadcast:
    case Entry::bcast: return "bcast";
    case Entry::reduce: return "reduce";
    case Entry::all_to_all: return "alltoall";
    case Entry::gather: return "gather";
    case Entry::scatter: return "scatter";
    case Entry::send: return "send";
    case Entry::recv: return "recv";
    default: return "another call";
  }
}

std::string_view switch_of(coll::Operation operation) {
  switch (operation) {
    case coll::Operation::broadcast: return "bcast";
    case coll::Operation::all_to_all: return "alltoall";
    case coll::Operation::sendrecv: return Switches::kMessages;
    default: return coll::name(operation);
  }
}

bool takes_any(const Switches& switches) {
  return std::ranges::any_of(coll::all_operations(),
                             [&](coll::Operation operation) { return switches.takes(switch_of(operation)); });
}

int pass_on(const Functions& nccl, const Call& call) {
  const auto& [entry, input, output, count, type, op, root, comm, stream] = call;
  switch (entry) {
    case Entry::all_reduce: return nccl.all_reduce(input, output, count, type, op, comm, stream);
    case Entry::reduce_scatter: return nccl.reduce_scatter(input, output, count, type, op, comm, stream);
    case Entry::all_gather: return nccl.all_gather(input, output, count, type, comm, stream);
    case Entry::broadcast: return nccl.broadcast(input, output, count, type, root, comm, stream);
    case Entry::bcast: return nccl.bcast(output, count, type, root, comm, stream);
    case Entry::reduce: return nccl.reduce(input, output, count, type, op, root, comm, stream);
    case Entry::all_to_all: return nccl.all_to_all(input, output, count, type, comm, stream);
    case Entry::gather: return nccl.gather(input, output, count, type, root, comm, stream);
    case Entry::scatter: return nccl.scatter(input, output, count, type, root, comm, stream);
    case Entry::send: return nccl.send(input, count, type, root, comm, stream);
    case Entry::recv: return nccl.recv(output, count, type, root, comm, stream);
    default: return kInternalError;
  }
}

}  // namespace sennit::shim::nccl
