// What the tests here measure: three devices of the host executor, in milliseconds.
#pragma once

#include <cstdlib>

#include "base/units.h"
#include "bench/measure/measurement.h"
#include "machine/assemble.h"

namespace sennit::bench::measure {

inline machine::Machine small_machine() {
  setenv("SENNIT_HOST_DEVICES", "3", 1);
  return machine::host_machine(3, {}, "2026-11-21");
}

inline Options small_options() {
  Options options = default_options(device::Kind::host, false);
  options.room = 8 * MiB;
  options.direct.sizes = {64 * KiB, MiB};
  options.crowd.sizes = {64 * KiB, MiB};
  options.staged.sizes = {128 * KiB, 4 * MiB};
  options.staged.chunks = {256 * KiB};
  options.staged.blocks = {2};
  options.staged.slots = {64 * KiB};
  options.direct.repeat = options.crowd.repeat = {1, 3};
  // Lines are drawn through these: the median must survive a busy machine.
  options.staged.repeat = {1, 7};
  options.limit = std::chrono::seconds(20);  // generous: builds under sanitizers on a busy machine
  return options;
}

}  // namespace sennit::bench::measure
