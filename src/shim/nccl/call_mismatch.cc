#include "shim/nccl/call_mismatch.h"

#include <cstddef>

#include <fmt/format.h>

#include "coll/operation.h"

namespace sennit::shim::nccl {

namespace {

/// Returns false for a note of a wait.
bool is_call(const comm::Operation& noted) {
  return coll::parse_operation(noted.name).ok();
}

}  // namespace

std::optional<std::string> mismatch_among(std::span<const comm::Operation> latest, int own) {
  const comm::Operation& ours = latest[static_cast<std::size_t>(own)];
  if (!is_call(ours)) return std::nullopt;
  for (std::size_t rank = 0; rank < latest.size(); ++rank) {
    const comm::Operation& theirs = latest[rank];
    const bool is_other = theirs.name != ours.name || theirs.bytes != ours.bytes;
    if (theirs.sequence != ours.sequence || !is_other || !is_call(theirs)) continue;
    return fmt::format(
        "rank {} of {} calls {} of {} bytes of NCCL, and rank {} at the same place {} of {} bytes: they "
        "wait for each other until the program ends that",
        own, latest.size(), ours.name, ours.bytes, rank, theirs.name, theirs.bytes);
  }
  return std::nullopt;
}

std::optional<int> ended_before(std::span<const comm::Operation> latest, const std::vector<bool>& ended, int own) {
  const comm::Operation& ours = latest[static_cast<std::size_t>(own)];
  if (!is_call(ours)) return std::nullopt;
  for (std::size_t rank = 0; rank < latest.size(); ++rank)
    if (ended[rank] && is_call(latest[rank]) && latest[rank].sequence < ours.sequence) return static_cast<int>(rank);
  return std::nullopt;
}

std::optional<std::string> mismatch_between_libraries(std::span<const comm::Operation> latest,
                                                      std::span<const CallCounts> counts, int own) {
  const comm::Operation& call = latest[static_cast<std::size_t>(own)];
  if (!is_call(call)) return std::nullopt;
  const CallCounts& ours = counts[static_cast<std::size_t>(own)];
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const auto more_of_sennits = static_cast<std::int32_t>(ours.sennits - counts[rank].sennits);
    const auto more_of_nccls = static_cast<std::int32_t>(ours.nccls - counts[rank].nccls);
    if (more_of_sennits <= 0 || more_of_nccls >= 0) continue;
    return fmt::format(
        "rank {} of {} calls {} of {} bytes of NCCL, which sennit does, and rank {} at the same place another one, "
        "which NCCL does: they wait for each other until the program ends that",
        own, latest.size(), call.name, call.bytes, rank);
  }
  return std::nullopt;
}

}  // namespace sennit::shim::nccl
