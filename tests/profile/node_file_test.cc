#include "profile/node_file.h"

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "profile/made_up.h"

namespace sennit::profile {
namespace {

class NodeFile : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(folder_);
    std::filesystem::create_directories(node_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  /// A process's file on the node, as long as the process lives.
  std::unique_ptr<Recorder> begin() const {
    auto made = Recorder::create(make_node_file(node_, link_).value(), sizeof(Tables) + 2 * sizeof(Block)).value();
    MadeUp::name_first(*made);
    made->communicator({});
    Call call{};
    call.function = made->function("MPI_Bcast");
    call.begin = 1;
    call.end = 2;
    made->record(call);
    return made;
  }

  const std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) / ("node-file-" + std::to_string(getpid()));
  const std::filesystem::path folder_ = root_ / "folder", node_ = root_ / "node";
  const std::filesystem::path link_ = folder_ / "host-1.sennit-profile";
};

TEST_F(NodeFile, IsAskedForWhereTheFolderIsOnOtherMachines) {
  EXPECT_TRUE(is_of_other_machines(0x6969));
  EXPECT_TRUE(is_of_other_machines(0x0BD00BD0));
  EXPECT_TRUE(is_of_other_machines(static_cast<long>(0xFF534D42)));
  EXPECT_TRUE(is_of_other_machines(static_cast<int>(0xFF534D42))) << "where the number is an int";
  EXPECT_FALSE(is_of_other_machines(0xEF53)) << "ext4";
  EXPECT_FALSE(is_of_other_machines(0x01021994)) << "tmpfs";
  EXPECT_EQ(folder_on_node(folder_, node_.string()), node_) << "who names one has it";
}

TEST_F(NodeFile, IsReadThroughItsLinkAndBroughtAtTheEnd) {
  const auto recorder = begin();
  EXPECT_EQ(read_rank(link_).value().sums.size(), 1u);
  bring_left_behind(folder_);
  EXPECT_TRUE(std::filesystem::is_symlink(link_)) << "its process lives";
  ASSERT_TRUE(bring(recorder->bytes(), link_).ok());
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(link_)));
  EXPECT_EQ(read_rank(link_).value().calls.size(), 1u);
  EXPECT_TRUE(std::filesystem::is_empty(node_)) << "nothing is left there";
}

TEST_F(NodeFile, OfADeadProcessIsBroughtByAnother) {
  const pid_t child = fork();
  if (child == 0) {
    (void)begin().release();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(std::filesystem::is_symlink(link_));
  bring_left_behind(folder_);
  EXPECT_FALSE(std::filesystem::is_symlink(link_));
  EXPECT_EQ(read_rank(link_).value().calls.size(), 1u);
  EXPECT_TRUE(std::filesystem::is_empty(node_));
}

TEST_F(NodeFile, OnAnotherHostIsNamed) {
  const auto recorder = begin();
  std::filesystem::rename(node_, root_ / "gone");
  const Status status = read_rank(link_).status();
  EXPECT_EQ(status.code(), Code::not_found);
  EXPECT_NE(status.what().find("it lies on its host still, as " + node_.string()), std::string::npos)
      << status.text();
}

}  // namespace
}  // namespace sennit::profile
