// What kind of memory buffers lie in, remembered by their addresses: programs give NCCL the same few buffers again
// and again, and to ask the driver of two of them takes longer than all else that a record costs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "profile/layout.h"

namespace sennit::shim::recorder {

/// A thread's. Nobody says when memory is freed, and another kind may have its address from then on. So an answer
/// holds for kUses calls: a record may name the wrong kind until then, and nothing else goes by it.
class MemoryKinds {
 public:
  static constexpr std::uint32_t kUses = 64;

  /// `ask(address)` is the driver's answer.
  template <class Ask>
  profile::Memory of(const void* address, const Ask& ask) {
    if (address == nullptr) return profile::Memory::absent;
    Known& known = known_[((reinterpret_cast<std::uintptr_t>(address) >> 4) * 0x9e3779b97f4a7c15u) >> (64 - kBits)];
    if (known.address != address || known.uses == 0) known = {address, kUses, ask(address)};
    --known.uses;
    return known.kind;
  }

 private:
  static constexpr unsigned kBits = 8;
  struct Known {
    const void* address = nullptr;
    std::uint32_t uses = 0;
    profile::Memory kind = profile::Memory::absent;
  };
  std::array<Known, std::size_t{1} << kBits> known_{};
};

}  // namespace sennit::shim::recorder
