// Which receive took which message: MPI's rules, applied to the calls of both sides. A message goes to the receive
// posted first that asks for its sender and tag, and messages of one sender do not overtake each other.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace sennit::profile {

/// A sender or a tag that a receive leaves open.
inline constexpr std::int32_t kAny = std::numeric_limits<std::int32_t>::min();

/// One end of a message to one rank of one communicator.
struct MessageEnd {
  std::uint64_t ns = 0;    ///< the send's begin, or that of the receive
  std::int32_t other = 0;  ///< the sender
  std::int32_t tag = 0;
};
struct Receive : MessageEnd {
  std::uint64_t until = ~std::uint64_t{0};  ///< what is sent later is not for it: the call had returned
};

/// A message that a receive took: when it was sent, and when the receive was posted.
struct Matched {
  std::uint64_t sent = 0, posted = 0;
  bool operator==(const Matched&) const = default;
};

struct Matching {
  std::vector<Matched> matched;
  std::uint64_t sends = 0, receives = 0;  ///< those left over
};

/// Pairs what is sent to one rank of a communicator with its receives. Where receives leave something open, the times
/// decide, but an open one never takes what another receive has to have. `since`: if not 0, all calls before it are
/// unknown, and what has no other side any more had it at that time.
Matching match(std::vector<MessageEnd> sends, std::vector<Receive> receives, std::uint64_t since = 0);

}  // namespace sennit::profile
