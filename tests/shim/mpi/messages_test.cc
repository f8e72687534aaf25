// Two ranks are threads, each with a host executor of its own; what MPI would carry is handed over.
#include "shim/mpi/messages.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "base/units.h"
#include "comm/thread_exchange.h"
#include "machine/document.h"
#include "path/bell.h"
#include "path/machines.h"
#include "shim/mpi/open_requests.h"

namespace sennit::shim::mpi {
namespace {

constexpr std::uint64_t kMostBytes = 1 << 20;
constexpr std::array<std::uint64_t, 2> kJob{17, 4};
constexpr std::uint64_t kMembers = 77;
constexpr Envelope kTo{1, 5, 3, kMembers};

struct Party {
  std::unique_ptr<comm::Group> group;
  std::shared_ptr<device::Executor> executor;
  std::unique_ptr<Gpus> gpus;
  std::unique_ptr<Loans> loans;
  LookAlikes look_alikes;
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
    Party rank;
    auto group = comm::Group::create(std::make_unique<comm::ThreadExchange>(table, number), std::chrono::seconds(20));
    ASSERT_TRUE(group.ok()) << group.status().text();
    rank.group = std::move(*group);
    rank.executor = *device::open_host_executor();
    rank.gpus = std::make_unique<Gpus>(rank.executor);
    rank.loans = std::make_unique<Loans>(*rank.group, *rank.executor);
    rank.messages = std::make_unique<Messages>(*rank.group, kJob, *rank.gpus, *rank.loans, rank.look_alikes,
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

void fill(Party& rank, int number) {
  for (std::uint64_t i = 0; i < rank.memory.bytes(); ++i)
    rank.memory.data()[i] = std::byte((i * 7 + i / 509 + number) & 0xFF);
}
bool holds(const Party& rank, int number, std::uint64_t bytes) {
  for (std::uint64_t i = 0; i < bytes; ++i)
    if (rank.memory.data()[i] != std::byte((i * 7 + i / 509 + number) & 0xFF)) return false;
  return true;
}

std::unique_ptr<Messages::Outgoing> announce(Party& rank, Announcement& card, std::uint64_t bytes) {
  auto outgoing = rank.messages->announce(rank.memory.data(), bytes, kTo);
  EXPECT_NE(outgoing, nullptr);
  if (outgoing != nullptr) std::memcpy(&card, outgoing->sent(), sizeof card);
  return outgoing;
}
void until_taken(Outgoing& outgoing) {
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
      [](Party& rank, Announcement& card) {
        for (int round = 0; round < 30; ++round) {
          fill(rank, round);
          const auto outgoing = announce(rank, card, kMostBytes);
          rank.meet();
          if (round % 3 == 0) rank.meet();  // until the other rank has it
          until_taken(*outgoing);
          if (round % 3 != 0) rank.meet();
        }
      },
      [](Party& rank, Announcement& card) {
        for (int round = 0; round < 30; ++round) {
          rank.meet();
          const auto incoming = rank.messages->fetch(card, false, rank.memory.data(), 1);
          until_done(*incoming);
          EXPECT_TRUE(holds(rank, round, kMostBytes)) << round;
          rank.meet();
        }
      });
}

TEST(Messages, AReceiverThatLooksLateFindsThatItsMessageHasCome) {
  constexpr int kMessages = 5;
  between_two(
      [](Party& rank, Announcement& card) {
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
      [](Party& rank, Announcement& card) {
        std::vector<std::unique_ptr<Messages::Incoming>> all;
        for (int i = 0; i < kMessages; ++i) {
          rank.meet();
          all.push_back(rank.messages->fetch(card, false, rank.memory.data() + i * 50'000, 1));
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

/// Messages of 20 000 bytes, one behind the other, each announced to rank 1 by a card of its own.
constexpr std::uint64_t kShort = 20'000;
std::vector<std::unique_ptr<Messages::Outgoing>> announce_many(Party& rank, std::vector<Announcement>& cards) {
  std::vector<std::unique_ptr<Messages::Outgoing>> all;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    all.push_back(rank.messages->announce(rank.memory.data() + i * kShort, kShort, kTo));
    std::memcpy(&cards[i], all.back()->sent(), sizeof cards[i]);
  }
  return all;
}
std::vector<std::unique_ptr<Messages::Incoming>> fetch_many(Party& rank, const std::vector<Announcement>& cards) {
  std::vector<std::unique_ptr<Messages::Incoming>> all;
  for (std::size_t i = 0; i < cards.size(); ++i)
    all.push_back(rank.messages->fetch(cards[i], false, rank.memory.data() + i * kShort, 1));
  return all;
}

TEST(Messages, ThoseThatASenderHearsTogetherAllCome) {
  std::vector<Announcement> cards(12);
  between_two(
      [&](Party& rank, Announcement&) {
        for (int round = 0; round < 20; ++round) {
          fill(rank, round);
          const auto all = announce_many(rank, cards);
          rank.meet();
          rank.meet();
          {
            const Together together;
            for (const auto& each : all) {
              EXPECT_TRUE(each->is_wished());
              const auto taken = each->taken();
              ASSERT_TRUE(taken.ok());
              EXPECT_FALSE(*taken) << "nothing begins before all are found";
            }
          }
          rank.meet();
          for (const auto& each : all) until_taken(*each);
          rank.meet();
        }
      },
      [&](Party& rank, Announcement&) {
        for (int round = 0; round < 20; ++round) {
          std::memset(rank.memory.data(), 0, rank.memory.bytes());
          rank.meet();
          const auto all = fetch_many(rank, cards);
          rank.meet();
          rank.meet();
          for (const auto& each : all) until_done(*each);
          EXPECT_TRUE(holds(rank, round, cards.size() * kShort)) << round;
          rank.meet();
        }
      });
}

TEST(Messages, ASenderThatLooksAtManyOthersFirstIsWaitedFor) {
  constexpr std::chrono::milliseconds kLong{2};  // many times what a sender may take that does not look
  between_two(
      [&](Party& rank, Announcement& card) {
        fill(rank, 4);
        const auto outgoing = announce(rank, card, kShort);
        rank.meet();
        rank.meet();
        rank.messages->look_at_all();
        rank.meet();
        rank.meet();
        EXPECT_TRUE(outgoing->is_wished());
        rank.messages->look_at_all();
        rank.messages->look_at_all();
        rank.meet();
        rank.meet();
        EXPECT_FALSE(outgoing->is_wished()) << "it has had its time";
        until_taken(*outgoing);
      },
      [&](Party& rank, Announcement& card) {
        rank.meet();
        const auto incoming = rank.messages->fetch(card, false, rank.memory.data(), 1);
        EXPECT_FALSE(*incoming->done());
        rank.meet();
        rank.meet();
        std::this_thread::sleep_for(kLong);
        EXPECT_FALSE(*incoming->done());
        rank.meet();
        rank.meet();
        until_done(*incoming);
        EXPECT_TRUE(holds(rank, 4, kShort));
        rank.meet();
      });
}

TEST(Messages, ThoseThatAReceiverFetchesTogetherAllCome) {
  std::vector<Announcement> cards(12);
  between_two(
      [&](Party& rank, Announcement&) {
        for (int round = 0; round < 20; ++round) {
          fill(rank, round);
          const auto all = announce_many(rank, cards);
          rank.meet();
          rank.meet();  // it does not look
          for (const auto& each : all) until_taken(*each);
          rank.meet();
        }
      },
      [&](Party& rank, Announcement&) {
        for (int round = 0; round < 20; ++round) {
          std::memset(rank.memory.data(), 0, rank.memory.bytes());
          rank.meet();
          const auto all = fetch_many(rank, cards);
          std::vector<Messages::Incoming*> left;
          for (const auto& each : all) left.push_back(each.get());
          while (!left.empty()) {
            const Together together;
            std::erase_if(left, [](Messages::Incoming* each) { return *each->done(); });
          }
          EXPECT_TRUE(holds(rank, round, cards.size() * kShort)) << round;
          rank.meet();
          rank.meet();
        }
      });
}

TEST(Messages, ThoseWhoseReceiversWaitAreHeardBetweenSends) {
  std::vector<Announcement> cards(5);
  between_two(
      [&](Party& rank, Announcement&) {
        fill(rank, 1);
        OpenRequests requests;
        auto all = announce_many(rank, cards);
        for (std::size_t i = 0; i < all.size(); ++i) {
          auto open = std::make_shared<OpenRequest>();
          open->outgoing = std::move(all[i]);
          requests.add(Handle(i + 1), std::move(open));
        }
        constexpr std::uint64_t kLong = 1 << 20;
        EXPECT_TRUE(requests.wished(4, kLong).empty()) << "nobody waits";
        rank.meet();
        rank.meet();
        EXPECT_TRUE(requests.wished(6, kLong).empty()) << "so many there are not";
        EXPECT_EQ(requests.wished(9, 2 * kShort).size(), 2u) << "these have so many bytes";
        const auto wished = requests.wished(3, kLong);
        ASSERT_EQ(wished.size(), 3u);
        EXPECT_EQ(wished[0].first, Handle(3)) << "those before were given";
        EXPECT_EQ(requests.wished(1, kLong).size(), 0u) << "all were given";
        rank.meet();
        for (Handle i = 1; i <= 5; ++i) until_taken(*requests.find(i)->outgoing);
        rank.meet();
      },
      [&](Party& rank, Announcement&) {
        rank.meet();
        const auto all = fetch_many(rank, cards);
        rank.meet();
        rank.meet();
        for (const auto& each : all) until_done(*each);
        EXPECT_TRUE(holds(rank, 1, cards.size() * kShort));
        rank.meet();
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
      [&](Party& rank, Announcement& card) {
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
      [&](Party& rank, Announcement& card) {
        for (int round = 0; round < kMostRounds && !opened; ++round) {
          rank.meet();
          const auto incoming = rank.messages->fetch(card, false, rank.memory.data(), 1);
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
      [](Party& rank, Announcement& card) {
        fill(rank, 2);
        for (int i = 0; i < kOthers; ++i) {
          const auto outgoing = announce(rank, card, kMostBytes);
          rank.meet();
          until_taken(*outgoing);
          rank.meet();
        }
      },
      [](Party& rank, Announcement& card) {
        for (int i = 0; i < kOthers; ++i) {
          const auto other = std::move(*rank.executor->allocate(1, kMostBytes));
          std::byte* const to = i % 3 == 0 ? rank.memory.data() : other.data();
          std::memset(to, 0, kMostBytes);
          rank.meet();
          const auto incoming = rank.messages->fetch(card, false, to, 1);
          until_done(*incoming);
          if (to != rank.memory.data()) std::memcpy(rank.memory.data(), to, kMostBytes);
          EXPECT_TRUE(holds(rank, 2, kMostBytes)) << i;
          rank.meet();
        }
      });
}

TEST(Messages, ManyShortOnesAreAnnouncedBesideManyLongOnes) {
  between_two(
      [](Party& rank, Announcement& card) {
        std::vector<std::unique_ptr<Messages::Outgoing>> all;
        for (int i = 0; i < 40; ++i) all.push_back(announce(rank, card, kMostBytes));
        for (int i = 0; i < 64; ++i) {
          all.push_back(announce(rank, card, kLeastAnnounced));
          ASSERT_NE(all.back(), nullptr) << i;
          EXPECT_LE(static_cast<std::uint64_t>(all.back()->length()), kLeastAnnounced);
        }
      },
      [](Party&, Announcement&) {});
}

TEST(Messages, WhatGoesToHostMemoryIsCopiedByItsReceiver) {
  between_two(
      [](Party& rank, Announcement& card) {
        fill(rank, 3);
        const auto outgoing = announce(rank, card, kMostBytes);
        rank.meet();
        rank.meet();
        until_taken(*outgoing);
      },
      [](Party& rank, Announcement& card) {
        rank.meet();
        std::vector<std::byte> host(kMostBytes);
        const auto incoming = rank.messages->fetch(card, false, host.data(), -1);
        until_done(*incoming);
        std::memcpy(rank.memory.data(), host.data(), kMostBytes);
        EXPECT_TRUE(holds(rank, 3, kMostBytes));
        rank.meet();
      });
}

/// How long a message is that rank 0 announces by so many bytes.
std::optional<std::uint64_t> announced(Party& rank, int length, bool taken = false,
                                       std::uint64_t members = kMembers) {
  return rank.messages->announced(0, 5, members, static_cast<std::uint64_t>(length), taken);
}

TEST(Messages, OneThatIsRefusedIsTaken) {
  between_two(
      [](Party& rank, Announcement& card) {
        fill(rank, 3);
        const auto outgoing = announce(rank, card, kMostBytes);
        rank.meet();
        until_taken(*outgoing);
      },
      [](Party& rank, Announcement& card) {
        rank.meet();
        EXPECT_EQ(announced(rank, card.length()), kMostBytes);
        rank.messages->refuse(card, false);
        EXPECT_FALSE(announced(rank, card.length()));
      });
}

TEST(Messages, WhoHasLookedAtAnAnnouncementFindsAnotherMessageOfItsLength) {
  between_two(
      [](Party& rank, Announcement& card) {
        for (int round = 0; round < 2; ++round) {
          fill(rank, 3);
          const auto outgoing = announce(rank, card, kMostBytes);
          rank.meet();
          rank.meet();
          until_taken(*outgoing);
        }
      },
      [](Party& rank, Announcement& card) {
        for (int round = 0; round < 2; ++round) {
          rank.meet();
          EXPECT_EQ(announced(rank, card.length()), kMostBytes) << "a slot's next message is another one";
          EXPECT_FALSE(announced(rank, card.length() + 64));
          EXPECT_FALSE(announced(rank, card.length(), false, kMembers + 1)) << "in another communicator";
          std::unique_ptr<Messages::Incoming> incoming;
          const bool matched = round == 0;
          EXPECT_EQ(announced(rank, card.length(), matched), kMostBytes);
          if (!matched) incoming = rank.messages->fetch(card, false, rank.memory.data(), 1);
          EXPECT_FALSE(announced(rank, card.length())) << "while it is on its way";
          if (matched) incoming = rank.messages->fetch(card, true, rank.memory.data(), 1);
          rank.meet();
          until_done(*incoming);
        }
      });
}

TEST(Messages, NoAnnouncementIsAsLongAsAMessageThatMayBeUnreceived) {
  between_two(
      [](Party& rank, Announcement& card) {
        (void)rank.look_alikes.begin(kTo, 0, false);
        const auto one = announce(rank, card, kMostBytes);
        EXPECT_NE(card.step, 0);
        EXPECT_EQ(rank.messages->announce(rank.memory.data(), kMostBytes, {1, 6, 3, kMembers})->announcement().step,
                  0)
            << "with another tag";
        for (int step = 0; step < Announcement::kSteps; ++step) (void)rank.look_alikes.begin(kTo, step, false);
        EXPECT_EQ(rank.messages->announce(rank.memory.data(), kMostBytes, kTo), nullptr);
        rank.meet();
        until_taken(*one);
        rank.meet();
      },
      [](Party& rank, Announcement& card) {
        rank.meet();
        rank.messages->refuse(card, false);
        rank.meet();
      });
}

TEST(Messages, ThoseThatAreAlikeAreFoundOneAfterTheOther) {
  std::vector<Announcement> cards(3);
  between_two(
      [&](Party& rank, Announcement&) {
        fill(rank, 6);
        const auto all = announce_many(rank, cards);
        EXPECT_EQ(cards[0].length(), cards[2].length());
        EXPECT_NE(cards[0].slot, cards[2].slot);
        rank.meet();
        for (const auto& each : all) until_taken(*each);
        rank.meet();
      },
      [&](Party& rank, Announcement&) {
        rank.meet();
        const int length = cards[0].length();
        EXPECT_EQ(announced(rank, length), kShort);
        EXPECT_EQ(announced(rank, length, true), kShort) << "of which nobody knows which it is";
        // The second one was received before it was probed for, and the matched probe took the third.
        auto second = rank.messages->fetch(cards[1], false, rank.memory.data() + kShort, 1);
        EXPECT_EQ(announced(rank, length), kShort);
        auto third = rank.messages->fetch(cards[2], true, rank.memory.data() + 2 * kShort, 1);
        EXPECT_EQ(announced(rank, length), kShort);
        EXPECT_EQ(announced(rank, length, true), kShort);
        EXPECT_FALSE(announced(rank, length)) << "a message of the program's own, that came behind them";
        rank.messages->refuse(cards[0], true);
        EXPECT_FALSE(announced(rank, length));
        until_done(*second);
        until_done(*third);
        EXPECT_EQ(rank.memory.data()[kShort], std::byte((kShort * 7 + kShort / 509 + 6) & 0xFF));
        rank.meet();
      });
}

TEST(Messages, NobodyFindsOneThatWasCancelled) {
  between_two(
      [](Party& rank, Announcement& card) {
        announce(rank, card, kMostBytes).reset();
        rank.meet();
      },
      [](Party& rank, Announcement& card) {
        rank.meet();
        EXPECT_FALSE(announced(rank, card.length()));
      });
}

}  // namespace
}  // namespace sennit::shim::mpi
