#include "comm/device_claims.h"

#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace sennit::comm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DeviceClaims, AreThoseOfOtherProcessesUntilTheyEnd) {
  const std::string device = fmt::format("GPU-of-test-{}", getpid());
  EXPECT_THAT(claim_device(device), IsEmpty());
  EXPECT_THAT(claim_device(device), IsEmpty()) << "a process is no other one to itself";
  int told[2], ends[2];
  ASSERT_EQ(pipe(told), 0);
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto others = claim_device(device);
    const char right = others.size() == 1 && others.front() == getppid() ? 'y' : 'n';
    char go = 0;
    close(ends[1]);
    (void)!write(told[1], &right, 1);
    (void)!read(ends[0], &go, 1);  // until the parent closes its end
    _exit(0);
  }
  char right = 0;
  ASSERT_EQ(read(told[0], &right, 1), 1);
  EXPECT_EQ(right, 'y') << "the child sees its parent's claim";
  EXPECT_THAT(claim_device(device), ElementsAre(child));
  EXPECT_THAT(claim_device(device + "-2"), IsEmpty()) << "of another device";
  for (const int end : {ends[0], ends[1], told[0], told[1]}) close(end);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_THAT(claim_device(device), IsEmpty()) << "a claim ends with its process";
}

}  // namespace
}  // namespace sennit::comm
