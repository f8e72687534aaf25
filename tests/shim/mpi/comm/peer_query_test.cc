// Two ranks whose words travel at once, or when the test lets them.
#include "shim/mpi/comm/peer_query.h"

#include <chrono>
#include <deque>
#include <thread>

#include <gtest/gtest.h>

namespace sennit::shim::mpi {
namespace {

using namespace std::chrono_literals;

/// Words are delivered by a thread of their own, as by the agents: who asks holds its mutex.
struct Asking {
  struct Told {
    int from, to;
    comm::Bytes word;
  };
  std::mutex mutex;
  std::condition_variable_any more;
  std::deque<Told> told;
  std::size_t words = 0;
  Status state;
  std::array<std::unique_ptr<PeerQuery>, 2> ranks;
  std::jthread post;

  Asking() {
    for (int rank = 0; rank < 2; ++rank)
      ranks[static_cast<std::size_t>(rank)] = std::make_unique<PeerQuery>(
          [this, rank](int to, comm::Bytes word) {
            const std::lock_guard lock(mutex);
            told.push_back({rank, to, std::move(word)});
            ++words;
            more.notify_all();
          },
          [this](int) {
            const std::lock_guard lock(mutex);
            return state;
          });
    post = std::jthread([this](const std::stop_token& stop) {
      for (;;) {
        Told one;
        {
          std::unique_lock lock(mutex);
          if (!more.wait(lock, stop, [this] { return !told.empty(); })) return;
          one = std::move(told.front());
          told.pop_front();
        }
        EXPECT_TRUE(ranks[static_cast<std::size_t>(one.to)]->on_message(one.from, one.word));
      }
    });
  }
  PeerQuery& operator[](int rank) { return *ranks[static_cast<std::size_t>(rank)]; }
  std::size_t count() {
    const std::lock_guard lock(mutex);
    return words;
  }
  template <class Done>
  static bool soon(const Done& done) {
    for (int i = 0; i < 1000; ++i) {
      if (done()) return true;
      std::this_thread::sleep_for(1ms);
    }
    return false;
  }
};

TEST(PeerQuery, ARankThatListensSaysSoOnce) {
  Asking all;
  all[1].listen();
  EXPECT_TRUE(all[0].listens(1, 5s));
  const auto words = all.count();
  EXPECT_TRUE(all[0].listens(1, 5s));
  EXPECT_EQ(all.count(), words) << "it is not asked again";
  EXPECT_EQ(all[1].announcers(), std::vector<int>{0});
  EXPECT_TRUE(all[0].announcers().empty());
}

TEST(PeerQuery, ARankThatListensLaterSaysSoThen) {
  Asking all;
  EXPECT_FALSE(all[0].listens(1, 5s));
  EXPECT_TRUE(all[1].announcers().empty());
  all[1].listen();
  EXPECT_TRUE(Asking::soon([&] { return all[0].listens(1, 0s); }));
  EXPECT_EQ(all[1].announcers(), std::vector<int>{0});
}

TEST(PeerQuery, WhoIsSilentTellsNobodyNew) {
  Asking all;
  all[1].listen();
  {
    const PeerQuery::RtsHold silence(all[1]), again(all[1]);
    EXPECT_FALSE(all[0].listens(1, 5s));
    EXPECT_TRUE(all[1].announcers().empty());
  }
  EXPECT_TRUE(Asking::soon([&] { return all[0].listens(1, 0s); }));
}

TEST(PeerQuery, WhatIsAnnouncedInASlotIsTold) {
  Asking all;
  const msg::Announced one{3, 5'000'000'000, 77, 0, -7}, other{4, 8, 78, 0, 2};
  all[1].announce(5, one);
  EXPECT_EQ(all[0].announced(1, 5), std::nullopt) << "who was never told that this rank listens announces nothing";
  all[0].listen();
  ASSERT_TRUE(all[1].listens(0, 5s));
  EXPECT_EQ(all[0].announced(1, 5), one);
  EXPECT_EQ(all[0].announced(1, 6), std::nullopt);
  all[1].announce(5, other);
  EXPECT_EQ(all[0].announced(1, 5), other);
  all[1].announce(5, std::nullopt);
  EXPECT_EQ(all[0].announced(1, 5), std::nullopt);
}

TEST(PeerQuery, NobodyWaitsForTheAnswerOfALostRank) {
  std::size_t asked = 0;
  PeerQuery peer_query([&](int, const comm::Bytes&) { ++asked; },
                       [](int rank) { return rank == 1 ? Status(Code::peer_lost, "rank 1 died") : Status(); });
  comm::Writer word;
  EXPECT_FALSE(peer_query.listens(1, 1ms));
  peer_query.listen();
  Asking other;  // whose rank 1 asks rank 0
  comm::Bytes question;
  PeerQuery asking([&](int, comm::Bytes what) { question = std::move(what); }, [](int) { return Status(); });
  EXPECT_FALSE(asking.listens(0, 0s));
  EXPECT_TRUE(peer_query.on_message(1, question));
  EXPECT_EQ(peer_query.announced(1, 0), std::nullopt);
  EXPECT_EQ(asked, 3U) << "a question, an answer, and a question";
}

TEST(PeerQuery, ARankThatHasComeToACallSaysSo) {
  Asking all;
  constexpr std::uint64_t kKey = 9;
  comm::Slot slot{};
  CollectiveVote vote(slot);
  EXPECT_FALSE(all[0].came(1, kKey, 1)) << "it does not know the communicator yet";
  all[1].join(kKey, vote);
  vote.vote_no();
  EXPECT_TRUE(Asking::soon([&] { return all[0].came(1, kKey, 1); }));
  EXPECT_TRUE(all[0].came(1, kKey, 1));
  EXPECT_FALSE(all[0].came(1, kKey, 2));
  vote.vote_no();
  vote.vote_no();
  EXPECT_TRUE(Asking::soon([&] { return all[0].came(1, kKey, 2); }));
  EXPECT_FALSE(all[0].came(1, kKey + 1, 1)) << "another communicator";
  all[1].leave(kKey);
  EXPECT_FALSE(Asking::soon([&] { return all[0].came(1, kKey, 3); })) << "its board may be gone";
}

TEST(PeerQuery, WhoIsAskedInVainIsAskedLessAndLess) {
  std::size_t asked = 0;
  PeerQuery peer_query([&](int, const comm::Bytes&) { ++asked; }, [](int) { return Status(); });
  const auto start = PeerQuery::Clock::now();
  for (auto time = 0us; time < 100ms; time += 10us) EXPECT_FALSE(peer_query.came(1, 1, 1, start + time));
  EXPECT_GT(asked, 20U);
  EXPECT_LT(asked, 40U);
}

TEST(PeerQuery, ARankThatComesLaterToWhatNoBoardCountsSaysSoThen) {
  Asking all;
  constexpr std::uint64_t kName = 12;
  EXPECT_EQ(all[0].arrive(kName), 1U);
  EXPECT_FALSE(all[0].arrived(1, kName, 1));
  const auto words = all.count();
  EXPECT_FALSE(Asking::soon([&] { return all[0].arrived(1, kName, 1); }));
  EXPECT_EQ(all.count(), words) << "it is asked once";
  EXPECT_EQ(all[1].arrive(kName + 1), 1U) << "of other ranks";
  EXPECT_FALSE(all[0].arrived(1, kName, 1));
  EXPECT_EQ(all[1].arrive(kName), 1U);
  EXPECT_TRUE(Asking::soon([&] { return all[0].arrived(1, kName, 1); }));
}

TEST(PeerQuery, ARankThatHasComeToWhatNoBoardCountsSaysHowFar) {
  Asking all;
  constexpr std::uint64_t kName = 12;
  for (std::uint64_t number = 1; number <= 3; ++number) EXPECT_EQ(all[1].arrive(kName), number);
  EXPECT_TRUE(Asking::soon([&] { return all[0].arrived(1, kName, 1); }));
  const auto words = all.count();
  EXPECT_TRUE(all[0].arrived(1, kName, 3));
  EXPECT_EQ(all.count(), words) << "it has said so";
  EXPECT_FALSE(all[0].arrived(1, kName, 4));
}

TEST(PeerQuery, WhatHasEndedIsStillAnsweredForAWhile) {
  Asking all;
  constexpr std::uint64_t kName = 13;
  EXPECT_EQ(all[1].arrive(kName), 1U);
  all[1].end(kName);
  EXPECT_TRUE(Asking::soon([&] { return all[0].arrived(1, kName, 1); }));
  all[0].end(kName);
  EXPECT_FALSE(all[0].arrived(1, kName, 2)) << "nothing is known of it any more";
  for (std::uint64_t name = 100; name < 2200; ++name) {
    EXPECT_EQ(all[1].arrive(name), 1U);
    all[1].end(name);
  }
  EXPECT_EQ(all[1].arrive(kName), 1U) << "what has ended long ago is forgotten";
  EXPECT_EQ(all[1].arrive(2199), 2U);
}

TEST(PeerQuery, OtherWordsAreLeftToOthers) {
  PeerQuery peer_query([](int, const comm::Bytes&) { FAIL(); }, [](int) { return Status(); });
  EXPECT_FALSE(peer_query.on_message(1, comm::Writer().number(1).number(2).take()));
  comm::Bytes word;
  PeerQuery other([&](int, comm::Bytes told) { word = std::move(told); }, [](int) { return Status(); });
  EXPECT_FALSE(other.listens(1, 0s));
  word.resize(word.size() + 8);
  EXPECT_TRUE(peer_query.on_message(1, word)) << "one with too much in it is no question, and nobody else's";
}

}  // namespace
}  // namespace sennit::shim::mpi
