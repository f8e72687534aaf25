#include "profile/save.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "profile/made_up.h"

namespace sennit::profile {
namespace {

class Save : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0); }
  void TearDown() override {
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before_), 0);
    std::filesystem::remove(file_);
  }
  void limit_files(std::uint64_t bytes) const {
    const rlimit now{bytes, before_.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &now), 0);
  }
  static MadeUp with_calls(std::uint64_t calls) {
    MadeUp made(2, 4, sizeof(Tables) + 100 * sizeof(Block));
    for (std::uint64_t i = 0; i < calls; ++i) made.call("MPI_Bcast", 1000 * i + 1, 1000 * i + 11, 8);
    return made;
  }

  const std::filesystem::path file_ =
      std::filesystem::path(testing::TempDir()) / ("saved-" + std::to_string(getpid()) + ".sennit-profile");

 private:
  rlimit before_{};
};

TEST_F(Save, WhatIsReadIsWhatWasKept) {
  constexpr std::uint64_t kCalls = 2 * kCallsInBlock + 7;
  const MadeUp made = with_calls(kCalls);
  ASSERT_TRUE(save(made.recorder->bytes(), file_).ok());
  const Rank kept = made.read().value(), saved = read_rank(file_).value();
  EXPECT_EQ(saved.rank, 2);
  ASSERT_EQ(saved.sums.size(), 1u);
  EXPECT_EQ(saved.sums[0].calls, kCalls);
  EXPECT_EQ(saved.functions, kept.functions);
  EXPECT_EQ(saved.calls.size(), kCalls);
  EXPECT_EQ(saved.calls.back().call.end, kept.calls.back().call.end);
  EXPECT_EQ(saved.calls_lost, 0u);
  struct stat facts {};
  ASSERT_EQ(stat(file_.c_str(), &facts), 0);
  EXPECT_EQ(static_cast<std::uint64_t>(facts.st_size), sizeof(Tables) + 3 * sizeof(Block)) << "no unused block";
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  EXPECT_EQ(save(made.recorder->bytes(), file_).code(), Code::system_error) << "it never takes a file that is there";
}

/// As on a full disk: room for a part of the file alone.
TEST_F(Save, WithoutRoomForSingleCallsSumsAreExact) {
  constexpr std::uint64_t kCalls = kCallsInBlock + 5;
  const MadeUp made = with_calls(kCalls);
  limit_files(sizeof(Tables) + sizeof(Block));
  ASSERT_TRUE(save(made.recorder->bytes(), file_).ok());
  const Rank saved = read_rank(file_).value();
  ASSERT_EQ(saved.sums.size(), 1u);
  EXPECT_EQ(saved.sums[0].calls, kCalls);
  EXPECT_TRUE(saved.calls.empty());
  EXPECT_EQ(saved.calls_lost, kCalls);
}

TEST_F(Save, WithoutAnyRoomThereIsNoFile) {
  const MadeUp made = with_calls(3);
  limit_files(sizeof(Tables) - 1);
  EXPECT_EQ(save(made.recorder->bytes(), file_).code(), Code::out_of_memory);
  EXPECT_FALSE(std::filesystem::exists(file_));
}

}  // namespace
}  // namespace sennit::profile
