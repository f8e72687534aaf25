#include "msg/messages.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "base/units.h"
#include "machine/document.h"
#include "msg/two_ranks.h"
#include "path/machines.h"

namespace sennit::msg {
namespace {

TEST(Messages, ASenderThatLooksCopiesAndOneThatDoesNotIsHelped) {
  between_two(
      [](Party& rank, Rts& rts) {
        for (int round = 0; round < 30; ++round) {
          fill(rank, round);
          const auto outgoing = announce(rank, rts, kMostBytes);
          rank.meet();
          if (round % 3 == 0) rank.meet();  // until the other rank has it
          until_taken(*outgoing);
          if (round % 3 != 0) rank.meet();
        }
      },
      [](Party& rank, Rts& rts) {
        for (int round = 0; round < 30; ++round) {
          rank.meet();
          const auto incoming = rank.messages->fetch(rts, false, rank.memory.data(), 1);
          until_done(*incoming);
          EXPECT_TRUE(holds(rank, round, kMostBytes)) << round;
          rank.meet();
        }
      });
}

TEST(Messages, AShortOneIsBroughtByABlockThatIsThere) {
  static constexpr std::uint64_t kBytes = 2000;
  static constexpr int kRounds = 200;
  between_two(
      [](Party& rank, Rts& rts) {
        for (int round = 0; round < kRounds; ++round) {
          fill(rank, round);
          const auto outgoing = rank.messages->announce(rank.memory.data(), kBytes, kTo, round % 8 != 7);
          std::memcpy(&rts, outgoing->sent(), sizeof rts);
          rank.meet();
          until_taken(*outgoing);
          rank.meet();
        }
      },
      [](Party& rank, Rts& rts) {
        int brought = 0;
        for (int round = 0; round < kRounds; ++round) {
          rank.meet();
          const auto incoming = rank.messages->fetch(rts, false, rank.memory.data(), 1, true);
          const bool by_block = incoming->protocol() == Protocol::kernel_get;
          EXPECT_TRUE(round % 8 != 7 || !by_block) << "what the program did to it may not be over";
          brought += by_block ? 1 : 0;
          if (by_block)
            EXPECT_TRUE(*incoming->test()) << "at once";
          else
            until_done(*incoming);
          EXPECT_EQ(incoming->bytes(), kBytes);
          EXPECT_TRUE(holds(rank, round, kBytes)) << round;
          std::uint64_t word = 0;  // copies follow each other closely enough for a block
          for (int i = 0; i < 8; ++i)
            EXPECT_TRUE(rank.gpus->to_host(&word, rank.memory.data(), sizeof word, {1, true}).ok());
          rank.meet();
        }
        EXPECT_GT(brought, 0);
      },
      kMostBytes, std::chrono::seconds(1));
}

TEST(Messages, AReceiverThatLooksLateFindsThatItsMessageHasCome) {
  constexpr int kMessages = 5;
  between_two(
      [](Party& rank, Rts& rts) {
        fill(rank, 1);
        int slot = -1;
        for (int i = 0; i < kMessages; ++i) {
          const auto outgoing = announce(rank, rts, 50'000);
          if (i == 0) slot = outgoing->rts().slot;
          EXPECT_EQ(outgoing->rts().slot, slot) << "the messages have one slot in turn";
          rank.meet();
          until_taken(*outgoing);
          rank.meet();
        }
      },
      [](Party& rank, Rts& rts) {
        std::vector<std::unique_ptr<Messages::RecvTransfer>> all;
        for (int i = 0; i < kMessages; ++i) {
          rank.meet();
          all.push_back(rank.messages->fetch(rts, false, rank.memory.data() + i * 50'000, 1));
          rank.meet();
        }
        for (auto& each : all) {
          const auto done = each->test();
          ASSERT_TRUE(done.ok());
          EXPECT_TRUE(*done);
        }
        EXPECT_EQ(std::memcmp(rank.memory.data(), rank.memory.data() + 200'000, 50'000), 0);
        EXPECT_TRUE(holds(rank, 1, 50'000));
      });
}

TEST(Messages, ThoseThatASenderHearsTogetherAllCome) {
  std::vector<Rts> rts_of(12);
  between_two(
      [&](Party& rank, Rts&) {
        for (int round = 0; round < 20; ++round) {
          fill(rank, round);
          const auto all = announce_many(rank, rts_of);
          rank.meet();
          rank.meet();
          {
            const CopyBatch batch;
            for (const auto& each : all) {
              EXPECT_TRUE(each->has_rtr());
              const auto taken = each->test();
              ASSERT_TRUE(taken.ok());
              EXPECT_FALSE(*taken) << "nothing begins before all are found";
            }
          }
          rank.meet();
          for (const auto& each : all) until_taken(*each);
          rank.meet();
        }
      },
      [&](Party& rank, Rts&) {
        for (int round = 0; round < 20; ++round) {
          std::memset(rank.memory.data(), 0, rank.memory.bytes());
          rank.meet();
          const auto all = fetch_many(rank, rts_of);
          rank.meet();
          rank.meet();
          for (const auto& each : all) until_done(*each);
          EXPECT_TRUE(holds(rank, round, rts_of.size() * kShort)) << round;
          rank.meet();
        }
      });
}

TEST(Messages, ASenderThatLooksAtManyOthersFirstIsWaitedFor) {
  constexpr std::chrono::milliseconds kLong{2};  // many times what a sender may take that does not look
  between_two(
      [&](Party& rank, Rts& rts) {
        fill(rank, 4);
        const auto outgoing = announce(rank, rts, kShort);
        rank.meet();
        rank.meet();
        rank.messages->begin_pass();
        rank.meet();
        rank.meet();
        EXPECT_TRUE(outgoing->has_rtr());
        rank.messages->begin_pass();
        rank.messages->begin_pass();
        rank.meet();
        rank.meet();
        EXPECT_FALSE(outgoing->has_rtr()) << "it has had its time";
        until_taken(*outgoing);
      },
      [&](Party& rank, Rts& rts) {
        rank.meet();
        const auto incoming = rank.messages->fetch(rts, false, rank.memory.data(), 1);
        EXPECT_FALSE(*incoming->test());
        rank.meet();
        rank.meet();
        std::this_thread::sleep_for(kLong);
        EXPECT_FALSE(*incoming->test());
        rank.meet();
        rank.meet();
        until_done(*incoming);
        EXPECT_TRUE(holds(rank, 4, kShort));
        rank.meet();
      });
}

TEST(Messages, ASenderThatDidNotHearOnceIsAskedAgainWhenItLooks) {
  static constexpr std::uint64_t kLong = kMostTogether + 1;
  // What each message finds: whether the sender looks before, and whether it is asked.
  struct Round {
    bool looks, asked;
  };
  static constexpr Round kRounds[] = {{false, true}, {false, false}, {true, true}, {true, false}};
  between_two(
      [&](Party& rank, Rts& rts) {
        fill(rank, 5);
        for (const Round& round : kRounds) {
          if (round.looks) rank.messages->begin_pass();
          const auto outgoing = announce(rank, rts, kLong);
          rank.meet();
          rank.meet();
          EXPECT_EQ(outgoing->has_rtr(), round.asked) << &round - kRounds;
          EXPECT_EQ(outgoing->is_claimed(), !round.asked) << &round - kRounds;
          rank.meet();
          rank.meet();
          EXPECT_TRUE(outgoing->is_claimed()) << "it was not heard";
          until_taken(*outgoing);
        }
      },
      [&](Party& rank, Rts& rts) {
        for (const Round& round : kRounds) {
          rank.meet();
          const auto incoming = rank.messages->fetch(rts, false, rank.memory.data(), 1);
          rank.meet();
          rank.meet();
          until_done(*incoming);
          EXPECT_TRUE(holds(rank, 5, kLong)) << &round - kRounds;
          rank.meet();
        }
      },
      kLong);
}

TEST(Messages, ThoseThatAReceiverFetchesTogetherAllCome) {
  std::vector<Rts> rts_of(12);
  between_two(
      [&](Party& rank, Rts&) {
        for (int round = 0; round < 20; ++round) {
          fill(rank, round);
          const auto all = announce_many(rank, rts_of);
          rank.meet();
          rank.meet();  // it does not look
          for (const auto& each : all) until_taken(*each);
          rank.meet();
        }
      },
      [&](Party& rank, Rts&) {
        for (int round = 0; round < 20; ++round) {
          std::memset(rank.memory.data(), 0, rank.memory.bytes());
          rank.meet();
          const auto all = fetch_many(rank, rts_of);
          std::vector<Messages::RecvTransfer*> left;
          for (const auto& each : all) left.push_back(each.get());
          while (!left.empty()) {
            const CopyBatch batch;
            std::erase_if(left, [](Messages::RecvTransfer* each) { return *each->test(); });
          }
          EXPECT_TRUE(holds(rank, round, rts_of.size() * kShort)) << round;
          rank.meet();
          rank.meet();
        }
      });
}

TEST(Messages, LongOnesTakeSeveralPaths) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one ring are two memories to ThreadSanitizer: see tests/capi for processes";
#endif
  constexpr std::uint64_t kLong = 9 * MiB + 5;
  const auto file =
      std::filesystem::temp_directory_path() / ("sennit-messages-" + std::to_string(getpid()) + ".json");
  std::ofstream(file) << machine::to_json(path::machine_of_the_host_executor()).dump();
  setenv("SENNIT_MACHINE", file.c_str(), 1);
  setenv("SENNIT_SPLIT", "direct=0.5,host0 (sm)=0.5", 1);
  // A sender that is not heard in time is not asked again for a while, and the path is not there at once.
  constexpr int kMostRounds = 500;
  std::atomic<bool> opened = false;
  between_two(
      [&](Party& rank, Rts& rts) {
        const auto& offer = rank.group->slots(0).host_paths[1].rings[0];
        for (int round = 0; round < kMostRounds && !opened; ++round) {
          fill(rank, round);
          const auto outgoing = announce(rank, rts, kLong);
          rank.meet();
          until_taken(*outgoing);
          opened = offer.load() != 0 && round > 20;
          rank.meet();
        }
        EXPECT_TRUE(opened) << "no host path to rank 1 was opened";
      },
      [&](Party& rank, Rts& rts) {
        for (int round = 0; round < kMostRounds && !opened; ++round) {
          rank.meet();
          const auto incoming = rank.messages->fetch(rts, false, rank.memory.data(), 1);
          until_done(*incoming);
          EXPECT_TRUE(holds(rank, round, kLong)) << round;
          rank.meet();
        }
      },
      kLong);
  unsetenv("SENNIT_SPLIT");
  unsetenv("SENNIT_MACHINE");
  std::filesystem::remove(file);
}

TEST(Messages, MemoryMayBeOfMoreAllocationsThanAreRemembered) {
  // A buffer that lives long, and as many others that come and go as make it the oldest by far.
  constexpr int kOthers = 150;
  between_two(
      [](Party& rank, Rts& rts) {
        fill(rank, 2);
        for (int i = 0; i < kOthers; ++i) {
          const auto outgoing = announce(rank, rts, kMostBytes);
          rank.meet();
          until_taken(*outgoing);
          rank.meet();
        }
      },
      [](Party& rank, Rts& rts) {
        for (int i = 0; i < kOthers; ++i) {
          const auto other = std::move(*rank.executor->allocate(1, kMostBytes));
          std::byte* const to = i % 3 == 0 ? rank.memory.data() : other.data();
          std::memset(to, 0, kMostBytes);
          rank.meet();
          const auto incoming = rank.messages->fetch(rts, false, to, 1);
          until_done(*incoming);
          if (to != rank.memory.data()) std::memcpy(rank.memory.data(), to, kMostBytes);
          EXPECT_TRUE(holds(rank, 2, kMostBytes)) << i;
          rank.meet();
        }
      });
}

TEST(Messages, WhatGoesToHostMemoryIsCopiedByItsReceiver) {
  between_two(
      [](Party& rank, Rts& rts) {
        fill(rank, 3);
        const auto outgoing = announce(rank, rts, kMostBytes);
        rank.meet();
        rank.meet();
        until_taken(*outgoing);
      },
      [](Party& rank, Rts& rts) {
        rank.meet();
        std::vector<std::byte> host(kMostBytes);
        const auto incoming = rank.messages->fetch(rts, false, host.data(), -1);
        until_done(*incoming);
        std::memcpy(rank.memory.data(), host.data(), kMostBytes);
        EXPECT_TRUE(holds(rank, 3, kMostBytes));
        rank.meet();
      });
}

}  // namespace
}  // namespace sennit::msg
