// Turns what was measured into rows of the document; schemas/partitioned.schema.json states it for readers. Pure.
#pragma once

#include <string>

#include "base/json.h"
#include "bench/partitioned/pattern_trial.h"
#include "bench/partitioned/trial.h"

namespace sennit::bench::partitioned {

/// Holds what is known of the ranks, and of no single iteration.
struct Setting {
  Compute compute = Compute::spun;
  int cores = 1;  ///< that the sender's threads have for themselves
};

/// The axes of a row, without figures: back end, bytes, partitions and the like.
Json axes(const Cell& cell, const Setting& setting);

/// A row with all figures. Medians with the interval that holds them in 19 of 20 runs.
Json measured(const Cell& cell, const Setting& setting, const Samples& samples);

/// What a row of a pattern says beside its axes.
Json about(const Shape& shape);
/// A row of a pattern with all figures.
Json measured(const Cell& cell, const Setting& setting, const PatternSamples& samples);

/// A row without figures. `state`: "hung", "failed" or "left_out"; `why`: a sentence.
Json not_measured(const Cell& cell, const Setting& setting, const std::string& state, const std::string& why);

}  // namespace sennit::bench::partitioned
