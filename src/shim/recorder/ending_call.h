// A call of MPI that may end requests or receive a message: which requests ended, and the status of each.
#pragma once

#include <cstddef>
#include <vector>

#include "shim/mpi/abi/library.h"
#include "shim/mpi/call/frame.h"

namespace sennit::shim::recorder {

/// What a thread keeps for its calls that end many requests.
struct RoomForRequests {
  std::vector<mpi::Handle> handles;
  std::vector<std::byte> statuses;
};

/// The requests that a function ends: the one it is given, all of some, one of some, or a part of them. Those with a
/// flag end them only where that is set.
enum class Ending : std::uint8_t { none, one, all, any, some };

inline Ending ending_of(mpi::Entry entry) {
  using mpi::Entry;
  switch (entry) {
    case Entry::Wait:
    case Entry::Test: return Ending::one;
    case Entry::Waitall:
    case Entry::Testall: return Ending::all;
    case Entry::Waitany:
    case Entry::Testany: return Ending::any;
    case Entry::Waitsome:
    case Entry::Testsome: return Ending::some;
    default: return Ending::none;
  }
}

template <class Abi>
class EndingCall {
 public:
  using Status = typename Abi::Status;

  /// Before the call, which changes the program's handles. Statuses that the program ignores are read by others.
  EndingCall(mpi::Frame& frame, Ending ending, RoomForRequests& room) : frame_(frame), ending_(ending), room_(room) {
    const mpi::Description& of = *frame.of;
    if (ending == Ending::one) {
      room.handles.assign(1, handle_at(0));
    } else if (ending != Ending::none) {
      const int count = frame.number(of.request_count);
      room.handles.clear();
      if (frame.pointer(of.requests) != nullptr)
        for (int i = 0; i < count; ++i) room.handles.push_back(handle_at(i));
    }
    if (is_ignored(of.status)) frame[of.status] = mpi::to_bits(&own_);
    if (is_ignored(of.statuses)) {
      room.statuses.resize((room.handles.size() + 1) * sizeof(Status));
      frame[of.statuses] = mpi::to_bits(room.statuses.data());
    }
  }
  EndingCall(const EndingCall&) = delete;
  EndingCall& operator=(const EndingCall&) = delete;

  /// After a call that did well: visit(request, status) of each that it ended.
  template <class Visit>
  void visit(const Visit& visit) const {
    const mpi::Description& of = *frame_.of;
    if (of.flag != mpi::kAbsent && *frame_.pointer<int>(of.flag) == 0) return;
    switch (ending_) {
      case Ending::none: return;
      case Ending::one: return visit(room_.handles[0], status());
      case Ending::all:
        for (std::size_t i = 0; i < room_.handles.size(); ++i) visit(room_.handles[i], statuses()[i]);
        return;
      case Ending::any: return visit_one(*frame_.pointer<int>(of.indices), status(), visit);
      case Ending::some: {
        const int ended = *frame_.pointer<int>(of.completed);
        if (ended == Abi::kUndefined) return;
        for (int i = 0; i < ended; ++i) visit_one(frame_.pointer<int>(of.indices)[i], statuses()[i], visit);
      }
    }
  }
  /// After one that failed: visit(request) of each that is gone.
  template <class Visit>
  void visit_gone(mpi::Handle null, const Visit& visit) const {
    for (std::size_t i = 0; ending_ != Ending::none && i < room_.handles.size(); ++i)
      if (room_.handles[i] != null && handle_at(static_cast<int>(i)) == null) visit(room_.handles[i]);
  }
  const Status& status() const { return *frame_.pointer<Status>(frame_.of->status); }

 private:
  bool is_ignored(mpi::Argument status) const {
    return status != mpi::kAbsent && frame_.integer(status) == Abi::kStatusIgnore;
  }
  mpi::Handle handle_at(int index) const {
    const mpi::Description& of = *frame_.of;
    const auto* const at =
        frame_.pointer<const typename Abi::Request>(ending_ == Ending::one ? of.request : of.requests);
    return at != nullptr ? mpi::to_handle(at[index]) : mpi::kNoHandle;
  }
  const Status* statuses() const { return frame_.pointer<const Status>(frame_.of->statuses); }
  template <class Visit>
  void visit_one(int index, const Status& status, const Visit& visit) const {
    if (index >= 0 && static_cast<std::size_t>(index) < room_.handles.size())
      visit(room_.handles[static_cast<std::size_t>(index)], status);
  }

  mpi::Frame& frame_;
  const Ending ending_;
  RoomForRequests& room_;
  mutable Status own_{};  // MPI writes it
};

}  // namespace sennit::shim::recorder
