#include "shim/mpi/p2p/stages.h"

#include <deque>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace sennit::shim::mpi {
namespace {

using Piece = Stages::Piece;

TEST(Stages, PiecesCoverTheMessageAndTakeBuffersInTurn) {
  Stages stages(2500, 1000, 2);
  EXPECT_EQ(stages.next(Stages::kFirst), (Piece{0, 1000, 0}));
  stages.begin(Stages::kFirst);
  EXPECT_EQ(stages.next(Stages::kFirst), (Piece{1000, 1000, 1}));
  stages.begin(Stages::kFirst);
  EXPECT_EQ(stages.next(Stages::kFirst), std::nullopt) << "both buffers are in use";
  EXPECT_EQ(stages.next(Stages::kSecond), std::nullopt) << "nothing has ended the first stage";
  EXPECT_EQ(stages.under_way(Stages::kFirst), (Piece{0, 1000, 0}));
  stages.end(Stages::kFirst);
  EXPECT_EQ(stages.next(Stages::kFirst), std::nullopt) << "its buffer is still to go through the second stage";
  EXPECT_EQ(stages.next(Stages::kSecond), (Piece{0, 1000, 0}));
  stages.begin(Stages::kSecond);
  EXPECT_EQ(stages.next(Stages::kSecond), std::nullopt);
  EXPECT_EQ(stages.under_way(Stages::kSecond), (Piece{0, 1000, 0}));
  stages.end(Stages::kSecond);
  EXPECT_EQ(stages.under_way(Stages::kSecond), std::nullopt);
  EXPECT_EQ(stages.next(Stages::kFirst), (Piece{2000, 500, 0})) << "the rest is as short as it is";
  EXPECT_FALSE(stages.over());
}

/// Stages end whenever they like, in order: all pieces go through both, and no buffer has two pieces at once.
TEST(Stages, AllPiecesGoThroughWhateverEndsWhen) {
  std::mt19937 random(1);
  for (const std::uint64_t bytes : {1, 999, 1000, 1001, 4000, 12345})
    for (const int buffers : {1, 2, 4}) {
      Stages stages(bytes, 1000, buffers);
      std::map<int, std::uint64_t> held;  // by buffer: the piece in it
      std::vector<Piece> came;
      for (int step = 0; !stages.over(); ++step) {
        ASSERT_LT(step, 10'000) << bytes << " bytes by " << buffers << " buffers stand still";
        const int stage = static_cast<int>(random() % 2);
        if (random() % 2) {
          const auto piece = stages.next(stage);
          if (!piece) continue;
          if (stage == Stages::kFirst) {
            EXPECT_TRUE(held.emplace(piece->buffer, piece->at).second) << "a buffer is given twice";
          }
          EXPECT_EQ(held.at(piece->buffer), piece->at);
          stages.begin(stage);
        } else if (const auto piece = stages.under_way(stage)) {
          stages.end(stage);
          if (stage != Stages::kSecond) continue;
          held.erase(piece->buffer);
          came.push_back(*piece);
        }
      }
      std::uint64_t end = 0;
      for (const Piece& piece : came) {
        EXPECT_EQ(piece.at, end);
        end += piece.bytes;
      }
      EXPECT_EQ(end, bytes);
      EXPECT_EQ(stages.next(Stages::kFirst), std::nullopt);
      EXPECT_EQ(stages.next(Stages::kSecond), std::nullopt);
    }
}

}  // namespace
}  // namespace sennit::shim::mpi
