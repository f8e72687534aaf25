// Calls NCCL's collectives among the same ranks.
#pragma once

#include <memory>
#include <string>

#include "bench/nccl/library.h"
#include "coll/operation.h"
#include "device/reduction.h"
#include "node/node.h"

namespace sennit::bench::collective {

/// Describes a call of NCCL as coll::Request does one of sennit.
struct NcclCall {
  coll::Operation operation = coll::Operation::allreduce;
  const void* input = nullptr;
  void* output = nullptr;
  std::uint64_t count = 0;  ///< elements of a message
  device::Type type = device::Type::float32;
  device::Operator op = device::Operator::sum;
  int root = 0;
};

class Nccl {
 public:
  /// Collective. Errors, the same on every rank: unsupported where the node has no
  /// GPUs; not_found (no library); those of NCCL. The node outlives it.
  static Result<std::unique_ptr<Nccl>> open(node::Node& node, const std::string& given);
  /// Aborts rather than destroys: an abort waits for no rank.
  ~Nccl();

  const std::string& version() const { return version_; }
  /// Returns NCCL's number for a type or an operator; -1 where NCCL has none.
  static int number_of(device::Type type);
  static int number_of(device::Operator op);
  /// Makes the call. Operations that NCCL lacks are made as NCCL's users make them: all-to-all, gather and scatter
  /// before 2.28, and all-to-all-v, as grouped sends and receives; a barrier as an allreduce of one number.
  Status call(const NcclCall& call, void* stream);

  /// Collective. Makes two buffers in windows that NCCL's symmetric kernels and copy engines work on. Errors, the
  /// same on every rank: unsupported (a library before 2.27), those of NCCL.
  Status make_windows(node::Node& node, std::uint64_t bytes);
  bool has_windows() const { return has_windows_; }
  /// Returns one of the two windows, 0 or 1.
  std::byte* window(unsigned which) const { return static_cast<std::byte*>(window_[which]); }

 private:
  explicit Nccl(device::Executor& executor) : executor_(executor) {}
  int exchange(const NcclCall& call, NcclLibrary::Stream stream);
  int pass_round(const NcclCall& call, NcclLibrary::Stream stream);

  device::Executor& executor_;  // the node's, which outlives this
  NcclLibrary library_;
  int device_ = 0, rank_ = 0, size_ = 1;
  NcclCommunicator communicator_ = nullptr;
  device::Memory one_;  // the number that a barrier reduces
  void* window_[2] = {};
  bool has_windows_ = false;  // both, on all ranks
  std::string version_;
};

}  // namespace sennit::bench::collective
