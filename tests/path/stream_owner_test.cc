#include "path/stream_owner.h"

#include <gtest/gtest.h>

#include "gate.h"

namespace sennit::path {
namespace {

struct StreamOwners : testing::Test {
  std::shared_ptr<device::Executor> executor = *device::open_host_executor();
  std::unique_ptr<device::Lane> one = std::move(*executor->lane(0)), other = std::move(*executor->lane(0));
  EventPool pool;
  StreamOwner owner;
  Gate gate{*executor};

  void SetUp() override { executor->set_timeout(std::chrono::seconds(20)); }
  SharedEvent fork(device::Lane& lane) {
    auto event = *pool.next(*executor, 0);
    EXPECT_TRUE(lane.record(*event).ok());
    return event;
  }
};

TEST_F(StreamOwners, AreOpenToAllBeforeTheFirstMessage) {
  EXPECT_TRUE(*owner.open_to(*one));
}

TEST_F(StreamOwners, AreClosedToOtherStreamsUntilTheLastMessageStarts) {
  ASSERT_TRUE(gate.shut(*one).ok());
  owner.take(*one, fork(*one));
  EXPECT_TRUE(*owner.open_to(*one));
  EXPECT_FALSE(*owner.open_to(*other));
  gate.open();
  ASSERT_TRUE(one->synchronize().ok());
  EXPECT_TRUE(*owner.open_to(*other));
}

TEST_F(StreamOwners, StayClosedWhateverOtherChannelsCarry) {
  ASSERT_TRUE(gate.shut(*one).ok());
  owner.take(*one, fork(*one));
  const auto elsewhere = fork(*other);  // passed at once, and not the event that the owner remembers
  ASSERT_TRUE(other->synchronize().ok());
  EXPECT_FALSE(*owner.open_to(*other));
}

}  // namespace
}  // namespace sennit::path
