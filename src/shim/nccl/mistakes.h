// Calls of a program's ranks that do not belong together. Under NCCL, too, they wait for each other for ever, or
// compute nonsense; here the ranks' notes of what they do last show it, where nothing else would.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "comm/control.h"

namespace sennit::shim::nccl {

/// `latest`: what each rank noted last. What to say where one has another call than rank `own` in the same place of
/// their order, which no order of calls mends; none where all may still come to the same. Pure.
std::optional<std::string> mistake_among(std::span<const comm::Operation> latest, int own);

}  // namespace sennit::shim::nccl
