// What NCCL chose for a collective: algorithm, protocol and channels, as its profiler plug-in hears (nccl_plugin.cc).
// NCCL decides by the call's arguments, so it is asked for the first of equal calls and now and then again: events
// cost time, and every other call is told what the one before it was. Calls of a group NCCL may do together, so these
// are asked for by whole groups (call_group.h): whether NCCL tells of a call is up to the time of the call, and what
// it chose comes out when the group ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/layout.h"

namespace sennit::shim::recorder {

/// A collective as NCCL's events name it: by function ("AllReduce"), buffers as the caller gave them, and bytes of
/// what one rank has.
struct NcclCall {
  std::string_view function;
  const void *input = nullptr, *output = nullptr;
  std::uint64_t bytes = 0;

  bool operator==(const NcclCall&) const = default;
};

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
  /// A group of calls with the choices for each.
  struct Group {
    std::uint64_t key = 0;
    std::vector<std::uint8_t> hows;  ///< in the order of the calls; empty: NCCL was not asked
  };

  /// What else than its bytes NCCL goes by.
  static std::uint64_t key_of(const profile::Call& call) {
    return std::uint64_t{call.function} << 48 | std::uint64_t{call.communicator} << 32 |
           std::uint64_t{call.type} << 16 | std::uint64_t{call.reduction} << 8 | 1;
  }
  static std::uint64_t mixed(std::uint64_t arguments, std::uint64_t bytes) {
    return (arguments ^ bytes * 0xd6e8feb86659fd93u) * 0x9e3779b97f4a7c15u;
  }
  /// The place of calls like this one; `leads`: of groups that begin with such a call.
  Known& of(const profile::Call& call, bool leads = false) {
    const std::uint64_t arguments = key_of(call) + (leads ? 1 : 0);
    const std::uint64_t bytes = call.bytes_in > call.bytes_out ? call.bytes_in : call.bytes_out;
    Known& known = known_[mixed(arguments, bytes) >> (64 - kBits)];
    if (known.arguments != arguments || known.bytes != bytes) known = {arguments, bytes, 0, 0};
    return known;
  }
  Group& of_group(std::uint64_t key) {
    Group& known = groups_[key >> (64 - kGroupBits)];
    if (known.key != key) known = {key, {}};
    return known;
  }

 private:
  static constexpr unsigned kBits = 7, kGroupBits = 6;
  std::array<Known, std::size_t{1} << kBits> known_{};
  std::array<Group, std::size_t{1} << kGroupBits> groups_{};
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

/// While it lives, NCCL tells the plug-in of collectives that are called; what it chose for one of the calling thread
/// is then `OwnThread::how`, or the group's.
class AskingNccl {
 public:
  AskingNccl() { event_masks().ask(1); }
  ~AskingNccl() { event_masks().ask(-1); }
  AskingNccl(const AskingNccl&) = delete;
  AskingNccl& operator=(const AskingNccl&) = delete;
};

}  // namespace sennit::shim::recorder
