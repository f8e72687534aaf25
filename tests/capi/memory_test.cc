// Memory of a communicator, and windows of one rank.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <gmock/gmock.h>

#include "alone.h"

namespace sennit::capi {
namespace {

using testing::HasSubstr;

class MemoryTest : public Alone {};

TEST_F(MemoryTest, IsAllocatedAndFreed) {
  for (auto* allocate : {sennit_memory_allocate, sennit_memory_allocate_pinned}) {
    void* data = nullptr;
    ASSERT_EQ(allocate(comm, 1000, &data), SENNIT_OK);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 16, 0u);
    std::memset(data, 1, 1000);
    EXPECT_EQ(sennit_memory_free(comm, data), SENNIT_OK);
    EXPECT_EQ(sennit_memory_free(comm, data), SENNIT_INVALID_ARGUMENT);
    data = &data;
    EXPECT_EQ(allocate(comm, 0, &data), SENNIT_OK);
    EXPECT_EQ(data, nullptr);
  }
}

TEST_F(MemoryTest, ThatNobodyHasIsRefused) {
  void* data = nullptr;
  EXPECT_EQ(sennit_memory_allocate(comm, std::uint64_t{1} << 60, &data), SENNIT_OUT_OF_MEMORY);
  EXPECT_THAT(sennit_last_error(), HasSubstr("allocate"));
  EXPECT_EQ(data, nullptr);
}

TEST_F(MemoryTest, IsNotFreedWhileRegistered) {
  void* data = nullptr;
  ASSERT_EQ(sennit_memory_allocate(comm, 4096, &data), SENNIT_OK);
  sennit_window* window = nullptr;
  ASSERT_EQ(sennit_register(comm, static_cast<char*>(data) + 100, 100, &window), SENNIT_OK) << sennit_last_error();
  EXPECT_EQ(sennit_memory_free(comm, data), SENNIT_INVALID_ARGUMENT);
  EXPECT_THAT(sennit_last_error(), HasSubstr("Deregister it first"));
  EXPECT_EQ(sennit_deregister(window), SENNIT_OK);
  EXPECT_EQ(sennit_memory_free(comm, data), SENNIT_OK);
}

TEST_F(MemoryTest, IsFreedWhileAWindowOfNothingPointsThere) {
  void* data = nullptr;
  ASSERT_EQ(sennit_memory_allocate(comm, 4096, &data), SENNIT_OK);
  sennit_window* window = nullptr;
  ASSERT_EQ(sennit_register(comm, static_cast<char*>(data) + 100, 0, &window), SENNIT_OK) << sennit_last_error();
  EXPECT_EQ(sennit_memory_free(comm, data), SENNIT_OK) << sennit_last_error();
  EXPECT_EQ(sennit_deregister(window), SENNIT_OK);
}

TEST_F(MemoryTest, OfAWindowThatAnotherThreadClosesIsNeverTouchedLate) {
  void* data = nullptr;
  ASSERT_EQ(sennit_memory_allocate(comm, 4096, &data), SENNIT_OK);
  for (int i = 0; i < 200; ++i) {
    sennit_window* window = nullptr;
    ASSERT_EQ(sennit_register(comm, data, 4096, &window), SENNIT_OK);
    std::jthread user([&, window] {
      // Wrong use, but it must end in an error: the handle is known until it is gone.
      std::uint64_t bytes = 0;
      while (sennit_window_bytes(window, 0, &bytes) == SENNIT_OK)
        if (sennit_get(window, 0, 0, nullptr, 1, nullptr) == SENNIT_OK) std::abort();
    });
    std::this_thread::yield();
    ASSERT_EQ(sennit_deregister(window), SENNIT_OK);
  }
  EXPECT_EQ(sennit_memory_free(comm, data), SENNIT_OK);
}

TEST_F(MemoryTest, IsWaitedForBeforeItGoes) {
  // Without the wait the copies would read and write unmapped memory.
  constexpr std::uint64_t kBytes = 8 << 20;
  for (int i = 0; i < 5; ++i) {
    void *from = nullptr, *to = nullptr;
    ASSERT_EQ(sennit_memory_allocate(comm, kBytes, &from), SENNIT_OK);
    ASSERT_EQ(sennit_memory_allocate(comm, kBytes, &to), SENNIT_OK);
    for (int j = 0; j < 4; ++j) ASSERT_EQ(sennit_copy(comm, to, from, kBytes, nullptr), SENNIT_OK);
    EXPECT_EQ(sennit_memory_free(comm, from), SENNIT_OK);
    EXPECT_EQ(sennit_memory_free(comm, to), SENNIT_OK);
  }
}

TEST_F(MemoryTest, WindowsKnowTheirSizes) {
  void* data = nullptr;
  ASSERT_EQ(sennit_memory_allocate(comm, 4096, &data), SENNIT_OK);
  sennit_window* window = nullptr;
  ASSERT_EQ(sennit_register(comm, data, 4000, &window), SENNIT_OK);
  std::uint64_t bytes = 0;
  EXPECT_EQ(sennit_window_bytes(window, 0, &bytes), SENNIT_OK);
  EXPECT_EQ(bytes, 4000u);
  for (const int rank : {-1, 1}) EXPECT_EQ(sennit_window_bytes(window, rank, &bytes), SENNIT_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace sennit::capi
