#include "shim/mpi/staging/partitions.h"

#include <algorithm>
#include <span>

#include <gtest/gtest.h>

#include "../made_up_mpi.h"

namespace sennit::shim::mpi {
namespace {

using M = MadeUpMpi;

/// Four parts of 16 bytes.
class PartitionsTest : public testing::Test {
 protected:
  static constexpr int kParts = 4, kBytes = 16;
  PartitionsTest() : executor_(*device::open_host_executor()), gpus_(executor_), host_(executor_) {
    memory_ = std::move(*executor_->allocate(0, kParts * kBytes));
    std::ranges::fill(there(), std::uint8_t{1});
    call_.add({memory_.data(), Access::out, true, run(4, M::kFloat, kParts)});
    EXPECT_TRUE(staged_.make(call_, [&](const void*) { return stage::MemInfo{0, true}; }).ok());
    std::ranges::fill(here(), std::uint8_t{1});
  }
  std::span<std::uint8_t> there() {
    return {reinterpret_cast<std::uint8_t*>(memory_.data()), std::size_t{kParts} * kBytes};
  }
  std::span<std::uint8_t> here() { return {static_cast<std::uint8_t*>(staged_.memory()[0]), there().size()}; }
  static auto part(std::span<std::uint8_t> of, int number) {
    return of.subspan(std::size_t(number) * kBytes, kBytes);
  }
  static bool all_are(std::span<std::uint8_t> bytes, std::uint8_t value) {
    return std::ranges::all_of(bytes, [value](std::uint8_t byte) { return byte == value; });
  }

  const M mpi_;
  std::shared_ptr<device::Executor> executor_;
  stage::Gpus gpus_;
  stage::PinnedPool host_;
  device::Memory memory_;
  Call call_{mpi_, Family::Precv_init, Form::persistent, M::kComm};
  StagedBuffers staged_{gpus_, host_};
  Partitions parts_{true, kParts, kBytes, kBytes, {{{{0, kBytes}}}}};
};

TEST_F(PartitionsTest, APartThatIsThereIsCopiedAlone) {
  std::ranges::fill(there(), std::uint8_t{2});
  ASSERT_TRUE(parts_.fill(staged_, 1, 2).ok());
  for (int number = 0; number < kParts; ++number)
    EXPECT_TRUE(all_are(part(here(), number), number == 1 || number == 2 ? 2 : 1)) << number;
}

TEST_F(PartitionsTest, APartThatHasComeIsBroughtOnceInEachStart) {
  for (const int start : {1, 2}) {
    parts_.start();
    std::ranges::fill(here(), std::uint8_t(10 * start));
    ASSERT_TRUE(parts_.bring(staged_, 3).ok());
    EXPECT_TRUE(all_are(part(there(), 3), std::uint8_t(10 * start)));
    EXPECT_FALSE(all_are(part(there(), 0), std::uint8_t(10 * start)));
    std::ranges::fill(part(there(), 3), std::uint8_t{99});  // it is the program's
    ASSERT_TRUE(parts_.bring(staged_, 3).ok());
    ASSERT_TRUE(parts_.finish(staged_).ok());
    EXPECT_TRUE(all_are(part(there(), 3), 99));
    for (int number = 0; number < 3; ++number) EXPECT_TRUE(all_are(part(there(), number), std::uint8_t(10 * start)));
  }
}

TEST_F(PartitionsTest, NothingComesBeforeTheFirstStart) {
  std::ranges::fill(here(), std::uint8_t{7});
  ASSERT_TRUE(parts_.finish(staged_).ok());
  EXPECT_TRUE(all_are(there(), 1));
}

TEST_F(PartitionsTest, PartsThatThereAreNotAreLeftToTheMpi) {
  std::ranges::fill(there(), std::uint8_t{2});
  for (const auto& [low, high] : {std::pair(-1, 0), std::pair(3, 4), std::pair(2, 1)})
    ASSERT_TRUE(parts_.fill(staged_, low, high).ok());
  EXPECT_TRUE(all_are(here(), 1));
  ASSERT_TRUE(parts_.bring(staged_, -1).ok());
  ASSERT_TRUE(parts_.bring(staged_, kParts).ok());
  EXPECT_TRUE(all_are(there(), 2));
}

}  // namespace
}  // namespace sennit::shim::mpi
