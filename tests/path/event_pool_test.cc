#include "path/event_pool.h"

#include <gtest/gtest.h>

namespace sennit::path {
namespace {

TEST(EventPool, GivesOutWhatNobodyHolds) {
  const auto executor = *device::open_host_executor();
  EventPool pool;
  auto first = *pool.next(*executor, 0);
  const auto held = first;
  auto second = *pool.next(*executor, 0);
  EXPECT_NE(first, second);
  device::Event* const freed = second.get();
  second.reset();
  first.reset();  // still held
  EXPECT_EQ(pool.next(*executor, 0)->get(), freed);
}

TEST(EventPool, KeepsDevicesApart) {
  const auto executor = *device::open_host_executor();
  EventPool pool;
  device::Event* const of_the_first = pool.next(*executor, 0)->get();
  EXPECT_NE(pool.next(*executor, 1)->get(), of_the_first);
}

}  // namespace
}  // namespace sennit::path
