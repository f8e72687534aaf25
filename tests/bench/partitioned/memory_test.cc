#include "bench/partitioned/memory.h"

#include <set>

#include <gtest/gtest.h>

namespace sennit::bench::partitioned {
namespace {

TEST(Message, EveryWrongByteIsFound) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{29}}) {
    std::vector<std::byte> message(bytes);
    fill(message, 3);
    EXPECT_FALSE(first_wrong(message, 3));
    for (std::size_t at = 0; at < bytes; ++at) {
      message[at] ^= std::byte{1};
      EXPECT_EQ(first_wrong(message, 3), at);
      message[at] ^= std::byte{1};
    }
  }
}

TEST(Message, WhatIsSpoiledOrOfTheMessageBeforeIsWrongAtEveryByte) {
  std::vector<std::byte> right(1000), before(1000), spoiled(1000);
  fill(right, 256);
  fill(before, 255);
  spoil(spoiled, 256);
  for (std::size_t at = 0; at < right.size(); ++at) {
    EXPECT_NE(right[at], before[at]);
    EXPECT_NE(right[at], spoiled[at]);
  }
}

TEST(Message, NoTwoPlacesHoldTheSame) {
  std::vector<std::uint64_t> words(4096);
  fill(std::as_writable_bytes(std::span(words)), 9);
  EXPECT_EQ(std::set(words.begin(), words.end()).size(), words.size());
}

TEST(Cache, HasASize) {
  EXPECT_GE(last_level_cache(), std::uint64_t{1} << 15);
  Flush flush(1 << 12);
  flush();
}

}  // namespace
}  // namespace sennit::bench::partitioned
