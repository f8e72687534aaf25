#include "bench/measure/options.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sennit::bench::measure {
namespace {

TEST(DefaultOptions, GrowWhenThorough) {
  for (const device::Kind kind : {device::Kind::cuda, device::Kind::host}) {
    const Options quick = default_options(kind, false), thorough = default_options(kind, true);
    EXPECT_GT(thorough.direct.sizes.back(), quick.direct.sizes.back());
    EXPECT_GE(quick.direct.repeat.repetitions, 7);
    EXPECT_GE(thorough.direct.repeat.repetitions, 21);
    EXPECT_TRUE(std::ranges::is_sorted(quick.direct.sizes));
    EXPECT_GE(quick.room, quick.direct.sizes.back());
    EXPECT_GE(thorough.room, thorough.direct.sizes.back());
    EXPECT_GE(quick.staged.sizes.size(), 2u);
  }
}

}  // namespace
}  // namespace sennit::bench::measure
