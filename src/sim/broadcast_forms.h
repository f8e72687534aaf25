// Evaluates what the closed forms of broadcasts (plan/broadcast_model.h) say of the algorithms of broadcast_rounds.h
// on a fabric.
#pragma once

#include <optional>
#include <string_view>

#include "plan/broadcast_model.h"
#include "sim/messages.h"

namespace sennit::sim {

/// The rates of the first GPU's ways, each alone, and the costs of messages. `chunk_bytes`: C.
plan::CorrectedBroadcast broadcast_model(const Fabric& fabric, const Ranks& ranks, const MessageCosts& costs,
                                         double chunk_bytes);
/// Empty: no closed form is known of the algorithm.
std::optional<double> broadcast_form(std::string_view algorithm, const plan::CorrectedBroadcast& model,
                                     const Ranks& ranks, double bytes);

}  // namespace sennit::sim
