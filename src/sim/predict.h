// Predicts what a collective would take on a machine: a plan that is named, or all that could be taken.
#pragma once

#include <optional>

#include "sim/fluid.h"
#include "sim/job.h"
#include "sim/replay.h"
#include "sim/schedule.h"

namespace sennit::sim {

struct Question {
  Collective what;  ///< its plan does not count
  std::optional<coll::Algorithm> algorithm;
  std::optional<unsigned> blocks;
  int ranks = 0;            ///< on the first GPUs of the machine; 0: on all
  bool registered = false;  ///< the buffers lie in symmetric windows
  std::uint64_t scratch_bytes = std::uint64_t{64} << 20;
  Costs costs;
  double epsilon_us = 0;
  int calls = 4;  ///< of which the time back to back is the mean, without the first: it begins on idle links
  bool timeline = false;
};

struct Prediction {
  coll::Plan plan;
  Replayed once;                               ///< one call, from the start of all ranks to the end of the last
  std::optional<device::Recording> recording;  ///< of that call, where a timeline was asked for
  double back_to_back_us = 0;  ///< of each of many calls, one behind the other, as benchmarks make them
};

/// Fastest first by calls back to back; only the first has a timeline. Plans of which one call takes several times as
/// long as one by the algorithm's best are left out. Errors: invalid_argument (no such algorithm,
/// too large for the plan, numbers of ranks), those of replay().
Result<std::vector<Prediction>> predict(const machine::Machine& machine, const Question& question);

/// Of one plan: Question's own choices do not count. Null where the plan does not admit the call, or one call takes
/// longer than `most_us`.
Result<std::optional<Prediction>> predict(const machine::Machine& machine, const Question& question,
                                          const coll::Plan& plan, double most_us = kNever);

/// One call of the plan, with all blocks, and what must come of it. Errors: as predict(); invalid_argument where the
/// plan does not admit the call.
Result<Schedule> schedule_of(const machine::Machine& machine, const Question& question, const coll::Plan& plan);

/// The machine's GPUs in its order; ids.
std::vector<std::string> gpus_of(const machine::Machine& machine);

}  // namespace sennit::sim
