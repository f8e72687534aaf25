#include "shim/recorder/profile_file.h"

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "profile/rank.h"

namespace sennit::shim::recorder {
namespace {

class ProfileFileTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path file(const char* behind) const {
    return folder_ / fmt::format("host-{}{}.sennit-profile", getpid(), behind);
  }
  static void record(profile::Recorder& recorder) {
    recorder.communicator({});
    for (const auto add : {&profile::Recorder::reduction, &profile::Recorder::phase, &profile::Recorder::how})
      (recorder.*add)("");
    recorder.type("");
    profile::Call call{};
    call.function = recorder.function("MPI_Bcast");
    call.begin = recorder.now();
    call.end = recorder.now();
    recorder.record(call);
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / fmt::format("profile-{}", getpid());
};

/// A process that becomes another program has the same number.
TEST_F(ProfileFileTest, NeverTakesAFileThatIsThere) {
  const auto first = ProfileFile::begin(folder_, "host"), second = ProfileFile::begin(folder_, "host");
  ASSERT_TRUE(first && second);
  record(first->recorder());
  first->end();
  second->end();
  EXPECT_EQ(profile::read_rank(file("")).value().sums.size(), 1u);
  EXPECT_EQ(profile::read_rank(file("-2")).value().sums.size(), 0u);
}

TEST_F(ProfileFileTest, WhereNoFileCanBeMadeItIsInMemoryAndWrittenAtTheEnd) {
  std::ofstream(folder_) << "no folder";
  testing::internal::CaptureStderr();
  const auto made = ProfileFile::begin(folder_, "host"), other = ProfileFile::begin(folder_, "host");
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(made && other);
  EXPECT_EQ(said.find("kept in memory"), said.rfind("kept in memory")) << "once: " << said;
  EXPECT_NE(said.find("Not a directory"), std::string::npos) << said;
  record(made->recorder());
  testing::internal::CaptureStderr();
  made->end();
  other->end();
  const std::string lost = testing::internal::GetCapturedStderr();
  EXPECT_NE(lost.find("the profile is lost, but for this of rank -1: "), std::string::npos) << lost;
  EXPECT_NE(lost.find(" in 1 calls: MPI_Bcast "), std::string::npos) << lost;
  EXPECT_EQ(std::count(lost.begin(), lost.end(), '\n'), 1) << lost;
  std::filesystem::remove(folder_);
  std::filesystem::create_directory(folder_);
  made->end();
  EXPECT_EQ(profile::read_rank(file("")).value().sums.size(), 1u);
}

TEST_F(ProfileFileTest, WhoIsFirstStaysItAsLongAsItLives) {
  const std::string question = folder_.string() + "?";
  EXPECT_TRUE(is_first_on_node(question));
  EXPECT_FALSE(is_first_on_node(question));
  EXPECT_TRUE(is_first_on_node(question + "?"));
}

}  // namespace
}  // namespace sennit::shim::recorder
