#include "stage/pointer_cache.h"

#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace sennit::stage {
namespace {

TEST(PointerCache, EmulatedMemoryIsAGpus) {
  auto memories = PointerCache::open(true);
  ASSERT_TRUE(memories.ok());
  PointerCache& here = **memories;
  EXPECT_TRUE(here.possible() && here.cuda_initialized());
  auto* const data = static_cast<std::byte*>(here.allocate_emulated(1, 1000));
  ASSERT_NE(data, nullptr);
  EXPECT_TRUE(here.is_device(data));
  EXPECT_TRUE(here.is_device(data + 999));
  EXPECT_EQ((*here.executor())->holder(data), 1);
  EXPECT_EQ(here.emulated_holder(data + 999), 1);
  EXPECT_EQ(here.emulated_holder(&memories), -1);
  std::vector<std::byte> host(10);
  EXPECT_FALSE(here.is_device(host.data()));
  EXPECT_FALSE(here.is_device(nullptr));
  EXPECT_FALSE(here.is_device(reinterpret_cast<void*>(1)));   // MPI_IN_PLACE
  EXPECT_FALSE(here.is_device(reinterpret_cast<void*>(-1)));  // of MPICH
  here.free_emulated(data);
  EXPECT_FALSE(here.is_device(data));
}

TEST(PointerCache, WhatWasAskedIsKnownAgain) {
  auto memories = PointerCache::open(true);
  ASSERT_TRUE(memories.ok());
  PointerCache& here = **memories;
  void* const first = here.allocate_emulated(1, 100);
  void* const second = here.allocate_emulated(2, 100);
  EXPECT_EQ(here.holder(first), 1);
  EXPECT_EQ(here.info_of(first).device, 1);
  EXPECT_EQ(here.info_of(second).device, 2) << "asked, if it was not";
  here.free_emulated(second);
  EXPECT_EQ(here.emulated_holder(second), -1);
  EXPECT_EQ(here.info_of(second).device, 2) << "the guard of the tests does not count";
  EXPECT_EQ(here.holder(second), -1) << "another call asks anew";
  EXPECT_EQ(here.info_of(second).device, -1);
  EXPECT_EQ(here.info_of(nullptr).device, -1);
}

TEST(PointerCache, StackHeapAndDataOfTheProgramAreOrdinary) {
  static int data = 1;
  int local = 2;
  const auto small = std::make_unique<int>(3);
  EXPECT_TRUE(is_ordinary(&data));
  EXPECT_TRUE(is_ordinary(&local));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_TRUE(is_ordinary(small.get()));
#endif
  std::jthread([&] {
    int other = 4;
    EXPECT_TRUE(is_ordinary(&other));
    EXPECT_FALSE(is_ordinary(reinterpret_cast<const char*>(&other) - 4096)) << "below the stack's end";
  });
  void* const mapped = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_FALSE(is_ordinary(mapped));
  munmap(mapped, 4096);
  for (const std::intptr_t none : {0, 1, -1}) EXPECT_FALSE(is_ordinary(reinterpret_cast<void*>(none)));
}

TEST(PointerCache, PinnedMemoryIsTheHosts) {
  auto memories = PointerCache::open(true);
  ASSERT_TRUE(memories.ok());
  auto pinned = (*(*memories)->executor())->allocate_pinned(100);
  ASSERT_TRUE(pinned.ok());
  EXPECT_FALSE((*memories)->is_device(pinned->data()));
}

TEST(PointerCache, NothingIsEmulatedUnasked) {
  auto memories = PointerCache::open(false);
  ASSERT_TRUE(memories.ok());
  EXPECT_EQ((*memories)->allocate_emulated(0, 100), nullptr);
  int here = 0;
  EXPECT_EQ((*memories)->emulated_holder(&here), -1);
  EXPECT_FALSE((*memories)->is_device(&here));
}

TEST(PointerCache, OnlyWhatIsFreedIsGone) {
  auto memories = PointerCache::open(true);
  ASSERT_TRUE(memories.ok());
  PointerCache& here = **memories;
  void* const first = here.allocate_emulated(0, 4096);
  void* const second = here.allocate_emulated(0, 4096);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  here.free_emulated(static_cast<std::byte*>(first) + 1);  // the beginning of nothing
  EXPECT_TRUE(here.is_device(first));
  here.free_emulated(first);
  EXPECT_FALSE(here.is_device(first));
  EXPECT_TRUE(here.is_device(second));
  EXPECT_EQ(here.allocate_emulated(1000, 16), nullptr) << "no such device";
}

/// A driver of one GPU, which has the second half of `memory`, where no heap or stack is.
struct MadeUpDriver {
  static constexpr int kNotInitialized = 3;
  static constexpr std::size_t kBytes = 100;
  static inline std::byte* const memory =
      static_cast<std::byte*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  static inline bool started = false, freed = false;
  static inline std::vector<unsigned> asked;  ///< attributes of each question

  static int ask(unsigned count, unsigned* attributes, void** data, unsigned long long pointer) {
    asked.push_back(count);
    if (!started) return kNotInitialized;
    const auto begin = reinterpret_cast<std::uintptr_t>(memory) + 50;
    const bool gpu = !freed && pointer >= begin && pointer < begin + 50;
    for (unsigned i = 0; i < count; ++i) {
      if (attributes[i] == 1) continue;  // no context
      constexpr unsigned kType = 2, kDevice = 2, kSynchronous = 6;
      *static_cast<unsigned*>(data[i]) = !gpu ? 0 : attributes[i] == kType ? kDevice : attributes[i] == kSynchronous;
    }
    return 0;
  }
  static PointerCache::Driver whole() {
    started = freed = false;
    asked.clear();
    return {&ask, [](const void*, unsigned, unsigned long long) { return 0; }, [](void*) { return 0; },
            [](void**) { return 0; }, [](void*) { return 0; }};
  }
};

TEST(PointerCache, ADriverThatNobodyStartedIsAskedNoMoreThanThat) {
  const auto memories = PointerCache::over(MadeUpDriver::whole());
  ASSERT_TRUE(memories->possible());
  for (const std::size_t at : {0u, 99u}) EXPECT_EQ(memories->holder(&MadeUpDriver::memory[at]), -1);
  EXPECT_FALSE(memories->is_device(nullptr));
  EXPECT_FALSE(memories->cuda_initialized());
  EXPECT_EQ(MadeUpDriver::asked, (std::vector<unsigned>{1, 1, 1}));
}

TEST(PointerCache, AProgramMayStartTheDriverBetweenTwoCalls) {
  const auto memories = PointerCache::over(MadeUpDriver::whole());
  const std::byte* const gpu = &MadeUpDriver::memory[60];
  EXPECT_EQ(memories->holder(gpu), -1);
  MadeUpDriver::started = true;
  EXPECT_EQ(memories->holder(gpu), 0);
  EXPECT_TRUE(memories->cuda_initialized());
  EXPECT_EQ(memories->info_of(gpu).device, 0);
  EXPECT_TRUE(memories->info_of(gpu).sync_memops);
  EXPECT_EQ(memories->holder(&MadeUpDriver::memory[0]), -1);
  EXPECT_EQ(memories->info_of(gpu).device, 0) << "another pointer changes nothing";
}

TEST(PointerCache, TheProgramsHeapIsTheHostsWithoutAQuestion) {
  static int data = 1;  // which is before the heap
  const auto memories = PointerCache::over(MadeUpDriver::whole());
  MadeUpDriver::started = true;
  EXPECT_TRUE(memories->is_on_heap(&data));
  EXPECT_FALSE(memories->cuda_initialized()) << "the driver was asked";
  EXPECT_FALSE(memories->is_on_heap(nullptr));
  EXPECT_FALSE(memories->is_on_heap(reinterpret_cast<void*>(-1)));
  EXPECT_FALSE((*PointerCache::open(true))->is_on_heap(&data)) << "emulated memory may be anywhere";
}

TEST(PointerCache, AQuestionAboutNoAddressTellsThatTheDriverIsStarted) {
  const auto memories = PointerCache::over(MadeUpDriver::whole());
  MadeUpDriver::started = true;
  EXPECT_FALSE(memories->is_device(nullptr));
  EXPECT_TRUE(memories->cuda_initialized()) << "MPI_BOTTOM is such an address, behind which data of a GPU may lie";
}

TEST(PointerCache, WhatWasAGpusIsNotForEver) {
  const auto memories = PointerCache::over(MadeUpDriver::whole());
  MadeUpDriver::started = true;
  const std::byte* const place = &MadeUpDriver::memory[60];
  EXPECT_EQ(memories->holder(place), 0);
  MadeUpDriver::freed = true;  // and the program has host memory there now
  EXPECT_EQ(memories->holder(place), -1);
  EXPECT_EQ(memories->info_of(place).device, -1);
}

TEST(PointerCache, TheKindOfEmulatedMemoryIsKnown) {
  auto memories = PointerCache::open(true);
  ASSERT_TRUE(memories.ok());
  PointerCache& here = **memories;
  using Kind = Whereabouts::Kind;
  auto pinned = (*here.executor())->allocate_pinned(100);
  ASSERT_TRUE(pinned.ok());
  std::byte host{};
  void* const data = here.allocate_emulated(2, 100);
  EXPECT_EQ(here.kind_of(data), (Whereabouts{Kind::device, 2}));
  EXPECT_EQ(here.kind_of(pinned->data()), (Whereabouts{Kind::pinned}));
  EXPECT_EQ(here.kind_of(&host), Whereabouts{});
  EXPECT_EQ(here.kind_of(nullptr), Whereabouts{});
  EXPECT_EQ(here.kind_of(reinterpret_cast<void*>(-1)), Whereabouts{}) << "MPI_IN_PLACE of MPICH";
  here.free_emulated(data);
  EXPECT_EQ(here.kind_of(data), Whereabouts{});
}

/// What the driver says of each 10 bytes of MadeUpDriver::memory: its type, whether it is managed, and its device.
struct TellingDriver {
  static constexpr std::array<std::array<int, 3>, 5> kSays = {
      {{0, 0, -2}, {1, 0, 0}, {2, 1, 1}, {1, 1, 3}, {2, 0, 2}}};
  static inline int asked = 0, changed = 0;

  static int ask(unsigned count, unsigned* attributes, void** data, unsigned long long pointer) {
    ++asked;
    if (!MadeUpDriver::started) return MadeUpDriver::kNotInitialized;
    const auto place = (pointer - reinterpret_cast<std::uintptr_t>(MadeUpDriver::memory)) / 10;
    for (unsigned i = 0; i < count; ++i)
      *static_cast<int*>(data[i]) = kSays[place][attributes[i] == 2 ? 0 : attributes[i] == 8 ? 1 : 2];
    return 0;
  }
  static int change() { return ++changed, 0; }
  static PointerCache::Driver whole() {
    asked = changed = 0;
    return {&ask, [](const void*, unsigned, unsigned long long) { return change(); }, [](void*) { return change(); },
            [](void**) { return change(); }, [](void*) { return change(); }};
  }
};

TEST(PointerCache, TheKindOfMemoryIsAskedInOneQuestionThatChangesNothing) {
  using Kind = Whereabouts::Kind;
  const auto memories = PointerCache::over(TellingDriver::whole());
  const auto kind = [&](int which) { return memories->kind_of(&MadeUpDriver::memory[10 * which + 5]); };
  MadeUpDriver::started = false;
  EXPECT_EQ(kind(4), Whereabouts{}) << "no memory is a GPU's while nobody has started the driver";
  MadeUpDriver::started = true;
  TellingDriver::asked = 0;
  EXPECT_EQ(kind(0), Whereabouts{});
  EXPECT_EQ(kind(1), (Whereabouts{Kind::pinned}));
  EXPECT_EQ(kind(2), (Whereabouts{Kind::managed, 1}));
  EXPECT_EQ(kind(3), (Whereabouts{Kind::managed, 3})) << "where the host has it now";
  EXPECT_EQ(kind(4), (Whereabouts{Kind::device, 2}));
  EXPECT_EQ(TellingDriver::asked, 5);
  const int local = 0;
  EXPECT_EQ(memories->kind_of(&local), Whereabouts{});
  EXPECT_EQ(TellingDriver::asked, 5) << "the stack is nobody's to ask about";
  EXPECT_EQ(TellingDriver::changed, 0);
  EXPECT_FALSE(memories->cuda_initialized()) << "what the drop-in knows is its own";
}

TEST(PointerCache, AnIncompleteDriverIsNone) {
  auto driver = MadeUpDriver::whole();
  driver.synchronize = nullptr;
  EXPECT_FALSE(PointerCache::over(driver)->possible());
}

}  // namespace
}  // namespace sennit::stage
