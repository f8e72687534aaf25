#include "device/mapped.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace sennit::device {
namespace {

TEST(IsMapped, TellsMemoryFromHoles) {
  int local = 0;
  EXPECT_TRUE(is_mapped(&local));
  void* page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_FALSE(is_mapped(page)) << "reserved addresses, as CUDA keeps them, are not memory";
  munmap(page, 4096);
  EXPECT_FALSE(is_mapped(page));
}

}  // namespace
}  // namespace sennit::device
