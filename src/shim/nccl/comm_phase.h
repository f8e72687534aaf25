// Lists the phases of a communicator of NCCL's, from its making to its end, and how events move it from one to the
// next.
#pragma once

#include <cstdint>

namespace sennit::shim::nccl {

/// A communicator's phase. In the "unmade" ones the program has ended it, and a thread still makes it.
enum class CommPhase : std::uint8_t {
  making,          ///< NCCL or sennit still makes it
  ready,           ///< it is made, and sennit has a communicator beside NCCL's
  nccl_only,       ///< it is made, and all its calls are NCCL's
  finalizing,      ///< as `ready`, and the program waits for its end by asking
  revoked_unmade,  ///< as `revoked`, before it was made
  aborted_unmade,  ///< as `aborted`, before it was made
  revoked,         ///< its work has been ended; NCCL's communicator goes on under another CommState
  aborted,         ///< its work has been ended, and NCCL's communicator is gone
};
inline constexpr int kPhases = 8;

enum class CommEvent : std::uint8_t {
  made,            ///< sennit's communicator is there
  made_nccl_only,  ///< sennit will have no communicator
  finalize,        ///< ncclCommFinalize of a communicator that does not block
  revoke,          ///< the program ended its work, and keeps NCCL's communicator
  abort,           ///< the program ended it
};
inline constexpr int kEvents = 5;

/// Returns true once no thread makes it any more: sennit's communicator is set, or never will be.
constexpr bool is_made(CommPhase phase) {
  using enum CommPhase;
  return phase != making && phase != revoked_unmade && phase != aborted_unmade;
}

/// Returns true once the program has ended its work: NCCL must not be asked of it any more.
constexpr bool is_over(CommPhase phase) {
  using enum CommPhase;
  return phase == revoked_unmade || phase == aborted_unmade || phase == revoked || phase == aborted;
}

/// Returns true once an abort has freed NCCL's communicator.
constexpr bool is_freed(CommPhase phase) {
  return phase == CommPhase::aborted_unmade || phase == CommPhase::aborted;
}

/// Returns the phase behind an event. An event that does not fit changes nothing: threads of the program race for a
/// communicator's end. Pure.
constexpr CommPhase next(CommPhase phase, CommEvent event) {
  using enum CommPhase;
  switch (event) {
    case CommEvent::made:
    case CommEvent::made_nccl_only:
      if (phase == making) return event == CommEvent::made ? ready : nccl_only;
      if (phase == revoked_unmade) return revoked;
      return phase == aborted_unmade ? aborted : phase;
    case CommEvent::finalize: return phase == ready ? finalizing : phase;
    case CommEvent::revoke:
      if (is_over(phase)) return phase;
      return is_made(phase) ? revoked : revoked_unmade;
    case CommEvent::abort: return is_made(phase) ? aborted : aborted_unmade;
  }
  return phase;
}

}  // namespace sennit::shim::nccl
