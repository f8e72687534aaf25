#include "bench/measure/together.h"

#include <gtest/gtest.h>

#include "faulty_executor.h"
#include "small_machine.h"

namespace sennit::bench::measure {
namespace {

using machine::Traffic;

class Together : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Rig::open(faulty(), small_machine(), kLeastRoom);
    ASSERT_TRUE(opened.ok());
    rig_ = std::move(*opened);
  }
  const Sweep sweep_{{64 * KiB, MiB, kLeastRoom}, {1, 3}, 1e9};
  const Trusts all_ = [](const Stop&, const Stop&) { return true; };
  const Trusts none_ = [](const Stop&, const Stop&) { return false; };
  std::unique_ptr<Rig> rig_;
};

TEST_F(Together, AllPairsShareTheTimeOfTheGroup) {
  const auto curves = all_pairs_at_once(*rig_, all_, sweep_);
  ASSERT_TRUE(curves.ok());
  ASSERT_EQ(curves->size(), 6u);
  for (const auto& curve : *curves) {
    EXPECT_EQ(curve.traffic, Traffic::all_at_once);
    ASSERT_EQ(curve.points.size(), 2u) << "slices for two peers of the largest size do not fit the buffers";
    EXPECT_EQ(curve.points[1].us, curves->front().points[1].us);
  }
}

TEST_F(Together, PairsThatAreNotTrustedTakeNoPart) {
  const Trusts not_to_gpu2 = [](const Stop&, const Stop& to) { return to.id != "gpu2"; };
  const auto curves = all_pairs_at_once(*rig_, not_to_gpu2, sweep_);
  ASSERT_TRUE(curves.ok());
  EXPECT_EQ(curves->size(), 4u);
  for (const auto& curve : *curves) EXPECT_NE(curve.to, "gpu2");
  EXPECT_TRUE(all_pairs_at_once(*rig_, none_, sweep_)->empty());
}

TEST_F(Together, HostMemoryGetsItsLimits) {
  const auto host = host_at_once(*rig_, rig_->hosts()[0], all_, sweep_);
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(host->curves.size(), 6u);
  for (const auto& figure : {host->read_gbps, host->write_gbps, host->read_write_gbps}) {
    ASSERT_TRUE(figure);
    EXPECT_GT(figure->value, 0);
    EXPECT_EQ(figure->source, machine::Source::measured);
    EXPECT_NE(figure->note.find("1 MiB each"), std::string::npos) << figure->note;
  }
  const auto nothing = host_at_once(*rig_, rig_->hosts()[0], none_, sweep_);
  ASSERT_TRUE(nothing.ok());
  EXPECT_FALSE(nothing->read_gbps || nothing->write_gbps || nothing->read_write_gbps);
  EXPECT_TRUE(nothing->curves.empty());
}

TEST_F(Together, AGpuGetsItsLimits) {
  const auto limits = gpu_limits(*rig_, rig_->gpus()[1], all_, kLeastRoom, {1, 3});
  ASSERT_TRUE(limits.ok());
  ASSERT_TRUE(limits->read_gbps && limits->write_gbps);
  EXPECT_GT(limits->read_gbps->value, 0);
  EXPECT_NE(limits->write_gbps->note.find("from 2 other GPUs"), std::string::npos);
  const auto nothing = gpu_limits(*rig_, rig_->gpus()[1], none_, kLeastRoom, {1, 3});
  EXPECT_FALSE(nothing->read_gbps || nothing->write_gbps);
}

}  // namespace
}  // namespace sennit::bench::measure
