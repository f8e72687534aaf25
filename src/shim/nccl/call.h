// A collective, or a message, as the program asked NCCL for it.
#pragma once

#include <cstdint>
#include <string_view>

#include "coll/operation.h"
#include "shim/nccl/abi.h"
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
  /// Whether whoever does the one does the other: they differ in buffers and streams at most.
  bool is_alike(const Call& other) const {
    return comm == other.comm && entry == other.entry && count == other.count && type == other.type &&
           op == other.op && root == other.root;
  }
  bool is_message() const { return entry == Entry::send || entry == Entry::recv; }
};

/// The operation that an entry stands for; for both sides of a message the same.
coll::Operation operation_of(Entry entry);
/// In reports, as the drop-in for MPI says it: "allreduce", "bcast".
std::string_view name_of(Entry entry);
/// In SENNIT_OPS.
std::string_view switch_of(coll::Operation operation);
/// Whether SENNIT_OPS names any of NCCL's calls, or is not set.
bool takes_any(const Switches& switches);

/// Hands the call to NCCL as it is.
int pass_on(const Functions& nccl, const Call& call);

}  // namespace sennit::shim::nccl
