// Calls of a program's ranks that do not belong together. Under NCCL, too, they wait for each other for ever, or
// compute nonsense; here the ranks' notes of what they do last show it, where nothing else would.
#pragma once

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

}  // namespace sennit::shim::nccl
