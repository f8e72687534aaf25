#include "shim/mpi/comm/call_queue.h"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "shim/mpi/comm/collective_vote.h"

namespace sennit::shim::mpi {
namespace {

/// What became of the calls of one rank, in the order in which they began.
struct Story {
  std::vector<int> real, ours;
  std::vector<bool> done;
  std::vector<Status> ended;  // sennit's and those that nobody does
};

class TestCall final : public QueuedCall {
 public:
  TestCall(Kind of_kind, int call, Story& story) : QueuedCall(of_kind), call_(call), story_(story) {}
  void call_real() override {
    story_.real.push_back(call_);
    end({});
  }
  Status begin() override {
    story_.ours.push_back(call_);
    return {};
  }
  Result<bool> ended() override { return --left_ == 0; }
  void end(const Status& status) override {
    story_.done[std::size_t(call_)] = true;
    story_.ended.push_back(status);
  }

 private:
  const int call_;
  Story& story_;
  int left_ = 2;
};

/// A rank over a vote in memory, with sennit's communicator that takes some moves to make.
class Rank final : public QueueVotes {
 public:
  Rank(comm::Slot& slot, int calls) : vote(slot) { story.done.resize(std::size_t(calls)); }
  std::optional<std::uint64_t> begin(std::uint32_t signature) override { return vote.begin(signature); }
  void vote_no() override { vote.vote_no(); }
  Result<std::optional<bool>> outcome(std::uint64_t number) override {
    const auto known = vote.outcome(number);
    if (!known && !lost.ok()) return lost;
    return known;
  }
  void looked(std::uint64_t number) override { vote.looked(number); }
  Result<std::optional<bool>> able(QueuedCall&) override { return --making > 0 ? std::nullopt : std::optional(can); }

  void call(QueuedCall::Kind kind, int number) {
    if (kind == QueuedCall::Kind::passed && queue.empty()) {  // as the program's own
      vote.vote_no();
      story.real.push_back(number);
      story.done[std::size_t(number)] = true;
    } else {
      queue.enqueue(std::make_shared<TestCall>(kind, number, story));
    }
  }

  CollectiveVote vote;
  CallQueue queue;
  Story story;
  int making = 5;
  bool can = true;
  Status lost;  // some ranks never come
};

using Kind = QueuedCall::Kind;

TEST(CallQueue, ACallWaitsForAllRanks) {
  std::array<comm::Slot, 2> slots{};
  std::vector<comm::Slot*> seats{&slots[0], &slots[1]};
  Rank one(slots[0], 1), other(slots[1], 1);
  one.vote.attach_slots(seats);
  other.vote.attach_slots(seats);
  one.making = other.making = 1;
  one.call(Kind::offered, 0);
  one.queue.move(one, Mover::program);
  EXPECT_FALSE(one.queue.empty());
  other.call(Kind::offered, 0);
  other.queue.move(other, Mover::progress_thread);
  one.queue.move(one, Mover::progress_thread);
  EXPECT_TRUE(one.queue.empty());
  EXPECT_TRUE(one.queue.active());
  EXPECT_EQ(one.story.ours, std::vector<int>{0});
  EXPECT_EQ(other.story.ours, std::vector<int>{0});
  EXPECT_FALSE(one.story.done[0]);
  one.queue.move(one, Mover::progress_thread);
  one.queue.move(one, Mover::progress_thread);
  EXPECT_TRUE(one.story.done[0]);
  EXPECT_FALSE(one.queue.active());
}

TEST(CallQueue, AHelperLeavesRealCallsToTheProgram) {
  comm::Slot slot{};
  Rank rank(slot, 2);
  rank.vote.attach_slots({&slot});
  rank.can = false;
  rank.making = 0;
  rank.call(Kind::offered, 0);
  rank.call(Kind::passed, 1);
  rank.queue.move(rank, Mover::progress_thread);
  EXPECT_TRUE(rank.story.real.empty());
  rank.queue.move(rank, Mover::program);
  EXPECT_EQ(rank.story.real, (std::vector<int>{0, 1}));
  EXPECT_TRUE(rank.queue.empty());
}

TEST(CallQueue, WhereARankWasLostCallsFailAndAreNotMadeByMpi) {
  std::array<comm::Slot, 2> slots{};
  Rank rank(slots[0], 3), other(slots[1], 3);
  rank.vote.attach_slots({&slots[0], &slots[1]});
  other.vote.attach_slots({&slots[0], &slots[1]});
  rank.making = other.making = 0;
  for (int call = 0; call < 2; ++call) rank.call(Kind::offered, call);
  rank.call(Kind::passed, 2);
  other.call(Kind::offered, 0);
  other.queue.move(other, Mover::progress_thread);
  rank.lost = Status(Code::peer_lost, "rank 1 died");
  for (int i = 0; i < 3; ++i) rank.queue.move(rank, Mover::progress_thread);
  EXPECT_EQ(rank.story.ours, std::vector<int>{0});  // to which the other had come
  ASSERT_EQ(rank.story.ended.size(), 2U);
  EXPECT_TRUE(rank.story.done[0]);
  EXPECT_TRUE(rank.story.done[1]);
  EXPECT_EQ(std::ranges::count(rank.story.ended, Code::peer_lost, &Status::code), 1);
  EXPECT_TRUE(rank.story.real.empty());
  rank.queue.move(rank, Mover::program);
  EXPECT_EQ(rank.story.real, std::vector<int>{2});  // of host memory: as MPI alone
  EXPECT_FALSE(rank.queue.active());
}

TEST(CallQueue, NobodyGetsAnswersBeforeTheRanksAreKnown) {
  comm::Slot slot{};
  Rank rank(slot, 5);
  rank.making = 0;
  for (int call = 0; call < 5; ++call) rank.call(Kind::offered, call);
  rank.queue.move(rank, Mover::program);
  EXPECT_TRUE(rank.story.ours.empty());
  rank.vote.attach_slots({&slot});
  for (int i = 0; i < 20; ++i) rank.queue.move(rank, Mover::progress_thread);
  EXPECT_EQ(rank.story.ours, (std::vector<int>{0, 1, 2, 3, 4}));
}

/// Ranks that begin calls and move on at random, ahead of each other as far as they like: what one rank does with a
/// call all do, it is what it should be, and each of the two kinds is in the program's order everywhere.
TEST(CallQueue, ManyCallsOfManyRanks) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const std::size_t ranks = 1 + random() % 4;
    const int calls = 60;
    const auto eager = 1 + random() % 12;  // how much sooner calls come than moves
    std::vector<std::vector<Kind>> kinds(ranks, std::vector<Kind>(std::size_t(calls)));
    std::vector<int> all, others;
    for (int call = 0; call < calls; ++call) {
      const auto how = random() % 5;  // all, some, none, or what no vote counts
      bool every = true;
      for (auto& mine : kinds) {
        const bool offers = how <= 1 || (how <= 3 && random() % 2 == 0);
        mine[std::size_t(call)] = how == 4 && call % 3 == 0 ? Kind::uncounted : offers ? Kind::offered : Kind::passed;
        every = every && mine[std::size_t(call)] == Kind::offered;
      }
      (every ? all : others).push_back(call);
    }
    std::vector<comm::Slot> slots(ranks);
    std::vector<comm::Slot*> seats;
    for (comm::Slot& slot : slots) seats.push_back(&slot);
    std::vector<std::unique_ptr<Rank>> at;
    for (comm::Slot& slot : slots) at.push_back(std::make_unique<Rank>(slot, calls));
    std::vector<int> next(ranks);
    int left = 2'000'000;
    const auto finished = [&](std::size_t rank) { return next[rank] == calls && !at[rank]->queue.active(); };
    const auto any_orphans = [&] {
      for (std::size_t rank = 0; rank < ranks; ++rank)
        if (!finished(rank)) return true;
      return false;
    };
    std::vector<bool> seated(ranks);
    while (any_orphans() && --left > 0) {
      const std::size_t rank = random() % ranks;
      Rank& here = *at[rank];
      if (!seated[rank] && random() % 40 == 0) {
        seated[rank] = true;
        here.vote.attach_slots(seats);
      }
      if (next[rank] < calls && random() % 13 < eager) {
        const int call = next[rank]++;
        here.call(kinds[rank][std::size_t(call)], call);
      } else {
        here.queue.move(here, random() % 3 == 0 ? Mover::program : Mover::progress_thread);
      }
    }
    ASSERT_GT(left, 0) << "seed " << seed << ": some never end";
    for (const auto& rank : at) {
      ASSERT_EQ(rank->story.ours, all) << "seed " << seed;
      ASSERT_EQ(rank->story.real, others) << "seed " << seed;
      for (const bool done : rank->story.done) ASSERT_TRUE(done);
    }
  }
}

}  // namespace
}  // namespace sennit::shim::mpi
