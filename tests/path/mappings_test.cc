#include "path/mappings.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace sennit::path {
namespace {

struct MappingsTest : testing::Test {
  std::shared_ptr<device::Executor> executor = *device::open_host_executor();
  Mappings mappings{*executor};
  device::Memory memory = *executor->allocate(1, MiB);

  std::shared_ptr<const Mapping> map(int rank, std::uint64_t offset, int device = 0) {
    auto mapping = mappings.map(rank, *executor->share(memory.data() + offset), device);
    EXPECT_TRUE(mapping.ok()) << mapping.status().text();
    return *mapping;
  }
};

TEST_F(MappingsTest, OfOneAllocationAreOne) {
  const auto first = map(3, 0), second = map(3, 4096);
  EXPECT_EQ(first, second);
  memory.data()[4099] = std::byte(7);
  EXPECT_EQ(second->base[4099], std::byte(7)) << "the base is the allocation's, wherever the window begins";
}

TEST_F(MappingsTest, OfOtherRanksOrForOtherDevicesAreTheirOwn) {
  const auto first = map(3, 0);
  EXPECT_NE(map(2, 0), first) << "two processes may number their allocations alike";
  EXPECT_NE(map(3, 0, 1), first);
}

TEST_F(MappingsTest, EndWithTheirLastOwner) {
  const std::byte* base = nullptr;
  {
    const auto mapping = map(3, 0);
    base = mapping->base;
    EXPECT_TRUE(executor->describe(base).ok());
  }
  const auto after = executor->describe(base);
  EXPECT_TRUE(!after.ok() || after->base != base) << "nobody holds it any more";
}

TEST_F(MappingsTest, FollowReallocation) {
  const auto before = map(3, 0);
  memory = *executor->allocate(1, MiB);
  const auto after = map(3, 0);
  EXPECT_NE(before, after);
  memory.data()[5] = std::byte(9);
  EXPECT_EQ(after->base[5], std::byte(9));
  EXPECT_NE(before->base[5], std::byte(9));
}

}  // namespace
}  // namespace sennit::path
