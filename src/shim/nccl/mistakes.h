// Calls of a program's ranks that do not belong together. Under NCCL, too, they wait for each other for ever, or
// compute nonsense; here it shows by what ranks note, of their last calls and of how many each library has had.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/control.h"

namespace sennit::shim::nccl {

/// `latest`: what each rank noted last. What to say where one has another call than rank `own` in the same place of
/// their order, which no order of calls mends; none where all may still come to the same. Pure.
std::optional<std::string> mistake_among(std::span<const comm::Operation> latest, int own);

/// A rank that has ended the communicator (`ended`, by rank) without the call that rank `own` is in, if there is one.
/// Pure.
std::optional<int> ended_before(std::span<const comm::Operation> latest, const std::vector<bool>& ended, int own);

/// How many of a rank's collectives each library has had. In one word, so that other ranks read both as they were at
/// the same time; where sennit's count begins again that counts as one of NCCL's, on all ranks at the same call.
struct Shares {
  static constexpr std::uint64_t kSennits = 1, kNccls = std::uint64_t{1} << 32;  ///< what a call adds to the word
  static constexpr Shares of(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
  }
  std::uint32_t sennits = 0, nccls = 0;
};

/// The same where rank `own` has given sennit more of its collectives than another one, and fewer to NCCL: which
/// library does a call is the same on all ranks, so those of two are in other calls. `shares`: of each rank. Pure.
std::optional<std::string> mistake_between(std::span<const comm::Operation> latest, std::span<const Shares> shares,
                                           int own);

}  // namespace sennit::shim::nccl
