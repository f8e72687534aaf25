// Selects the protocol of a message between GPUs. Pure: a sender asks with what it knows before it announces a
// message, its receiver with what it knows when it has come to it, and `sennit explain send` for people.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace sennit::msg {

enum class Protocol : std::uint8_t {
  staged,         ///< through host memory, by the program's library
  kernel_get,     ///< a block that stays on the receiver's GPU fetches it
  rndv_put,       ///< the sender's GPU writes it to where the receiver's RTR says
  rndv_get,       ///< the receiver fetches it from where the RTS says
  rndv_buffered,  ///< the receiver fetches it from host memory, where its sender has left it
  host_bounce,    ///< the same, where the receiver has asked for that
  rndv_pipeline,  ///< in chunks through pinned host memory, between nodes
};
std::string_view name(Protocol protocol);

// Limits of the protocols, in bytes of a message: defaults.
/// Shorter ones are staged: so few bytes are as soon through host memory. From here on they are faster (2 × H200).
inline constexpr std::uint64_t kLeastAnnounced = 256;
/// The longest that a block fetches: stage::SmallCopies::kMostBetween.
inline constexpr std::uint64_t kMostKernelGet = 64 << 10;
/// The longest of which a sender leaves a copy: as long as those that libraries keep for receivers on their node.
inline constexpr std::uint64_t kMostBuffered = 64 << 10;
/// The shortest that goes in chunks: four of them, of which the first and the last overlap with nothing.
inline constexpr std::uint64_t kLeastPipelined = 4 << 20;

/// Holds what is known of a message. A caller that does not know a fact leaves the value that makes the best protocol
/// possible, and asks again with more.
struct Facts {
  std::uint64_t bytes = 0;
  bool same_node = true;
  bool listens = true;       ///< the receiver looks at all that it receives, so it finds an RTS
  bool shareable = true;     ///< the sender's memory can be mapped by others, and a slot is free
  bool may_pipeline = true;  ///< between nodes
  bool to_gpu = true;        ///< it is received into GPU memory
  bool reachable = true;     ///< the receiver can map the sender's memory
  bool sync_memops = true;   ///< at both ends (stage::MemInfo)
  bool block_free = true;    ///< a block for small copies is on the receiver's GPU, and has nothing to do
  bool at_once = true;       ///< the receiver waits, and for this message alone
  bool accepts = true;       ///< the sender is in a call, where it finds an RTR
  bool long_waited = false;  ///< the sender has waited long for its receiver
};

struct Selection {
  Protocol protocol;
  std::string_view reason;  ///< for people
};
Selection select(const Facts& facts);

/// A protocol, and the first of the sizes that take it where all else is as it is.
struct Range {
  std::uint64_t from;
  Protocol protocol;
};
/// Returns the protocols of all sizes, by size.
std::vector<Range> ranges(Facts facts);

/// A situation that people may ask about, and what is known then.
struct Situation {
  std::string_view name;
  Facts facts;
};
std::vector<Situation> situations();

}  // namespace sennit::msg
