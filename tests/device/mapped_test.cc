#include "device/mapped.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace sennit::device {
namespace {

constexpr std::size_t kPage = 4096;

TEST(IsMapped, TellsMemoryFromHoles) {
  int local = 0;
  EXPECT_TRUE(is_mapped(&local));
  void* page = mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_FALSE(is_mapped(page)) << "reserved addresses, as CUDA keeps them, are not memory";
  munmap(page, kPage);
  EXPECT_FALSE(is_mapped(page));
}

/// Four pages: usable, read-only, usable, none.
struct Pages : testing::Test {
  std::byte* data =
      static_cast<std::byte*>(mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  Pages() {
    mprotect(data + kPage, kPage, PROT_READ);
    mprotect(data + 3 * kPage, kPage, PROT_NONE);
  }
  ~Pages() override { munmap(data, 4 * kPage); }

  /// Both ways of finding out must agree.
  bool usable(std::size_t begin, std::uint64_t bytes, Access access) const {
    std::ifstream maps("/proc/self/maps");
    const bool listed = is_usable(maps, data + begin, bytes, access);
    EXPECT_EQ(is_usable(data + begin, bytes, access), listed) << begin << " " << bytes;
    return listed;
  }
};

TEST_F(Pages, AreUsableAsFarAsTheirProtectionAllows) {
  EXPECT_TRUE(usable(0, kPage, Access::write));
  EXPECT_TRUE(usable(17, kPage - 17, Access::write));
  EXPECT_FALSE(usable(17, kPage - 16, Access::write)) << "one byte of the read-only page";
  EXPECT_TRUE(usable(0, 3 * kPage, Access::read));
  EXPECT_FALSE(usable(0, 3 * kPage + 1, Access::read));
  EXPECT_TRUE(usable(2 * kPage, kPage, Access::write));
  EXPECT_FALSE(usable(3 * kPage, 1, Access::read));
  EXPECT_TRUE(usable(3 * kPage, 0, Access::read));
}

TEST_F(Pages, AreUnusableAroundAHole) {
  munmap(data + kPage, kPage);
  EXPECT_FALSE(usable(0, 3 * kPage, Access::read)) << "the first and the last byte are there";
  EXPECT_TRUE(usable(0, kPage, Access::read));
}

TEST_F(Pages, OfARangeThatWrapsAreUnusable) {
  EXPECT_FALSE(usable(0, ~std::uint64_t{0}, Access::read));
}

TEST(IsUsable, ReadsTheKernelsList) {
  const char* const maps =
      "1000-3000 rw-p 00000000 00:00 0\n"
      "3000-4000 r--p 00000000 00:00 0 [vvar]\n"
      "5000-6000 -w-p 00000000 00:00 0\n";
  const auto usable = [&](std::uintptr_t begin, std::uint64_t bytes, Access access) {
    std::istringstream stream(maps);
    return is_usable(stream, reinterpret_cast<const void*>(begin), bytes, access);
  };
  EXPECT_TRUE(usable(0x1000, 0x3000, Access::read));
  EXPECT_FALSE(usable(0x1000, 0x2001, Access::write));
  EXPECT_FALSE(usable(0xFFF, 1, Access::read));
  EXPECT_FALSE(usable(0x3FFF, 2, Access::read));
  EXPECT_FALSE(usable(0x5000, 1, Access::read));
}

}  // namespace
}  // namespace sennit::device
