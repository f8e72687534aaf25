#include "plan/figures.h"

#include <gtest/gtest.h>

#include "made_up.h"

namespace sennit::plan {
namespace {

TEST(Figures, AreTheDefaultsWhereTheyWereMeasured) {
  const coll::Figures figures = figures_of(measured_machine(), {"gpu0", "gpu1"});
  EXPECT_NEAR(figures.link_gbps, coll::Figures().link_gbps, 0.1 * coll::Figures().link_gbps);
  EXPECT_EQ(figures.crossing_us, coll::Figures().crossing_us);
}

TEST(Figures, FollowTheSlowestPair) {
  const machine::Machine mist = path::mist();
  const double near = figures_of(mist, {"gpu0", "gpu1"}).link_gbps;
  const double far = figures_of(mist, {"gpu0", "gpu1", "gpu2"}).link_gbps;
  EXPECT_LT(far, near);
  EXPECT_LT(near, 0.5 * coll::Figures().link_gbps);
}

TEST(Figures, AreTheDefaultsWhereNothingIsKnown) {
  EXPECT_EQ(figures_of(machine::Machine(), {"gpu0", "gpu1"}), coll::Figures());
}

}  // namespace
}  // namespace sennit::plan
