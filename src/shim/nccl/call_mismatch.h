// Finds calls of a program's ranks that do not match. Under NCCL, too, they wait for each other for ever, or compute
// nonsense; here it shows by what ranks note, of their last calls and of how many each library has had.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/control.h"

namespace sennit::shim::nccl {

/// Returns a warning if a rank has another call than rank `own` in the same place of their order, which no order of
/// calls mends; empty while all may still come to the same call. `latest`: what each rank noted last. Pure.
std::optional<std::string> mismatch_among(std::span<const comm::Operation> latest, int own);

/// Returns a rank that has ended the communicator (`ended`, by rank) without the call that rank `own` is in, if there
/// is one. Pure.
std::optional<int> ended_before(std::span<const comm::Operation> latest, const std::vector<bool>& ended, int own);

/// The numbers of a rank's collectives that each library has had. They are in one word, so that other ranks read both
/// as they were at the same time; where sennit's count begins again that counts as one of NCCL's, on all ranks at the
/// same call.
struct CallCounts {
  static constexpr std::uint64_t kSennits = 1, kNccls = std::uint64_t{1} << 32;  ///< what a call adds to the word
  static constexpr CallCounts of(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
  }
  std::uint32_t sennits = 0, nccls = 0;
};

/// Returns a warning if rank `own` has given sennit more of its collectives than another rank, and fewer to NCCL:
/// every rank decides alike which library does a call, so the two are in different calls. `counts`: by rank. Pure.
std::optional<std::string> mismatch_between_libraries(std::span<const comm::Operation> latest,
                                                      std::span<const CallCounts> counts, int own);

}  // namespace sennit::shim::nccl
