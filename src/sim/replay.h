// Computes how long a recorded job would take on a machine, and what holds it up.
//
// Every strand goes through its steps. Movements are flows over the machine's links (fluid.h): of a block, one flow
// through all that it reads and writes at the same time, as fast as the block can and as what it shares with others
// allows; of a lane, a copy by an engine. Signals arrive after a while; who waits for one goes on then. What steps
// take beside their bytes is in costs.h.
//
// A folded recording has one block of a launch for all: its flows count as many times as there are blocks.
//
// Blocks of a launch begin together, and are replayed in step. On GPUs they drift apart after some movements
// (Costs::in_step), and from then on what one leaves of a link another one takes: they get on as fast as the busiest
// link carries what there is, or as each would alone, whichever is slower. Replaying them apart instead would ask for
// all of them, since of a few the order in which they meet decides, and that changes with the last digit of a rate.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "device/trace/recording.h"
#include "machine/machine.h"
#include "sim/costs.h"
#include "sim/outcome.h"

namespace sennit::sim {

struct Setting {
  std::vector<std::string> gpus;  ///< of each rank, ids of the machine's devices
  Costs costs;
  double epsilon_us = 0;  ///< as Fluid has it
  bool timeline = false;  ///< keep spans
  double skew_us = 0;     ///< ranks begin one after the other, within this
};

/// What a strand did for a while.
struct Span {
  enum class Kind { move, wait, launch, engine } kind = Kind::move;
  std::uint32_t strand = 0;
  double begin_us = 0, end_us = 0;
  std::uint32_t step = 0;  ///< the first of its group
};

struct Replayed : Outcome {
  double in_step_us = 0;       ///< had blocks stayed in step; `us` where they do
  std::vector<Span> timeline;  ///< where it was asked for, by begin; of blocks in step
};

/// Errors: invalid_argument (a rank without a GPU of this machine; memory of no region), unsupported (ranks that no
/// link joins), corrupt (strands that wait for ever: names the first).
Result<Replayed> replay(const device::Recording& recording, const machine::Machine& machine, const Setting& setting);

}  // namespace sennit::sim
