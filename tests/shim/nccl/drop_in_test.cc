#include "shim/nccl/drop_in.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <thread>

#include "comm/secret.h"

namespace sennit::shim::nccl {
namespace {

using testing::HasSubstr;

/// How often this thread still gets host memory; negative: always.
thread_local int lots = -1;
/// The same once NCCL has made a communicator.
thread_local int lots_behind_nccl = -1;

void* allocate_if_lots(std::size_t bytes) {
  if (lots == 0) throw std::bad_alloc();
  if (lots > 0) --lots;
  if (void* const data = std::malloc(bytes > 0 ? bytes : 1)) return data;
  throw std::bad_alloc();
}

}  // namespace
}  // namespace sennit::shim::nccl

// Not inline: a compiler that sees through one of a pair calls it the other's mistake.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return sennit::shim::nccl::allocate_if_lots(bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t& /*kind*/) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
[[gnu::noinline]] void operator delete(void* data) noexcept {
  std::free(data);
}
[[gnu::noinline]] void operator delete(void* data, std::size_t) noexcept {
  std::free(data);
}

namespace sennit::shim::nccl {
namespace {

UniqueId new_id() {
  UniqueId id{};
  const std::string random = *comm::random_hex(16);
  random.copy(id.bytes, sizeof id.bytes);
  return id;
}

/// An NCCL whose communicators are places, one of each rank, and that does nothing.
struct IdleNccl {
  static constexpr int kRanks = 2, kFloat = 7, kUnknown = 99;
  static inline std::array<char, kRanks> places;
  static inline std::atomic<int> asked;  // how often, for what NCCL enqueues
  static inline std::atomic<int> come;   // ranks, to the communicator
  static inline int awaited = 1;         // of them

  static Comm comm(int rank) { return reinterpret_cast<Comm>(&places[std::size_t(rank)]); }
  static int rank(Comm comm) { return static_cast<int>(reinterpret_cast<const char*>(comm) - places.data()); }

  static Functions functions() {
    asked = 0;
    come = 0;
    Functions all;
    // Which no rank has before all have come.
    all.comm_init_rank = [](Comm* made, int, UniqueId, int rank) {
      ++come;
      while (come < awaited) std::this_thread::yield();
      *made = comm(rank);
      lots = lots_behind_nccl;
      return kSuccess;
    };
    all.comm_user_rank = [](Comm comm, int* number) { return *number = rank(comm), kSuccess; };
    all.comm_count = [](Comm, int* count) { return *count = kRanks, kSuccess; };
    all.comm_cu_device = [](Comm, int* device) { return *device = 0, kSuccess; };
    all.comm_get_async_error = [](Comm, int* error) { return *error = kSuccess, kSuccess; };
    all.comm_abort = [](Comm) { return kSuccess; };
    all.get_last_error = [](Comm) { return "NCCL's own word"; };
    all.group_start = [] { return kSuccess; };
    all.group_end = [] { return kSuccess; };
    all.all_reduce = [](const void*, void*, std::size_t, int, int, Comm, Stream) { return ++asked, kSuccess; };
    all.send = [](const void*, std::size_t, int, int, Comm, Stream) { return ++asked, kSuccess; };
    return all;
  }
};

struct DropInBesideNccl : testing::Test, IdleNccl {
  std::unique_ptr<stage::PointerCache> memories = *stage::PointerCache::open(true);
  stage::PointerCache& memory = *memories;
  DropIn drop_in{functions(), switches(), std::move(memories)};

  /// The host executor has no streams but the default one: so it is tried that a lane cannot be had.
  const Stream foreign = reinterpret_cast<Stream>(0x1000);

  static Switches switches() {
    Switches all;
    all.take = Take::all;
    return all;
  }

  /// On both ranks, each a thread.
  static void on_all(const std::function<void(int rank)>& act) {
    std::array<std::thread, kRanks> threads;
    for (int rank = 0; rank < kRanks; ++rank) threads[std::size_t(rank)] = std::thread([&act, rank] { act(rank); });
    for (std::thread& thread : threads) thread.join();
  }

  void SetUp() override {
    const UniqueId id = new_id();
    awaited = kRanks;
    on_all([&](int rank) {
      Comm made = nullptr;
      EXPECT_EQ(drop_in.lifecycle.comm_init_rank(&made, kRanks, id, rank), kSuccess);
    });
    awaited = 1;
    on_all([&](int rank) { EXPECT_EQ(drop_in.calls.call(sum(rank)), kSuccess); });
    ASSERT_EQ(asked, 0) << "it is sennit's";
  }
  void TearDown() override {
    on_all([&](int rank) { EXPECT_EQ(drop_in.lifecycle.comm_abort(comm(rank)), kSuccess); });
  }

  Call sum(int rank) {
    void* const data = memory.allocate_emulated(0, 64);
    return {Entry::all_reduce, data, data, 4, kFloat, 0, 0, comm(rank), nullptr};
  }
  Call of_nccl(int rank, Stream stream) {
    return {Entry::all_reduce, nullptr, nullptr, 4, kUnknown, 0, 0, comm(rank), stream};
  }
};

TEST_F(DropInBesideNccl, ACallOfNcclsThatCannotBePutBehindSennitsFails) {
  EXPECT_NE(drop_in.calls.call(of_nccl(0, foreign)), kSuccess);
  EXPECT_THAT(drop_in.lifecycle.get_last_error(comm(0)), HasSubstr("no foreign streams"));
  EXPECT_NE(drop_in.calls.call(of_nccl(0, foreign)), kSuccess) << "it is behind none yet";
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(drop_in.calls.call(of_nccl(0, nullptr)), kSuccess);
  EXPECT_EQ(drop_in.calls.call(of_nccl(0, foreign)), kSuccess) << "NCCL keeps the order of its own";
  EXPECT_EQ(asked, 2);
}

TEST_F(DropInBesideNccl, SoDoesOneInAGroup) {
  EXPECT_EQ(drop_in.calls.group_start(), kSuccess);
  EXPECT_EQ(drop_in.calls.call(of_nccl(1, foreign)), kSuccess);
  EXPECT_NE(drop_in.calls.group_end(), kSuccess);
  EXPECT_THAT(drop_in.lifecycle.get_last_error(comm(1)), HasSubstr("no foreign streams"));
  EXPECT_EQ(asked, 0);
}

TEST_F(DropInBesideNccl, SoDoMessagesOfWhichNcclHasSome) {
  Call ours = sum(0);
  ours.entry = Entry::send;
  ours.root = 1;
  Call its = ours;
  its.type = kUnknown;
  its.stream = foreign;
  EXPECT_EQ(drop_in.calls.group_start(), kSuccess);
  EXPECT_EQ(drop_in.calls.call(ours), kSuccess);
  EXPECT_EQ(drop_in.calls.call(its), kSuccess);
  EXPECT_NE(drop_in.calls.group_end(), kSuccess);
  EXPECT_THAT(drop_in.lifecycle.get_last_error(comm(0)), HasSubstr("no foreign streams"));
  EXPECT_EQ(asked, 0);
}

TEST_F(DropInBesideNccl, AndOneThatSennitNeverDoes) {
  const auto make = [] { return ++asked, kSuccess; };
  EXPECT_NE(drop_in.calls.enqueue("signal", comm(0), foreign, make), kSuccess);
  EXPECT_THAT(drop_in.lifecycle.get_last_error(comm(0)), HasSubstr("no foreign streams"));
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(drop_in.calls.enqueue("signal", comm(0), nullptr, make), kSuccess);
  EXPECT_EQ(asked, 1);
}

TEST(DropIn, NoThreadWaitsForACommunicatorWhoseMemoryEndedWhenNcclHadMadeIt) {
  const Switches none;  // of its own: GCC 12 takes a temporary's strings for uninitialized under ThreadSanitizer
  DropIn drop_in(IdleNccl::functions(), none, *stage::PointerCache::open(true));
  const Comm comm = IdleNccl::comm(0);
  for (int enough = 0, left = 0; left == 0; ++enough) {
    Comm made = nullptr;
    lots_behind_nccl = enough;
    try {
      EXPECT_EQ(drop_in.lifecycle.comm_init_rank(&made, 2, new_id(), 0), kSuccess);
    } catch (const std::bad_alloc&) {
    }
    lots_behind_nccl = -1;
    left = std::exchange(lots, -1);
    int state = kInProgress;
    EXPECT_EQ(drop_in.lifecycle.comm_get_async_error(comm, &state), kSuccess);
    ASSERT_NE(state, kInProgress) << "with memory for " << enough;
    EXPECT_EQ(drop_in.lifecycle.comm_abort(comm), kSuccess);
  }
}

}  // namespace
}  // namespace sennit::shim::nccl
