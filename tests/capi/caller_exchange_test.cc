// Exchange functions that do what they should not. One that does: life_test.
#include <cstring>
#include <stdexcept>

#include <gmock/gmock.h>

#include "alone.h"

namespace sennit::capi {
namespace {

using testing::HasSubstr;

class CallerExchangeTest : public Alone {
 protected:
  using AllGather = int (*)(void*, const void*, void*, std::size_t);

  void refused(int rank, int size, AllGather function, sennit_result expected, const char* text) {
    const sennit_exchange exchange{rank, size, function, nullptr};
    sennit_options options = SENNIT_OPTIONS_INIT;
    options.exchange = &exchange;
    sennit_comm* made = nullptr;
    EXPECT_EQ(sennit_comm_create(&options, &made), expected) << text;
    EXPECT_THAT(sennit_last_error(), HasSubstr(text));
  }
};

int works(void*, const void* send, void* receive, std::size_t bytes) {
  std::memcpy(receive, send, bytes);
  return 0;
}

TEST_F(CallerExchangeTest, NamesImpossibleRanks) {
  refused(0, 0, works, SENNIT_INVALID_ARGUMENT, "rank 0 of 0 cannot be");
  refused(2, 2, works, SENNIT_INVALID_ARGUMENT, "rank 2 of 2 cannot be");
  refused(-1, 2, works, SENNIT_INVALID_ARGUMENT, "rank -1 of 2 cannot be");
  refused(0, 1, nullptr, SENNIT_INVALID_ARGUMENT, "all_gather is null");
}

TEST_F(CallerExchangeTest, PassesItsFailureOn) {
  refused(
      0, 2, [](void*, const void*, void*, std::size_t) { return 17; }, SENNIT_SYSTEM_ERROR,
      "the exchange function returned 17");
}

TEST_F(CallerExchangeTest, NoticesLostBytes) {
  refused(
      0, 2, [](void*, const void*, void*, std::size_t) { return 0; }, SENNIT_MISMATCH, "lost what rank 0 gave it");
}

TEST_F(CallerExchangeTest, NoticesNonsenseOfOtherRanks) {
  const auto nonsense = [](void*, const void* send, void* receive, std::size_t bytes) {
    std::memcpy(receive, send, bytes);
    std::memset(static_cast<char*>(receive) + bytes, 0xFF, bytes);
    return 0;
  };
  refused(0, 2, nonsense, SENNIT_INVALID_ARGUMENT, "rank 1 exchanges");
}

TEST_F(CallerExchangeTest, MayAskWhileTheCommunicatorEnds) {
  // Whoever waits for ranks that may have died looks whether they have.
  struct Asked {
    sennit_comm* comm = nullptr;
    int times = 0;
    bool throws = false;
  } asked;
  const AllGather asks = [](void* context, const void* send, void* receive, std::size_t bytes) {
    auto& known = *static_cast<Asked*>(context);
    if (known.comm != nullptr) {
      ++known.times;
      EXPECT_EQ(sennit_comm_check(known.comm), SENNIT_OK) << sennit_last_error();
      EXPECT_EQ(sennit_comm_destroy(known.comm), SENNIT_INVALID_ARGUMENT) << "it is being destroyed";
      if (known.throws) throw std::runtime_error("thrown by the caller");
    }
    return works(context, send, receive, bytes);
  };
  const sennit_exchange exchange{0, 1, asks, &asked};
  sennit_options options = SENNIT_OPTIONS_INIT;
  options.exchange = &exchange;
  for (const bool throws : {false, true}) {
    asked = {};
    sennit_comm* made = nullptr;
    ASSERT_EQ(sennit_comm_create(&options, &made), SENNIT_OK) << sennit_last_error();
    asked.comm = made;
    asked.throws = throws;
    EXPECT_EQ(sennit_comm_destroy(made), throws ? SENNIT_SYSTEM_ERROR : SENNIT_OK) << sennit_last_error();
    EXPECT_GT(asked.times, 0);
    EXPECT_EQ(sennit_comm_check(made), SENNIT_INVALID_ARGUMENT) << "it is gone";
  }
}

TEST_F(CallerExchangeTest, KeepsExceptionsIn) {
  refused(
      0, 1, [](void*, const void*, void*, std::size_t) -> int { throw std::runtime_error("thrown by the caller"); },
      SENNIT_SYSTEM_ERROR, "thrown by the caller");
  refused(
      0, 1, [](void*, const void*, void*, std::size_t) -> int { throw 5; }, SENNIT_SYSTEM_ERROR, "an exception");
  refused(
      0, 1, [](void*, const void*, void*, std::size_t) -> int { throw std::bad_alloc(); }, SENNIT_OUT_OF_MEMORY,
      "no memory");
}

}  // namespace
}  // namespace sennit::capi
