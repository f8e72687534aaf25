// Describes a collective, or a message, as the program asked NCCL for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "coll/operation.h"
#include "device/reduction.h"
#include "shim/nccl/abi/abi.h"
#include "shim/switches.h"

namespace sennit::shim::nccl {

struct Call {
  Entry entry = Entry::all_reduce;  ///< a collective, send or recv
  const void* input = nullptr;
  void* output = nullptr;
  std::size_t count = 0;
  int type = 0;  ///< ncclDataType_t
  int op = 0;    ///< ncclRedOp_t; 0 where nothing is reduced
  int root = 0;  ///< or the peer of a message
  Comm comm = nullptr;
  Stream stream = nullptr;

  bool operator==(const Call&) const = default;
  /// Returns true if the library that does the one does the other: they differ in buffers and streams at most.
  bool is_alike(const Call& other) const {
    return comm == other.comm && entry == other.entry && count == other.count && type == other.type &&
           op == other.op && root == other.root;
  }
  bool is_message() const { return entry == Entry::send || entry == Entry::recv; }
};

/// Returns the operation that an entry stands for, which is the same for both sides of a message.
coll::Operation operation_of(Entry entry);
/// Returns the name in reports, as the drop-in for MPI has it: "allreduce", "bcast".
std::string_view name_of(Entry entry);
/// Returns the name in SENNIT_OPS.
std::string_view switch_of(coll::Operation operation);
/// Returns true if SENNIT_OPS names any of NCCL's calls, or is not set.
bool takes_any(const Switches& switches);

/// Returns the element type and the operator of a call; empty where sennit has no such, or where other ranks may
/// decide otherwise.
std::optional<device::Reduction> reduction_of(const Call& call);

/// Hands the call to NCCL as it is.
int call_nccl(const Functions& nccl, const Call& call);

}  // namespace sennit::shim::nccl
