#include "bench/measure/options.h"

#include "base/units.h"

namespace sennit::bench::measure {

Options default_options(device::Kind kind, bool thorough) {
  const bool gpus = kind == device::Kind::cuda;
  Options options;
  options.thorough = thorough;
  options.limit = std::chrono::seconds(5);
  const Repeat repeat{thorough ? 3 : 2, thorough ? 21 : 7};
  if (gpus) {
    options.room = thorough ? GiB : 256 * MiB;
    options.direct.sizes = {64 * KiB, 256 * KiB, MiB, 4 * MiB, 16 * MiB, 64 * MiB, 256 * MiB};
    if (thorough) options.direct.sizes.push_back(GiB);
    options.crowd.sizes = {MiB, 16 * MiB, 64 * MiB, 256 * MiB};
    // One shape of the kernels' ring, the best beside a direct copy, where it is used (path::RingShape says why):
    // alone, as it is measured here, others carry more.
    options.staged = {{4 * MiB, 16 * MiB, 64 * MiB}, {MiB, 2 * MiB, 4 * MiB}, {4}, {128 * KiB}, repeat};
  } else {
    options.room = thorough ? 64 * MiB : 16 * MiB;
    options.direct.sizes = {64 * KiB, 256 * KiB, MiB, 4 * MiB};
    if (thorough) options.direct.sizes.insert(options.direct.sizes.end(), {16 * MiB, 64 * MiB});
    options.crowd.sizes = {256 * KiB, 4 * MiB};
    options.staged = {{256 * KiB, MiB, 4 * MiB}, {128 * KiB, 256 * KiB}, {2, 4}, {32 * KiB, 64 * KiB}, repeat};
  }
  options.direct.repeat = options.crowd.repeat = repeat;
  if (thorough) options.direct.longest_us = options.crowd.longest_us = 500'000;
  return options;
}

}  // namespace sennit::bench::measure
