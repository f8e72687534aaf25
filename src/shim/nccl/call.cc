#include "shim/nccl/call.h"

#include <algorithm>

#include "shim/nccl/abi/types.h"

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

std::optional<device::Reduction> reduction_of(const Call& call) {
  const auto type = type_of(call.type);
  if (!type) return std::nullopt;
  if (!coll::reduces(operation_of(call.entry))) return device::Reduction{*type};
  const auto op = operator_of(call.op);
  if (!op || !device::supports(*type, *op)) return std::nullopt;
  return device::Reduction{*type, *op};
}

#include "nccl_calls.inc"

}  // namespace sennit::shim::nccl
