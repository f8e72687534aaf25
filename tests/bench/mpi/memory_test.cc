#include "bench/mpi/memory.h"

#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

namespace sennit::bench::mpi {
namespace {

TEST(MpiMemory, OfTheHostNeedsNothing) {
  const auto memories = Memories::of_host();
  EXPECT_EQ(memories->executor(), nullptr);
  EXPECT_EQ(memories->gpu(), "");
  auto memory = memories->allocate(false, 4096);
  ASSERT_TRUE(memory);
  EXPECT_TRUE(memories->copy(memory->data(), "sennit", 7));
  EXPECT_STREQ(reinterpret_cast<const char*>(memory->data()), "sennit");
}

TEST(MpiMemory, OfAGpuCanBeEmulated) {
  ::setenv("SENNIT_EMULATE", "1", 1);
  const auto memories = Memories::of_gpu(5);
  ::unsetenv("SENNIT_EMULATE");
  ASSERT_TRUE(memories) << memories.status().text();
  EXPECT_TRUE((*memories)->emulated());
  EXPECT_EQ((*memories)->gpu(), "HOST-1") << "counted round four devices";
  auto gpu = (*memories)->allocate(true, 4096), pinned = (*memories)->allocate_pinned(4096);
  ASSERT_TRUE(gpu.ok() && pinned.ok());
  std::memset(pinned->data(), 7, 4096);
  EXPECT_TRUE((*memories)->copy(gpu->data(), pinned->data(), 4096));
  EXPECT_TRUE((*memories)->copy(pinned->data() + 1, gpu->data(), 1));
  EXPECT_EQ(pinned->data()[1], std::byte{7});
  const Status none = (*memories)->allocate_managed(4096).status();
  EXPECT_EQ(none.code(), Code::unsupported);
  EXPECT_EQ(none.where(), "--buffers managed");
}

TEST(MpiMemory, TooMuchIsAnError) {
  EXPECT_EQ(Memories::of_host()->allocate(false, std::uint64_t{1} << 60).status().code(), Code::out_of_memory);
}

}  // namespace
}  // namespace sennit::bench::mpi
