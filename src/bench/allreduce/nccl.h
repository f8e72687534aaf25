// NCCL's allreduce among the same ranks.
#pragma once

#include <memory>
#include <string>

#include "bench/nccl/library.h"
#include "device/type.h"
#include "path/node.h"

namespace sennit::bench::allreduce {

class Nccl {
 public:
  /// Collective. Errors, the same on every rank: not_found (no library), those of NCCL.
  static Result<std::unique_ptr<Nccl>> open(path::Node& node, const std::string& given);
  /// Aborts rather than destroys: that waits for nobody.
  ~Nccl();

  const std::string& version() const { return version_; }
  /// What NCCL calls it; -1: it has no such.
  static int number_of(device::Type type);
  static int number_of(device::Operator op);
  Status allreduce(const void* input, void* output, std::uint64_t count, device::Type type, device::Operator op,
                   void* stream);

 private:
  Nccl() = default;
  NcclLibrary library_;
  int device_ = 0;
  NcclCommunicator communicator_ = nullptr;
  std::string version_;
};

}  // namespace sennit::bench::allreduce
