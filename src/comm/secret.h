// Makes secrets of a job and proofs of knowing them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "comm/sha256.h"
#include "comm/wire.h"

namespace sennit::comm {

/// Returns `count` random bytes that cannot be guessed, as lower-case hexadecimal digits. Errors: system_error.
Result<std::string> random_hex(std::size_t count);

/// Lower-case hexadecimal digits of `bytes`.
std::string hex(std::span<const std::byte> bytes);

/// The two ends of one conversation, and what was said at its start: a proof holds for these and no others.
struct Talk {
  std::string purpose;  ///< "bootstrap", "node", "nodes": a proof for one is none for another
  int host = 0;         ///< rank that listens
  int guest = 0;        ///< rank that connected
  int size = 0;         ///< ranks that the guest believes there are
  std::string host_nonce, guest_nonce;
};

/// Returns a proof that only someone who knows `secret` can compute. `who` is "host" or "guest", so that neither
/// side's proof can be sent back to it as the other's.
Digest prove(std::string_view secret, std::string_view who, const Talk& talk);

}  // namespace sennit::comm
