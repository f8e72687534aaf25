// Notes the program's own messages that are as long as RTSs (messages.h), on their way from this process: a rank that
// probes for one must not take it for a message that is announced by so many bytes.
//
// 1. Each such message is noted before it is sent, and again when its send returns, with the time: a count.
// 2. While one may be unreceived, no message to the same receiver with the same tag is announced by as many bytes: it
//    gets another length, or is staged.
// 3. An RTS that was taken has been received, and with it every message before it of the same
//    context, tag and receiver, since none overtakes another. Those are forgotten.
//
// Messages that come behind an RTS of their length are the receiver's to tell apart: Messages::announced().
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "msg/rts.h"

namespace sennit::msg {

/// Thread-safe.
class LookAlikes {
 public:
  using Steps = std::bitset<Rts::kSteps>;

  /// A send under way; its end is that of the call. Empty: of a message that looks like no RTS.
  class Sending {
   public:
    Sending() = default;
    Sending(Sending&& other) noexcept : all_(std::exchange(other.all_, nullptr)), noted_(other.noted_) {}
    Sending& operator=(Sending&&) = delete;
    ~Sending() {
      if (all_ != nullptr) all_->sent(*noted_);
    }

   private:
    friend class LookAlikes;
    struct Noted {
      int under_way = 0;         // calls that have not returned
      bool again = false;        // a persistent one may send at any time
      std::uint64_t latest = 0;  // when one returned, or a persistent one was made
    };
    Sending(LookAlikes& all, Noted& noted) : all_(&all), noted_(&noted) {}
    LookAlikes* all_ = nullptr;
    Noted* noted_ = nullptr;
  };

  /// Notes a message as long as RTSs of `step`. `again`: it may be sent any time from now on (persistent).
  Sending begin(const Envelope& to, int step, bool again) {
    const std::lock_guard lock(mutex_);
    const Stream stream{to.dest, to.tag, to.context};
    if (streams_.size() >= kMostStreams && !streams_.contains(stream)) forget_oldest();
    Sending::Noted& noted = streams_[stream][step];
    if (again) {
      noted.again = true;
      noted.latest = ++time_;
      return {};
    }
    ++noted.under_way;
    return {*this, noted};
  }

  /// Returns the steps whose RTSs a message to `dest` with this tag may look like.
  Steps doubtful(int dest, int tag) const {
    Steps steps;
    const std::lock_guard lock(mutex_);
    for (auto it = streams_.lower_bound({dest, tag, 0}); it != streams_.end(); ++it) {
      const auto& [its_dest, its_tag, context] = it->first;
      if (its_dest != dest || its_tag != tag) break;
      for (const auto& [step, noted] : it->second) steps.set(static_cast<std::size_t>(step));
    }
    return steps;
  }

  /// Returns the time, before an RTS is sent, for taken().
  std::uint64_t now() {
    const std::lock_guard lock(mutex_);
    return ++time_;
  }
  /// Forgets what came before such an RTS, which has been received.
  void taken(const Envelope& to, std::uint64_t sent) {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find({to.dest, to.tag, to.context});
    if (found == streams_.end()) return;
    std::erase_if(found->second, [&](const auto& each) {
      const auto& [step, noted] = each;
      return noted.under_way == 0 && !noted.again && noted.latest < sent;
    });
    if (found->second.empty()) streams_.erase(found);
  }

 private:
  using Stream = std::tuple<int, int, std::uint64_t>;  // receiver, tag and context
  using Lengths = std::map<int, Sending::Noted>;       // by step; nodes stay where they are

  /// A default, for programs that take a new tag each time: the oldest is then believed to be received, and
  /// where all are persistent, the oldest of them to be freed.
  static constexpr std::size_t kMostStreams = 1024;

  void sent(Sending::Noted& noted) {
    const std::lock_guard lock(mutex_);
    noted.latest = ++time_;
    --noted.under_way;
  }
  void forget_oldest() {
    // Messages that may be sent again are forgotten last, and those whose call has not returned never.
    const auto age = [](const auto& stream) {
      bool under_way = false, again = false;
      std::uint64_t latest = 0;
      for (const auto& [step, noted] : stream.second) {
        under_way = under_way || noted.under_way != 0;
        again = again || noted.again;
        latest = std::max(latest, noted.latest);
      }
      return std::tuple(under_way, again, latest);
    };
    const auto oldest = std::ranges::min_element(streams_, {}, age);
    if (!std::get<0>(age(*oldest))) streams_.erase(oldest);
  }

  mutable std::mutex mutex_;
  std::map<Stream, Lengths> streams_;
  std::uint64_t time_ = 0;
};

}  // namespace sennit::msg
