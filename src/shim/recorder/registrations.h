// Memory that a program has registered: with NCCL, in windows of NCCL or MPI, or had MPI allocate.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "profile/recorder.h"

namespace sennit::shim::recorder {

/// A registration is found by this when it ends: the handle or address that it has, and the window that it is part
/// of, or 0. Handles of several kinds may be alike.
struct RegisteredAs {
  std::uint16_t function = 0;  ///< that made it, of the recorder
  std::uint64_t handle = 0, window = 0;
  // clang-tidy takes the zero that this compares with for a null pointer.
  auto operator<=>(const RegisteredAs&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// Thread-safe.
class Registrations {
 public:
  void begin(profile::Recorder& recorder, const RegisteredAs& as, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = open_.try_emplace(as, 0);
    // One that ended unseen, or was registered twice, which counts once as long as it is there.
    if (!is_new) recorder.end_registration(as.function, std::exchange(at->second, 0));
    at->second = bytes;
    recorder.begin_registration(as.function, bytes);
  }
  void end(profile::Recorder& recorder, const RegisteredAs& as) {
    const std::lock_guard lock(mutex_);
    if (const auto at = open_.find(as); at != open_.end()) end(recorder, at);
  }
  /// Ends all registrations that are part of a window.
  void end_of(profile::Recorder& recorder, std::uint64_t window) {
    const std::lock_guard lock(mutex_);
    for (auto at = open_.begin(); at != open_.end();) {
      const auto next = std::next(at);
      if (at->first.window == window) end(recorder, at);
      at = next;
    }
  }

 private:
  using Open = std::map<RegisteredAs, std::uint64_t>;
  void end(profile::Recorder& recorder, Open::iterator at) {
    recorder.end_registration(at->first.function, at->second);
    open_.erase(at);
  }

  std::mutex mutex_;  ///< nothing is taken under it
  Open open_;         ///< bytes
};

}  // namespace sennit::shim::recorder
