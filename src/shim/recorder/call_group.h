// Calls of NCCL between ncclGroupStart and the ncclGroupEnd that begins them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "shim/recorder/gpu_side.h"
#include "shim/recorder/kernel_times.h"
#include "shim/recorder/nccl_choices.h"

namespace sennit::shim::recorder {

/// A thread's group, which may be within another one.
class CallGroup {
 public:
  /// What the group does on one stream.
  struct OnStream {
    void* stream = nullptr;
    GpuTimer::Calls calls;
    bool is_mixed = false;  ///< of several classes: its time is none of theirs
    GpuSide::Call begun;
  };

  /// A call that was recorded. The class is what it is recorded as.
  struct Call {
    profile::Class of;
    profile::Recorded told;
    std::uint64_t arguments = 0;  ///< NcclChoices::key_of()
    NcclCall nccl;                ///< of a call that NCCL chooses something for, else empty
    std::uint8_t how = 0;         ///< what it has chosen, in the profile's numbers; 0: not known
    std::size_t stream = 0;       ///< of `streams()`
  };

  /// A window of NCCL, whose handle is written at the group's end.
  struct Window {
    const std::uint64_t* handle = nullptr;
    std::uint64_t bytes = 0;
  };

  bool is_open() const { return depth_ > 0; }
  /// Whether the next end is that of the outermost one.
  bool ends() const { return depth_ == 1; }
  void start() { ++depth_; }
  void end() {
    if (depth_ == 0 || --depth_ != 0) return;
    streams_.clear();
    calls_.clear();
    windows_.clear();
    lead_ = nullptr;
    asking_.reset();
  }
  void add(void* stream, const Call& call) {
    calls_.push_back(call);
    calls_.back().stream = add(stream, &call.of);
  }
  /// Adds a call of a pause.
  void add_unrecorded(void* stream) { add(stream, nullptr); }
  void add(const Window& window) { windows_.push_back(window); }

  /// Before a call that NCCL chooses something for: the first one of a group says whether NCCL is asked for all.
  void choose_by(NcclChoices::Known& lead) {
    if (lead_ != nullptr) return;
    lead_ = &lead;
    if (lead.uses != 0)
      --lead.uses;
    else
      asking_.emplace();
  }
  /// NCCL has chosen this for a call of the group. It tells of calls in an order of its own.
  void hear(const NcclCall& chosen, std::uint8_t how) {
    for (Call& one : calls_)
      if (one.how == 0 && one.nccl == chosen) {
        one.how = how;
        return;
      }
  }
  /// At the end, once NCCL has done the calls: gives each what NCCL chose for it. That is what was heard, or what was
  /// heard of an equal group; of a group that is unlike, NCCL is asked the next time.
  void learn(NcclChoices& choices) {
    if (lead_ == nullptr) return;
    std::uint64_t key = 0;
    for (const Call& one : calls_) key = NcclChoices::mixed(key ^ one.arguments, one.nccl.bytes);
    NcclChoices::Group& known = choices.of_group(key);
    if (asking_) {
      known.hows.clear();
      for (const Call& one : calls_) known.hows.push_back(one.how);
      lead_->uses = NcclChoices::kUses;
    } else if (known.hows.size() == calls_.size()) {
      for (std::size_t i = 0; i < calls_.size(); ++i) calls_[i].how = known.hows[i];
    } else {
      lead_->uses = 0;
    }
  }
  /// After calls have become of other classes.
  void sort_anew() {
    for (OnStream& one : streams_) one.calls.calls = 0;
    for (const Call& each : calls_) note(streams_[each.stream], &each.of);
  }

  std::vector<OnStream>& streams() { return streams_; }
  std::vector<Call>& calls() { return calls_; }
  const std::vector<Window>& windows() const { return windows_; }
  /// Returns the calls of all streams together; `mixed`: whose they are where they are of several classes.
  KernelTimes::Calls all(const profile::Class& mixed) const {
    KernelTimes::Calls all{streams_.front().calls.of, 0};
    for (const OnStream& one : streams_) {
      if (one.is_mixed || one.calls.of.key() != all.of.key()) return {mixed, 1};
      all.calls += one.calls.calls;
    }
    return all;
  }

 private:
  /// Counts one more call of a stream; null: it is not recorded.
  static void note(OnStream& stream, const profile::Class* of) {
    if (stream.calls.calls == 0 && of != nullptr) stream.calls.of = *of;
    ++stream.calls.calls;
    stream.is_mixed = stream.is_mixed || of == nullptr || stream.calls.of.key() != of->key();
  }
  std::size_t add(void* stream, const profile::Class* of) {
    std::size_t at = 0;
    while (at < streams_.size() && streams_[at].stream != stream) ++at;
    if (at == streams_.size()) streams_.push_back({.stream = stream, .calls = {.of = {}, .calls = 0}, .begun = {}});
    note(streams_[at], of);
    return at;
  }

  int depth_ = 0;
  std::vector<OnStream> streams_;
  std::vector<Call> calls_;
  std::vector<Window> windows_;
  NcclChoices::Known* lead_ = nullptr;  ///< null: NCCL has chosen nothing
  std::optional<AskingNccl> asking_;
};

}  // namespace sennit::shim::recorder
