// Two ranks are threads, each with a host executor of its own; what MPI would carry is handed over.
#include "shim/mpi/messages.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/units.h"
#include "comm/thread_exchange.h"
#include "machine/document.h"
#include "path/bell.h"
#include "path/machines.h"

namespace sennit::shim::mpi {
namespace {

constexpr std::uint64_t kMostBytes = 1 << 20;
constexpr std::array<std::uint64_t, 2> kJob{17, 4};

struct Rank {
  std::unique_ptr<comm::Group> group;
  std::shared_ptr<device::Executor> executor;
  std::unique_ptr<Gpus> gpus;
  std::unique_ptr<Loans> loans;
  std::unique_ptr<Messages> messages;
  device::Memory memory;

  void meet() { ASSERT_TRUE(group->exchange().barrier().ok()); }
};

/// Runs send(rank, card) on rank 0 and receive(rank, card) on rank 1, where `card` is what rank 0 announced last.
template <class Send, class Receive>
void between_two(const Send& send, const Receive& receive, std::uint64_t bytes = kMostBytes) {
  comm::Table table(2);
  Announcement card{};
  comm::on_ranks(2, [&](int number) {
    Rank rank;
    auto group = comm::Group::create(std::make_unique<comm::ThreadExchange>(table, number), std::chrono::seconds(20));
    ASSERT_TRUE(group.ok()) << group.status().text();
    rank.group = std::move(*group);
    rank.executor = *device::open_host_executor();
    rank.gpus = std::make_unique<Gpus>(rank.executor);
    rank.loans = std::make_unique<Loans>(*rank.group, *rank.executor);
    rank.messages = std::make_unique<Messages>(*rank.group, kJob, *rank.gpus, *rank.loans,
                                               [] { return device::open_host_executor(); });
    rank.memory = std::move(*rank.executor->allocate(number, bytes));
    std::memset(rank.memory.data(), 0, bytes);
    if (number == 0)
      send(rank, card);
    else
      receive(rank, card);
    rank.meet();
  });
}

void fill(Rank& rank, int number) {
  for (std::uint64_t i = 0; i < rank.memory.bytes(); ++i)
    rank.memory.data()[i] = std::byte((i * 7 + i / 509 + number) & 0xFF);
}
bool holds(const Rank& rank, int number, std::uint64_t bytes) {
  for (std::uint64_t i = 0; i < bytes; ++i)
    if (rank.memory.data()[i] != std::byte((i * 7 + i / 509 + number) & 0xFF)) return false;
  return true;
}

std::unique_ptr<Messages::Outgoing> announce(Rank& rank, Announcement& card, std::uint64_t bytes) {
  auto outgoing = rank.messages->announce(rank.memory.data(), bytes, 1, 5);
  EXPECT_NE(outgoing, nullptr);
  if (outgoing != nullptr) std::memcpy(&card, outgoing->sent(), sizeof card);
  return outgoing;
}
void until_taken(Messages::Outgoing& outgoing) {
  for (;;) {
    const auto taken = outgoing.taken();
    ASSERT_TRUE(taken.ok()) << taken.status().text();
    if (*taken) return;
    std::this_thread::yield();
  }
}
void until_done(Messages::Incoming& incoming) {
  for (;;) {
    const auto done = incoming.done();
    ASSERT_TRUE(done.ok()) << done.status().text();
    if (*done) return;
    std::this_thread::yield();
  }
}

TEST(Messages, ASenderThatLooksCopiesAndOneThatDoesNotIsHelped) {
  between_two(
      [](Rank& rank, Announcement& card) {
        for (int round = 0; round < 30; ++round) {
          fill(rank, round);
          const auto outgoing = announce(rank, card, kMostBytes);
          rank.meet();
          if (round % 3 == 0) rank.meet();  // until the other rank has it
          until_taken(*outgoing);
          if (round % 3 != 0) rank.meet();
        }
      },
      [](Rank& rank, Announcement& card) {
        for (int round = 0; round < 30; ++round) {
          rank.meet();
          const auto incoming = rank.messages->fetch(card, rank.memory.data(), 1);
          until_done(*incoming);
          EXPECT_TRUE(holds(rank, round, kMostBytes)) << round;
          rank.meet();
        }
      });
}

TEST(Messages, AReceiverThatLooksLateFindsThatItsMessageHasCome) {
  constexpr int kMessages = 5;
  between_two(
      [](Rank& rank, Announcement& card) {
        fill(rank, 1);
        int slot = -1;
        for (int i = 0; i < kMessages; ++i) {
          const auto outgoing = announce(rank, card, 50'000);
          if (i == 0) slot = outgoing->announcement().slot;
          EXPECT_EQ(outgoing->announcement().slot, slot) << "the messages have one slot in turn";
          rank.meet();
          until_taken(*outgoing);
          rank.meet();
        }
      },
      [](Rank& rank, Announcement& card) {
        std::vector<std::unique_ptr<Messages::Incoming>> all;
        for (int i = 0; i < kMessages; ++i) {
          rank.meet();
          all.push_back(rank.messages->fetch(card, rank.memory.data() + i * 50'000, 1));
          rank.meet();
        }
        for (auto& each : all) {
          const auto done = each->done();
          ASSERT_TRUE(done.ok());
          EXPECT_TRUE(*done);
        }
        EXPECT_EQ(std::memcmp(rank.memory.data(), rank.memory.data() + 200'000, 50'000), 0);
        EXPECT_TRUE(holds(rank, 1, 50'000));
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
      [&](Rank& rank, Announcement& card) {
        const auto& offer = rank.group->control().slot(0, path::kOfferSlot + 1).words[0];
        for (int round = 0; round < kMostRounds && !opened; ++round) {
          fill(rank, round);
          const auto outgoing = announce(rank, card, kLong);
          rank.meet();
          until_taken(*outgoing);
          opened = offer.load() != 0 && round > 20;
          rank.meet();
        }
        EXPECT_TRUE(opened) << "no host path to rank 1 was opened";
      },
      [&](Rank& rank, Announcement& card) {
        for (int round = 0; round < kMostRounds && !opened; ++round) {
          rank.meet();
          const auto incoming = rank.messages->fetch(card, rank.memory.data(), 1);
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
      [](Rank& rank, Announcement& card) {
        fill(rank, 2);
        for (int i = 0; i < kOthers; ++i) {
          const auto outgoing = announce(rank, card, kMostBytes);
          rank.meet();
          until_taken(*outgoing);
          rank.meet();
        }
      },
      [](Rank& rank, Announcement& card) {
        for (int i = 0; i < kOthers; ++i) {
          const auto other = std::move(*rank.executor->allocate(1, kMostBytes));
          std::byte* const to = i % 3 == 0 ? rank.memory.data() : other.data();
          std::memset(to, 0, kMostBytes);
          rank.meet();
          const auto incoming = rank.messages->fetch(card, to, 1);
          until_done(*incoming);
          if (to != rank.memory.data()) std::memcpy(rank.memory.data(), to, kMostBytes);
          EXPECT_TRUE(holds(rank, 2, kMostBytes)) << i;
          rank.meet();
        }
      });
}

TEST(Messages, ShortOnesFindAShortAnnouncementBesideManyLongOnes) {
  between_two(
      [](Rank& rank, Announcement& card) {
        std::vector<std::unique_ptr<Messages::Outgoing>> all;
        for (int i = 0; i < 40; ++i) all.push_back(announce(rank, card, kMostBytes));
        for (int i = 0; i < 8; ++i) all.push_back(announce(rank, card, kLeastAnnounced));
        EXPECT_EQ(rank.messages->announce(rank.memory.data(), kLeastAnnounced, 1, 5), nullptr);
      },
      [](Rank&, Announcement&) {});
}

TEST(Messages, WhatGoesToHostMemoryIsCopiedByItsReceiver) {
  between_two(
      [](Rank& rank, Announcement& card) {
        fill(rank, 3);
        const auto outgoing = announce(rank, card, kMostBytes);
        rank.meet();
        rank.meet();
        until_taken(*outgoing);
      },
      [](Rank& rank, Announcement& card) {
        rank.meet();
        std::vector<std::byte> host(kMostBytes);
        const auto incoming = rank.messages->fetch(card, host.data(), -1);
        until_done(*incoming);
        std::memcpy(rank.memory.data(), host.data(), kMostBytes);
        EXPECT_TRUE(holds(rank, 3, kMostBytes));
        rank.meet();
      });
}

TEST(Messages, OneThatIsRefusedIsTaken) {
  between_two(
      [](Rank& rank, Announcement& card) {
        fill(rank, 3);
        const auto outgoing = announce(rank, card, kMostBytes);
        rank.meet();
        until_taken(*outgoing);
      },
      [](Rank& rank, Announcement& card) {
        rank.meet();
        EXPECT_EQ(rank.messages->probed(0, 5, static_cast<std::uint64_t>(card.length())), kMostBytes);
        rank.messages->refuse(card);
        EXPECT_EQ(rank.messages->probed(0, 5, static_cast<std::uint64_t>(card.length())),
                  static_cast<std::uint64_t>(card.length()));
      });
}

}  // namespace
}  // namespace sennit::shim::mpi
