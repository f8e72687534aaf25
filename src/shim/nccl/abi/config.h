// Reads the part of a communicator's configuration (ncclConfig_t) that sennit goes by.
#pragma once

namespace sennit::shim::nccl {

/// A communicator's configuration. A child has its own where the program gives it one, and NCCL's defaults for what
/// that leaves out; else it has its parent's.
struct Config {
  bool blocking = true;   ///< calls of such a communicator wait
  unsigned max_ctas = 0;  ///< its kernels may have so many blocks at most; 0: the program does not say
  bool no_ctas = false;   ///< it should do without kernels wherever it can: NCCL_CTA_POLICY_ZERO

  /// Reads an ncclConfig_t of any version; null: NCCL's defaults. What the environment says of waiting counts for
  /// more.
  static Config read(const void* program);

  bool operator==(const Config&) const = default;
};

/// Returns how many blocks the user allows collectives of such a communicator; 0: no limit. What the environment says
/// counts for more than the program's configuration, also what NCCL's own configuration files put there, so NCCL
/// has to be at work already. As under NCCL, NCCL_MAX_CTAS takes the place of the configuration's number, and
/// NCCL_MAX_NCHANNELS is a limit beside it.
unsigned allowed_blocks(const Config& config);

/// Returns true if such a communicator should do without kernels. The environment counts for more, as above.
bool wants_no_blocks(const Config& config);

}  // namespace sennit::shim::nccl
