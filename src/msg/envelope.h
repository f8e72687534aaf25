// Says where a message goes, in the words of those who match messages.
#pragma once

#include <cstdint>

namespace sennit::msg {

/// Says where a message goes, as its receiver finds it by a probe. Ranks are those of the group.
struct Envelope {
  int dest = -1;
  int tag = 0;
  std::uint64_t context = 0;  ///< that of this process alone, in which tags are matched
  std::uint64_t members = 0;  ///< tells of the context's ranks and their order, alike on all of them

  /// dest_and_tag() of a message that no probe will find: it was cancelled.
  static constexpr std::uint64_t kNoReceiver = ~std::uint64_t{0};
  std::uint64_t dest_and_tag() const { return dest_and_tag(dest, tag); }
  static constexpr std::uint64_t dest_and_tag(int dest, int tag) {
    return std::uint64_t(std::uint32_t(dest)) << 32 | std::uint32_t(tag);
  }
};

}  // namespace sennit::msg
