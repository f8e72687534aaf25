// Ranks are threads: see thread_mpi.h.
#include "shim/mpi/comm/agreement.h"

#include <atomic>
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../thread_mpi.h"

namespace sennit::shim::mpi {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

CommShape shape_of(const Mpi& mpi) {
  CommShape shape;
  EXPECT_EQ(mpi.shape(mpi.comm_world(), shape), 0);
  return shape;
}

TEST(Agreement, OneRankWithAGpuIsEnough) {
  for (const int with_gpu : {-1, 0, 2}) {
    ThreadWorld world;
    on_threads(world, 3, [with_gpu](ThreadMpi& mpi, int thread) {
      const auto any = agree(mpi, shape_of(mpi), "1.0", thread == with_gpu, 10s);
      ASSERT_TRUE(any.ok()) << any.status().text();
      EXPECT_EQ(*any, with_gpu >= 0);
    });
  }
}

TEST(Agreement, WhatAllRanksWishIsDone) {
  for (const int without : {-1, 0, 2}) {
    ThreadWorld world;
    on_threads(world, 3, [without](ThreadMpi& mpi, int thread) {
      Requested requested{thread != without, true};
      const auto any = agree(mpi, shape_of(mpi), "1.0", thread == 1, 10s, &requested);
      ASSERT_TRUE(any.ok()) << any.status().text();
      EXPECT_TRUE(*any);
      EXPECT_EQ(requested.reorder, without < 0);
      EXPECT_TRUE(requested.map);
    });
  }
}

TEST(Agreement, AnotherVersionIsNamedOnAllRanks) {
  ThreadWorld world;
  on_threads(world, 3, [](ThreadMpi& mpi, int thread) {
    const auto any = agree(mpi, shape_of(mpi), thread == 2 ? "1.1" : "1.0", true, 10s);
    EXPECT_EQ(any.status().code(), Code::mismatch);
    EXPECT_THAT(any.status().text(), HasSubstr("rank 0 has sennit 1.0, rank 2 another build, 1.1"));
  });
}

TEST(Agreement, ARankWithoutTheDropInIsNotWaitedForForEver) {
  ThreadWorld world;
  on_threads(world, 3, [](ThreadMpi& mpi, int thread) {
    if (thread == 1) return;
    const auto any = agree(mpi, shape_of(mpi), "1.0", true, 50ms);
    EXPECT_EQ(any.status().code(), Code::timed_out);
    EXPECT_THAT(any.status().text(), HasSubstr("not all ranks answered within 0.05 s"));
    EXPECT_THAT(any.status().text(), HasSubstr("LD_PRELOAD"));
  });
}

TEST(Agreement, ARankThatCameTooLateIsNotLeftAlone) {
  ThreadWorld world;
  std::atomic<bool> given_up = false;
  on_threads(world, 2, [&](ThreadMpi& mpi, int thread) {
    while (thread == 1 && !given_up) std::this_thread::yield();
    EXPECT_EQ(agree(mpi, shape_of(mpi), "1.0", true, 50ms).status().code(), Code::timed_out);
    given_up = true;
  });
}

TEST(Agreement, WhatIsNoCardIsNoDropIn) {
  ThreadWorld world;
  on_threads(world, 2, [](ThreadMpi& mpi, int thread) {
    if (thread == 1) {  // the program's own first call of the kind
      const std::vector<std::byte> other(64);
      std::vector<std::byte> all(128);
      (void)mpi.all_gather(mpi.comm_world(), other.data(), all.data(), 64);
      return;
    }
    const auto any = agree(mpi, shape_of(mpi), "1.0", true, 10s);
    EXPECT_EQ(any.status().code(), Code::peer_lost);
    EXPECT_THAT(any.status().text(), HasSubstr("rank 1 has no drop-in"));
  });
}

}  // namespace
}  // namespace sennit::shim::mpi
