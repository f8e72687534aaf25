#include "shim/recorder/memory_kinds.h"

#include <gtest/gtest.h>

namespace sennit::shim::recorder {
namespace {

using profile::Memory;

const void* at(std::uintptr_t number) {
  return reinterpret_cast<const void*>(number);
}

TEST(MemoryKinds, TheDriverIsAskedOnceForManyUses) {
  MemoryKinds kinds;
  unsigned asked = 0;
  Memory now = Memory::device;
  const auto ask = [&](const void*) {
    ++asked;
    return now;
  };
  EXPECT_EQ(kinds.of(nullptr, ask), Memory::absent);
  EXPECT_EQ(asked, 0u);
  EXPECT_EQ(kinds.of(at(0x7f0000000000), ask), Memory::device);
  now = Memory::managed;  // something else has the address now
  for (std::uint32_t i = 1; i < MemoryKinds::kUses; ++i) EXPECT_EQ(kinds.of(at(0x7f0000000000), ask), Memory::device);
  EXPECT_EQ(asked, 1u);
  EXPECT_EQ(kinds.of(at(0x7f0000000000), ask), Memory::managed) << "it is noticed after so many uses";
  EXPECT_EQ(asked, 2u);
}

TEST(MemoryKinds, AddressesAreToldApart) {
  MemoryKinds kinds;
  const auto ask = [](const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % 2 == 0 ? Memory::device : Memory::pinned;
  };
  for (int round = 0; round < 3; ++round)
    for (std::uintptr_t i = 1; i < 3000; ++i)  // more than are remembered
      ASSERT_EQ(kinds.of(at(i), ask), i % 2 == 0 ? Memory::device : Memory::pinned);
}

}  // namespace
}  // namespace sennit::shim::recorder
