// Predicts the times of collectives of whole messages by the α-β-γ model: α µs a message, β a byte of it, γ a byte
// that is added. Ranks keep step, and a rank's link carries one message each way; what several messages share is in
// the factors.
//
// Sources: Thakur, Rabenseifner and Gropp 2005 (rings, doubling, halving); Chan, Heimlich, Purkayastha and van de
// Geijn 2007 (scatter and allgather); Patarasuk and Yuan 2009 (rings are optimal in bytes).
#pragma once

#include <optional>
#include <string_view>

#include "coll/operation.h"

namespace sennit::plan {

/// Counts each term, one after the other.
struct Terms {
  double messages = 0;    ///< α
  double bytes = 0;       ///< β
  double reductions = 0;  ///< steps that add
  double reduced = 0;     ///< γ, bytes
};

struct AlphaBetaGamma {
  double message_us = 0;   ///< α
  double gbps = 1;         ///< 1 / β
  double reduce_us = 0;    ///< of a step that adds, beside its bytes
  double reduce_gbps = 0;  ///< 1 / γ; 0: adding takes no time of its own

  double us(const Terms& terms) const;
};

/// Returns the terms for `ranks` and a message of `bytes`, of the algorithms that sim::MessageAlgorithm has. Empty:
/// no closed form is known here (an algorithm over several nodes, trees whose ranks run ahead).
std::optional<Terms> closed_form(coll::Operation operation, std::string_view algorithm, int ranks, double bytes);

}  // namespace sennit::plan
