// What sennit goes by of a communicator's configuration (ncclConfig_t).
#pragma once

namespace sennit::shim::nccl {

/// A part of a communicator has its own where the program gives it one, and of that what it leaves out is NCCL's
/// default; else its parent's.
struct Config {
  bool blocking = true;   ///< calls of such a communicator wait
  unsigned max_ctas = 0;  ///< its kernels may have so many blocks at most; 0: the program does not say
  bool no_ctas = false;   ///< it should do without kernels wherever it can: NCCL_CTA_POLICY_ZERO

  /// `program`: an ncclConfig_t of any version, or null for NCCL's defaults. What the environment says of waiting
  /// counts for more.
  static Config read(const void* program);

  bool operator==(const Config&) const = default;
};

/// How many blocks the user allows collectives of such a communicator; 0: that is not limited. What the environment
/// says counts for more than the program's configuration, also what NCCL's own configuration files put there, so NCCL
/// has to be at work already. As under NCCL, NCCL_MAX_CTAS takes the place of the configuration's number, and
/// NCCL_MAX_NCHANNELS is a limit beside it.
unsigned allowed_blocks(const Config& config);

/// Whether such a communicator should do without kernels; of the environment as above.
bool wants_no_blocks(const Config& config);

}  // namespace sennit::shim::nccl
