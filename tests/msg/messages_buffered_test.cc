// Messages that are left for receivers that come late.
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "msg/two_ranks.h"

namespace sennit::msg {
namespace {

TEST(Messages, OneThatIsShortIsLeftForAReceiverThatDoesNotCome) {
  static constexpr std::uint64_t kBytes = 3000;
  static constexpr int kLeft = 3;
  std::vector<Rts> rts_of(kLeft);
  between_two(
      [&](Party& rank, Rts& rts) {
        for (Rts& each : rts_of) {
          fill(rank, static_cast<int>(&each - rts_of.data()));
          const auto outgoing = announce(rank, each, kBytes);
          EXPECT_FALSE(*outgoing->test()) << "nobody waits yet";
          for (bool taken = false; !taken; taken = *outgoing->test()) outgoing->is_waited_for();
          fill(rank, 99);  // the program may use its buffer again
        }
        const auto lengthy = announce(rank, rts, kMostBuffered + 1);
        for (const auto until = std::chrono::steady_clock::now() + 3 * Messages::kWaits;
             std::chrono::steady_clock::now() < until;) {
          lengthy->is_waited_for();
          EXPECT_FALSE(*lengthy->test()) << "it is too long";
        }
        rank.meet();
        until_taken(*lengthy);
        rank.meet();  // the other rank has all
        for (int i = 0; i < Rts::kSlots - 1; ++i) {
          const auto more = rank.messages->announce(rank.memory.data(), kBytes, kTo, true);
          ASSERT_NE(more, nullptr) << "slots are free again";
        }
      },
      [&](Party& rank, Rts& rts) {
        rank.meet();
        auto host = *rank.executor->allocate_pinned(kBytes);
        for (int i = 0; i < kLeft; ++i) {
          const bool to_gpu = i != 1;
          const auto incoming = rank.messages->fetch(rts_of[i], false, to_gpu ? rank.memory.data() : host.data(),
                                                     to_gpu ? 1 : -1, true);
          EXPECT_EQ(incoming->protocol(), Protocol::rndv_buffered);
          until_done(*incoming);
          if (!to_gpu) std::memcpy(rank.memory.data(), host.data(), kBytes);
          EXPECT_TRUE(holds(rank, i, kBytes)) << i;
        }
        const auto incoming = rank.messages->fetch(rts, false, rank.memory.data(), 1);
        until_done(*incoming);
        EXPECT_TRUE(holds(rank, 99, kMostBuffered + 1));
        rank.meet();
      });
}

TEST(Messages, OneThatIsSentSynchronouslyWaitsForItsReceiver) {
  static constexpr std::uint64_t kBytes = 3000;
  between_two(
      [](Party& rank, Rts& rts) {
        fill(rank, 7);
        const auto outgoing = rank.messages->announce(rank.memory.data(), kBytes, kTo, true, true);
        ASSERT_NE(outgoing, nullptr);
        std::memcpy(&rts, outgoing->sent(), sizeof rts);
        for (const auto until = std::chrono::steady_clock::now() + 3 * Messages::kWaits;
             std::chrono::steady_clock::now() < until;) {
          outgoing->is_waited_for();
          EXPECT_FALSE(*outgoing->test());
        }
        rank.meet();
        until_taken(*outgoing);
      },
      [](Party& rank, Rts& rts) {
        rank.meet();
        const auto incoming = rank.messages->fetch(rts, false, rank.memory.data(), 1);
        until_done(*incoming);
        EXPECT_TRUE(holds(rank, 7, kBytes));
      });
}

TEST(Messages, OneThatIsLeftJustAsItsReceiverComesArrivesOnce) {
  static constexpr std::uint64_t kBytes = 3000;
  static constexpr int kRounds = 60;
  between_two(
      [](Party& rank, Rts& rts) {
        for (int round = 0; round < kRounds; ++round) {
          fill(rank, round);
          auto outgoing = announce(rank, rts, kBytes);
          rank.meet();
          for (bool taken = false; !taken; taken = *outgoing->test()) {
            outgoing->is_waited_for();
            std::this_thread::yield();
          }
          fill(rank, 99);
          outgoing.reset();
          rank.meet();
        }
      },
      [](Party& rank, Rts& rts) {
        for (int round = 0; round < kRounds; ++round) {
          rank.meet();
          const auto comes =
              std::chrono::steady_clock::now() + Messages::kWaits + (round - kRounds / 2) * Messages::kWaits / 40;
          while (std::chrono::steady_clock::now() < comes) std::this_thread::yield();
          const auto incoming = rank.messages->fetch(rts, false, rank.memory.data(), 1);
          until_done(*incoming);
          EXPECT_TRUE(holds(rank, round, kBytes)) << round;
          rank.meet();
        }
      });
}

}  // namespace
}  // namespace sennit::msg
