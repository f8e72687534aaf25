// Measures a whole machine: says what is measured, in which order, and how the figures enter the document.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure/options.h"
#include "device/executor.h"
#include "machine/machine.h"

namespace sennit::bench::measure {

struct Outcome {
  machine::Machine machine;
  std::vector<std::string> warnings;  ///< sentences that end with what to do
  /// A copy never ended: its lane and buffers were abandoned, and an orderly end of the process would wait for it.
  bool hung = false;
};

/// Called before each part with what is about to be measured.
using Step = std::function<void(long done, long total, std::string_view what)>;

/// 1. Verifies every path between a GPU and host memory, then every ordered pair of GPUs. What fails is left out: it
///    is cut from the machine (trust.h), reported, and never used.
/// 2. Measures by copy engine: pairs alone, both ways, all at once; each GPU and host memory, likewise; staged paths
///    and relays. Then what SMs drive, because a kernel that gives up ends the use of the executor.
/// 3. Enters the figures into links and devices.
/// `machine` is as discovered; its fingerprint stays. Errors: those of Rig::open; not_found when no path at all
/// works; device_error and the like when the executor fails in the middle.
Result<Outcome> measure(std::shared_ptr<device::Executor> executor, machine::Machine machine, const Options& options,
                        const Step& step);

}  // namespace sennit::bench::measure
