#include "shim/mpi/entry/guarded.h"

#include <new>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace sennit::shim::mpi {

namespace {

constexpr int kNoMemory = 34;

struct Failure {
  Handler handler;
  Handle handle;
  bool operator==(const Failure&) const = default;
};
std::vector<Failure> failures;

struct Teller {
  static int fail(Handler handler, Handle handle) {
    failures.push_back({handler, handle});
    return kNoMemory;
  }
};

int returns(int count, int comm) {
  return count + comm;
}
int lacks_memory(int, int) {
  throw std::bad_alloc();
}
int wants_too_much(const void*, unsigned* window) {
  std::vector<int> all;
  all.reserve(all.max_size() + *window);
  return 0;
}
int has_a_handler_that_throws(int, int) {
  throw std::runtime_error("the program's");
}

class GuardedTest : public testing::Test {
 protected:
  GuardedTest() { failures.clear(); }
};

TEST_F(GuardedTest, CallsAreAsTheyWere) {
  EXPECT_EQ((Guarded<&returns, OutOfMemory<Teller, Told{Handler::communicator, 1}>>::call(3, 4)), 7);
  EXPECT_TRUE(failures.empty());
}

TEST_F(GuardedTest, TheCommunicatorsHandlerIsToldThatMemoryEnded) {
  EXPECT_EQ((Guarded<&lacks_memory, OutOfMemory<Teller, Told{Handler::communicator, 1}>>::call(3, 4)), kNoMemory);
  EXPECT_EQ(failures, (std::vector<Failure>{{Handler::communicator, 4}}));
}

TEST_F(GuardedTest, SoIsTheWindowsWhereMoreIsWantedThanThereCanBe) {
  unsigned window = 1;
  EXPECT_EQ((Guarded<&wants_too_much, OutOfMemory<Teller, Told{Handler::window, 1}>>::call(nullptr, &window)),
            kNoMemory);
  EXPECT_EQ(failures, (std::vector<Failure>{{Handler::window, to_handle(&window)}}));
}

TEST_F(GuardedTest, CallsWithoutEitherHaveTheJobs) {
  EXPECT_EQ((Guarded<&lacks_memory, OutOfMemory<Teller, Told{Handler::none, 0}>>::call(3, 4)), kNoMemory);
  EXPECT_EQ(failures, (std::vector<Failure>{{Handler::none, kNoHandle}}));
}

using WithCommunicator = int (*)(const void*, int, Standard::Comm, Standard::Win);
using WithWindow = int (*)(int, Standard::Win);
using WithNeither = int (*)(Standard::Comm*, Standard::Request*);

TEST_F(GuardedTest, TheFirstHandleThatHasAHandlerIsFound) {
  static_assert(told(WithCommunicator{}).handler == Handler::communicator);
  static_assert(told(WithCommunicator{}).argument == 2);
  static_assert(told(WithWindow{}).handler == Handler::window);
  static_assert(told(WithWindow{}).argument == 1);
  static_assert(told(WithNeither{}).handler == Handler::none);
}

TEST_F(GuardedTest, ExceptionsOfTheProgramGoThrough) {
  EXPECT_THROW((Guarded<&has_a_handler_that_throws, OutOfMemory<Teller, Told{Handler::none, 0}>>::call(3, 4)),
               std::runtime_error);
  EXPECT_TRUE(failures.empty());
}

}  // namespace

}  // namespace sennit::shim::mpi
