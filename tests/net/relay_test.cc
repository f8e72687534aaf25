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

std::unique_ptr<node::Node> alone() {
  return std::move(*node::Node::create(comm::alone(), *device::open_host_executor(),
                                       {0, path::machine_of_the_host_executor(), std::chrono::seconds(20)}));
}

/// Chunks of 1000 bytes whose contents each stage can tell.
struct Trace {
  explicit Trace(std::size_t count) : input(count * kBytes), output(count * kBytes) {
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = std::byte(i * 31 + i / kBytes);
  }
  static constexpr std::size_t kBytes = 1000;

  /// What the rail does to each byte in trip `number`.
  static std::byte changed(std::byte given, std::size_t number) { return given ^ std::byte(0x5A + number); }

  Course course(std::size_t chunk, std::size_t trips) {
    Course made;
    const auto name = [chunk](const char* what) { return what + (" " + std::to_string(chunk)); };
    made.gather = [=, this](std::byte* memory, device::Lane& lane) {
      log.push_back(name("gather"));
      return lane.copy(memory, input.data() + chunk * kBytes, kBytes);
    };
    for (std::size_t number = 0; number < trips; ++number) {
      Trip trip;
      // Each trip takes another place, on the GPU and on the host.
      const std::uint64_t from = number * kBytes, to = from + kBytes;
      trip.down = {{from, 0, 400}, {from + 400, 400, kBytes - 400}};
      trip.rail = [=, this](std::byte* host) {
        log.push_back(name(number == 0 ? "first" : "second"));
        if (log.back() == fails) return Status(Code::system_error, "the network is gone");
        for (std::size_t i = 0; i < kBytes; ++i) host[kBytes + i] = changed(host[i], number);
        return Status();
      };
      trip.up = {{to, kBytes, 300}, {to + 300, kBytes + 300, kBytes - 300}};
      trip.then = [=, this](std::byte* memory, device::Lane& lane) {
        log.push_back(name("then"));
        return lane.copy(memory + from, memory + to, number + 1 == trips ? kBytes : 0);
      };
      made.trips.push_back(std::move(trip));
    }
    made.spread = [=, this](std::byte* memory, device::Lane& lane) {
      log.push_back(name("spread"));
      if (trips == 0) return Status();
      return lane.copy(output.data() + chunk * kBytes, memory + (trips - 1) * kBytes, kBytes);
    };
    return made;
  }
  std::ptrdiff_t place(const std::string& what) const { return std::ranges::find(log, what) - log.begin(); }

  std::vector<std::byte> input, output;
  std::vector<std::string> log;
  std::string fails;
};

std::unique_ptr<Relay> relay_of(node::Node& node) {
  auto made = std::make_unique<Relay>(node);
  EXPECT_TRUE(made->prepare(3 * Trace::kBytes).ok());
  return made;
}

TEST(Relay, TakesEveryChunkThroughAllStagesWhileTheNextBegin) {
  const auto node = alone();
  const auto relay = relay_of(*node);
  for (const std::size_t trips : {1u, 2u, 1u}) {
    Trace trace(20);
    ASSERT_TRUE(relay->run(20, trips, [&](std::size_t i) { return trace.course(i, trips); }).ok());
    for (std::size_t i = 0; i < trace.input.size(); ++i) {
      std::byte expected = trace.input[i];
      for (std::size_t number = 0; number < trips; ++number) expected = Trace::changed(expected, number);
      ASSERT_EQ(trace.output[i], expected) << "byte " << i;
    }
    EXPECT_LT(trace.place("gather 2"), trace.place("first 0")) << "three chunks are under way at once";
    EXPECT_GT(trace.place("gather 3"), trace.place("first 0"));
    EXPECT_LT(trace.place("gather 3"), trace.place("spread 1"));
    if (trips == 1) continue;
    EXPECT_LT(trace.place("first 1"), trace.place("second 0")) << "a call for another chunk lies between two trips";
    EXPECT_GT(trace.place("first 2"), trace.place("second 0"));
  }
}

TEST(Relay, WithoutAPartDoesTheStagesOfTheNodeInTheSameTurns) {
  const auto node = alone();
  const auto relay = relay_of(*node);
  for (const std::size_t trips : {1u, 2u}) {
    const auto order = [&](std::size_t own) {
      Trace trace(6);
      EXPECT_TRUE(relay->run(6, trips, [&](std::size_t i) { return trace.course(i, own); }).ok());
      std::erase_if(trace.log, [](const std::string& what) { return what[0] != 'g' && what[0] != 's'; });
      std::erase_if(trace.log, [](const std::string& what) { return what.starts_with("second"); });
      return trace.log;
    };
    EXPECT_EQ(order(0), order(trips));
    EXPECT_EQ(order(0).size(), 12u);
  }
}

TEST(Relay, AFailedRailEndsTheNode) {
  const auto node = alone();
  const auto relay = relay_of(*node);
  Trace trace(6);
  trace.fails = "first 1";
  const auto status = relay->run(6, 1, [&](std::size_t i) { return trace.course(i, 1); });
  EXPECT_EQ(status.what(), "the network is gone");
  EXPECT_TRUE(node->group().failed());
}

}  // namespace
}  // namespace sennit::net
