// What NCCL chose for a collective: algorithm, protocol and channels, as its profiler plug-in hears (nccl_plugin.cc).
// NCCL decides by the call's arguments, so it is asked for the first of equal calls and now and then again: events
// cost time, and every other call is told what the one before it was.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "profile/layout.h"

namespace sennit::shim::recorder {

/// A thread's.
class NcclChoices {
 public:
  /// So many equal calls have one answer, also that there was none.
  static constexpr std::uint32_t kUses = 1024;

  struct Known {
    std::uint64_t arguments = 0, bytes = 0;
    std::uint32_t uses = 0;  ///< left; 0: NCCL is to be asked
    std::uint8_t how = 0;    ///< in the profile's numbers; 0: not known
  };
  /// The place of calls like this one.
  Known& of(const profile::Call& call) {
    const std::uint64_t arguments = std::uint64_t{call.function} << 48 | std::uint64_t{call.communicator} << 32 |
                                    std::uint64_t{call.type} << 16 | std::uint64_t{call.reduction} << 8 | 1;
    const std::uint64_t bytes = call.bytes_in > call.bytes_out ? call.bytes_in : call.bytes_out;
    Known& known = known_[((arguments ^ bytes * 0xd6e8feb86659fd93u) * 0x9e3779b97f4a7c15u) >> (64 - kBits)];
    if (known.arguments != arguments || known.bytes != bytes) known = {arguments, bytes, 0, 0};
    return known;
  }

 private:
  static constexpr unsigned kBits = 7;
  std::array<Known, std::size_t{1} << kBits> known_{};
};

/// Which events NCCL tells its plug-in, by communicator: it looks at a mask before each. Thread-safe.
class EventMasks {
 public:
  struct Mask {
    int* at = nullptr;  ///< NCCL's: one for all communicators, or one for each
    int always = 0, asked = 0;
  };
  void add(const void* communicator, const Mask& mask);
  /// Its mask may go. Nothing happens to one that was never added.
  void remove(const void* communicator);
  /// One more, or one less (-1), wants what is told when it is asked for.
  void ask(int by);

 private:
  void set() const;

  std::mutex mutex_;  ///< of all below
  std::unordered_map<const void*, Mask> masks_;
  int asking_ = 0;
};
/// Those of this process.
EventMasks& event_masks();

/// While it lives, NCCL tells the plug-in of collectives that it enqueues; what it chose for one of the calling
/// thread is then `OwnThread::how`.
class AskingNccl {
 public:
  AskingNccl() { event_masks().ask(1); }
  ~AskingNccl() { event_masks().ask(-1); }
  AskingNccl(const AskingNccl&) = delete;
  AskingNccl& operator=(const AskingNccl&) = delete;
};

}  // namespace sennit::shim::recorder
