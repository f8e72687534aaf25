#include "msg/chunk_stages.h"

#include <deque>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace sennit::msg {
namespace {

using Chunk = ChunkStages::Chunk;

TEST(ChunkStages, PiecesCoverTheMessageAndTakeBuffersInTurn) {
  ChunkStages stages(2500, 1000, 2);
  EXPECT_EQ(stages.next(ChunkStages::kFirst), (Chunk{0, 1000, 0}));
  stages.begin(ChunkStages::kFirst);
  EXPECT_EQ(stages.next(ChunkStages::kFirst), (Chunk{1000, 1000, 1}));
  stages.begin(ChunkStages::kFirst);
  EXPECT_EQ(stages.next(ChunkStages::kFirst), std::nullopt) << "both buffers are in use";
  EXPECT_EQ(stages.next(ChunkStages::kSecond), std::nullopt) << "nothing has ended the first stage";
  EXPECT_EQ(stages.under_way(ChunkStages::kFirst), (Chunk{0, 1000, 0}));
  stages.end(ChunkStages::kFirst);
  EXPECT_EQ(stages.next(ChunkStages::kFirst), std::nullopt) << "its buffer is still to go through the second stage";
  EXPECT_EQ(stages.next(ChunkStages::kSecond), (Chunk{0, 1000, 0}));
  stages.begin(ChunkStages::kSecond);
  EXPECT_EQ(stages.next(ChunkStages::kSecond), std::nullopt);
  EXPECT_EQ(stages.under_way(ChunkStages::kSecond), (Chunk{0, 1000, 0}));
  stages.end(ChunkStages::kSecond);
  EXPECT_EQ(stages.under_way(ChunkStages::kSecond), std::nullopt);
  EXPECT_EQ(stages.next(ChunkStages::kFirst), (Chunk{2000, 500, 0})) << "the rest is as short as it is";
  EXPECT_FALSE(stages.over());
}

/// ChunkStages end whenever they like, in order: all chunks go through both, and no buffer has two chunks at once.
TEST(ChunkStages, AllPiecesGoThroughWhateverEndsWhen) {
  std::mt19937 random(1);
  for (const std::uint64_t bytes : {1, 999, 1000, 1001, 4000, 12345})
    for (const int buffers : {1, 2, 4}) {
      ChunkStages stages(bytes, 1000, buffers);
      std::map<int, std::uint64_t> held;  // by buffer: the chunk in it
      std::vector<Chunk> came;
      for (int step = 0; !stages.over(); ++step) {
        ASSERT_LT(step, 10'000) << bytes << " bytes by " << buffers << " buffers stand still";
        const int stage = static_cast<int>(random() % 2);
        if (random() % 2) {
          const auto chunk = stages.next(stage);
          if (!chunk) continue;
          if (stage == ChunkStages::kFirst) {
            EXPECT_TRUE(held.emplace(chunk->buffer, chunk->at).second) << "a buffer is given twice";
          }
          EXPECT_EQ(held.at(chunk->buffer), chunk->at);
          stages.begin(stage);
        } else if (const auto chunk = stages.under_way(stage)) {
          stages.end(stage);
          if (stage != ChunkStages::kSecond) continue;
          held.erase(chunk->buffer);
          came.push_back(*chunk);
        }
      }
      std::uint64_t end = 0;
      for (const Chunk& chunk : came) {
        EXPECT_EQ(chunk.at, end);
        end += chunk.bytes;
      }
      EXPECT_EQ(end, bytes);
      EXPECT_EQ(stages.next(ChunkStages::kFirst), std::nullopt);
      EXPECT_EQ(stages.next(ChunkStages::kSecond), std::nullopt);
    }
}

}  // namespace
}  // namespace sennit::msg
