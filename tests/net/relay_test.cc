#include "net/relay.h"

#include <gtest/gtest.h>

#include <cstring>

#include "comm/thread_exchange.h"
#include "path/machines.h"

namespace sennit::net {
namespace {

TEST(Chunks, CoverTheMessageInEqualParts) {
  for (const std::uint64_t bytes : {1ull, 127ull, 128ull, 1000ull, 4096ull, 1ull << 20, (3ull << 20) + 4}) {
    for (const int parts : {1, 2, 3, 8})
      for (const bool whole : {false, true}) {
        std::uint64_t at = 0;
        for (const Chunk& chunk : chunks_of(bytes, 100'000, parts, whole)) {
          EXPECT_EQ(chunk.begin, at);
          EXPECT_GT(chunk.bytes, 0u);
          EXPECT_LE(chunk.bytes, 100'000u + 128u * 8);
          EXPECT_TRUE(chunk.whole || chunk.bytes % (128u * static_cast<unsigned>(parts)) == 0) << chunk.bytes;
          EXPECT_TRUE(chunk.whole || !whole);
          EXPECT_EQ(chunk.begin % 128, 0u);
          at += chunk.bytes;
        }
        EXPECT_EQ(at, bytes) << parts << (whole ? " whole" : "");
      }
  }
}

TEST(Chunks, LeaveAShortRestWhole) {
  const auto chunks = chunks_of(1024 + 12, 1 << 20, 4, false);
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_EQ(chunks[0].bytes, 1024u);
  EXPECT_FALSE(chunks[0].whole);
  EXPECT_EQ(chunks[1].begin, 1024u);
  EXPECT_EQ(chunks[1].bytes, 12u);
  EXPECT_TRUE(chunks[1].whole);
}

std::unique_ptr<path::Node> alone() {
  return std::move(*path::Node::create(comm::alone(), *device::open_host_executor(),
                                       {0, path::machine_of_the_host_executor(), std::chrono::seconds(20)}));
}

/// Chunks of 1000 bytes whose contents each stage can tell.
struct Trace {
  std::vector<Chunk> chunks;
  std::vector<std::string> log;
  Stages stages(int fail_at = -1) {
    Stages made;
    made.down = made.up = true;
    made.gather = [this](const Chunk& chunk, std::byte* part, device::Lane& lane) {
      log.push_back("gather " + std::to_string(chunk.begin));
      return lane.copy(part, input.data() + chunk.begin, chunk.bytes);
    };
    made.between = [this, fail_at](std::byte* part, std::uint64_t bytes) {
      log.push_back("between");
      if (static_cast<int>(++between) == fail_at) return Status(Code::system_error, "the network is gone");
      for (std::uint64_t i = 0; i < bytes; ++i) part[i] ^= std::byte{0x5A};
      return Status();
    };
    made.spread = [this](const Chunk& chunk, std::byte* part, device::Lane& lane) {
      log.push_back("spread " + std::to_string(chunk.begin));
      return lane.copy(output.data() + chunk.begin, part, chunk.bytes);
    };
    return made;
  }
  explicit Trace(std::size_t count) : input(count * 1000), output(count * 1000) {
    for (std::size_t i = 0; i < count; ++i) chunks.push_back({i * 1000, 1000, true});
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = std::byte(i * 31 + i / 1000);
  }
  std::vector<std::byte> input, output;
  std::size_t between = 0;
};

std::uint64_t all_of(const Chunk& chunk) {
  return chunk.bytes;
}

TEST(Relay, TakesEveryChunkThroughAllStagesWhileTheNextBegin) {
  const auto node = alone();
  Relay relay(*node);
  for (int again = 0; again < 2; ++again) {
    Trace trace(20);
    ASSERT_TRUE(relay.run(trace.chunks, trace.stages(), all_of).ok());
    for (std::size_t i = 0; i < trace.input.size(); ++i)
      ASSERT_EQ(trace.output[i], trace.input[i] ^ std::byte{0x5A}) << "byte " << i;
    const auto place = [&](const std::string& what) {
      return std::ranges::find(trace.log, what) - trace.log.begin();
    };
    EXPECT_LT(place("gather 2000"), place("between")) << "three chunks are under way at once";
    EXPECT_GT(place("gather 3000"), place("between"));
    EXPECT_LT(place("gather 3000"), place("spread 1000"));
  }
}

TEST(Relay, WithoutAPartDoesTheStagesOfTheNodeAlone) {
  const auto node = alone();
  Relay relay(*node);
  Trace trace(4);
  int gathered = 0, spread = 0;
  Stages stages = trace.stages();
  stages.gather = [&](const Chunk&, std::byte*, device::Lane&) { return ++gathered, Status(); };
  stages.spread = [&](const Chunk&, std::byte*, device::Lane&) { return ++spread, Status(); };
  ASSERT_TRUE(relay.run(trace.chunks, stages, [](const Chunk&) { return 0; }).ok());
  EXPECT_EQ(trace.between, 0u);
  EXPECT_EQ(gathered, 4);
  EXPECT_EQ(spread, 4);
}

TEST(Relay, AFailedRailEndsTheNode) {
  const auto node = alone();
  Relay relay(*node);
  Trace trace(6);
  const auto status = relay.run(trace.chunks, trace.stages(2), all_of);
  EXPECT_EQ(status.what(), "the network is gone");
  EXPECT_TRUE(node->group().failed());
}

}  // namespace
}  // namespace sennit::net
