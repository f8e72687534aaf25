// What sennit goes by of a communicator's configuration (ncclConfig_t).
#pragma once

namespace sennit::shim::nccl {

/// A part of a communicator has its own where the program gives it one, and of that what it leaves out is NCCL's
/// default; else its parent's.
struct Config {
  bool blocking = true;   ///< calls of such a communicator wait
  unsigned max_ctas = 0;  ///< its kernels may have so many blocks at most; 0: the program does not say

  /// `program`: an ncclConfig_t of any version, or null for NCCL's defaults. What the environment says of waiting
  /// counts for more.
  static Config read(const void* program);

  bool operator==(const Config&) const = default;
};

/// How many blocks the user allows collectives of such a communicator; 0: that is not limited. What the environment
/// says counts for more than the program's configuration, also what NCCL's own configuration files put there, so NCCL
/// has to be at work already.
unsigned allowed_blocks(const Config& config);

}  // namespace sennit::shim::nccl
