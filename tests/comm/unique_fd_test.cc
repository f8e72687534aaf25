#include "base/unique_fd.h"

#include <fcntl.h>

#include <gtest/gtest.h>

namespace sennit::comm {
namespace {

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}
UniqueFd some_file() {
  return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

TEST(UniqueFd, ClosesOnce) {
  int number = -1;
  {
    UniqueFd fd = some_file();
    number = fd.get();
    UniqueFd moved = std::move(fd);
    EXPECT_FALSE(fd);
    EXPECT_EQ(moved.get(), number);
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(UniqueFd, ClosesWhatItReplacesAndKeepsWhatItReleases) {
  UniqueFd fd = some_file();
  const int first = fd.get();
  fd = some_file();
  EXPECT_FALSE(is_open(first));
  const int kept = fd.release();
  EXPECT_FALSE(fd);
  EXPECT_TRUE(is_open(kept));
  ::close(kept);
}

}  // namespace
}  // namespace sennit::comm
