#include "bench/measure/copies.h"

#include <gtest/gtest.h>

#include "bench/measure/verify.h"
#include "faulty_executor.h"
#include "small_machine.h"

namespace sennit::bench::measure {
namespace {

using machine::Method;
using machine::Traffic;

class Copies : public testing::Test {
 protected:
  void SetUp() override {
    const machine::Machine machine = small_machine();
    auto opened = Rig::open(faulty(), machine, kLeastRoom);
    ASSERT_TRUE(opened.ok());
    rig_ = std::move(*opened);
  }
  Sweep sweep(std::vector<std::uint64_t> sizes) const { return {std::move(sizes), {1, 3}, 1e9}; }

  std::unique_ptr<Rig> rig_;
};

TEST_F(Copies, MoveTheBytes) {
  const Stop &from = rig_->gpus()[0], &to = rig_->gpus()[2];
  for (const Method method : {Method::engine, Method::sm}) {
    fill_pattern({from.source.data(), 1 * MiB}, 3);
    fill_pattern({to.destination.data(), 1 * MiB}, 4);
    const auto one = transfer(*rig_, from, to, MiB, method);
    ASSERT_TRUE(one.ok());
    ASSERT_TRUE(run_together(std::span(&*one, 1)));
    EXPECT_FALSE(first_difference({to.destination.data(), 1 * MiB}, 3)) << name(method);
  }
}

TEST_F(Copies, ACurveHasAPointForEverySizeThatFits) {
  const auto curve = one_way(*rig_, rig_->gpus()[0], rig_->hosts()[0], Method::engine,
                             sweep({64 * KiB, MiB, rig_->room(), 2 * rig_->room()}));
  ASSERT_TRUE(curve.ok());
  EXPECT_EQ(curve->from, "gpu0");
  EXPECT_EQ(curve->to, "host0");
  EXPECT_EQ(curve->traffic, Traffic::one_way);
  ASSERT_EQ(curve->points.size(), 3u);
  for (const auto& point : curve->points) {
    EXPECT_GT(point.us, 0);
    EXPECT_EQ(point.repetitions, 3);
  }
}

TEST_F(Copies, ASweepEndsAtTheFirstCopyThatTakesTooLong) {
  Sweep short_sweep = sweep({64 * KiB, MiB, 4 * MiB});
  short_sweep.longest_us = 0.01;
  const auto curve = one_way(*rig_, rig_->gpus()[0], rig_->gpus()[1], Method::engine, short_sweep);
  ASSERT_TRUE(curve.ok());
  EXPECT_EQ(curve->points.size(), 1u);
}

TEST_F(Copies, BothWaysStandsForBothDirections) {
  const auto curves = both_ways(*rig_, rig_->gpus()[0], rig_->gpus()[1], sweep({MiB}));
  ASSERT_TRUE(curves.ok());
  ASSERT_EQ(curves->size(), 2u);
  EXPECT_EQ((*curves)[0].from, (*curves)[1].to);
  EXPECT_EQ((*curves)[0].points[0].us, (*curves)[1].points[0].us);
  EXPECT_EQ((*curves)[1].traffic, Traffic::both_ways);
}

TEST_F(Copies, ErrorsNameTheEnds) {
  auto opened = Rig::open(faulty({{0, 1, Fault::device_error}}), small_machine(), kLeastRoom);
  ASSERT_TRUE(opened.ok());
  const auto curve = one_way(**opened, (*opened)->gpus()[0], (*opened)->gpus()[1], Method::engine, sweep({MiB}));
  EXPECT_EQ(curve.status().code(), Code::device_error);
  EXPECT_EQ(curve.status().where(), "gpu0 → gpu1");
}

}  // namespace
}  // namespace sennit::bench::measure
