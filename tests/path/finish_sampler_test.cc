#include "path/finish_sampler.h"

#include <gtest/gtest.h>

#include <vector>

#include "gate.h"

namespace sennit::path {
namespace {

TEST(FinishSampler, ReadsWhenEachShareFinished) {
  auto executor = *device::open_host_executor();
  auto sampler = FinishSampler::create(*executor, 0, 2);
  ASSERT_TRUE(sampler.ok());
  auto lane = std::move(*executor->lane(0)), other = std::move(*executor->lane(0));
  auto done = std::move(*executor->event(0));
  std::vector<char> a(8 << 20, 1), b(8 << 20);

  ASSERT_TRUE((*sampler)->start(*lane, 2).ok());
  ASSERT_TRUE(lane->copy(b.data(), a.data(), 1 << 20).ok());
  ASSERT_TRUE((*sampler)->finished_on(*lane, 0).ok());
  // The second share starts when the first is done, so that it is certain to finish later.
  ASSERT_TRUE(lane->record(*done).ok());
  ASSERT_TRUE(other->wait(*done).ok());
  ASSERT_TRUE(other->copy(b.data(), a.data(), a.size()).ok());
  ASSERT_TRUE(other->record(*done).ok());
  ASSERT_TRUE((*sampler)->observer(1).wait(*done).ok());
  ASSERT_TRUE((*sampler)->finished_on((*sampler)->observer(1), 1).ok());
  ASSERT_TRUE((*sampler)->observer(1).synchronize().ok());
  ASSERT_TRUE(lane->synchronize().ok());

  const auto times = (*sampler)->read();
  ASSERT_TRUE(times.has_value());
  ASSERT_EQ(times->size(), 2u);
  EXPECT_GT((*times)[0], 0);
  EXPECT_GT((*times)[1], (*times)[0]);
}

TEST(FinishSampler, DoesNotWaitForWhatIsStillToCome) {
  auto executor = *device::open_host_executor();
  auto sampler = std::move(*FinishSampler::create(*executor, 0, 1));
  auto lane = std::move(*executor->lane(0));
  Gate gate(*executor);
  ASSERT_TRUE(sampler->start(*lane, 1).ok());
  ASSERT_TRUE(gate.shut(*lane).ok());
  ASSERT_TRUE(sampler->finished_on(*lane, 0).ok());
  EXPECT_FALSE(sampler->read().has_value());
  gate.open();
  ASSERT_TRUE(lane->synchronize().ok());
  EXPECT_TRUE(sampler->read().has_value());
}

}  // namespace
}  // namespace sennit::path
