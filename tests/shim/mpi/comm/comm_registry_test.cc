// Ranks are threads: see thread_mpi.h.
#include "shim/mpi/comm/comm_registry.h"

#include <atomic>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coll/team.h"
#include "comm_ranks.h"

namespace sennit::shim::mpi {
namespace {

using testing::HasSubstr;

/// One rank that offers, and its answer once all have come.
bool offer_and_wait(CollectiveVote& vote) {
  const auto number = vote.vote_yes();
  std::optional<bool> answer;
  while (!(answer = vote.outcome(number))) std::this_thread::yield();
  return *answer;
}

TEST(CommRegistry, RanksThatMetAgreeOnTheirCalls) {
  ThreadWorld world;
  world.add(kFirst, {2, 0});
  on_threads(world, 3, [](ThreadMpi& mpi, int thread) {
    const auto all = create(mpi);
    EXPECT_EQ(all->find(kFirst), nullptr);
    if (thread != 1) {
      auto& one = meet(*all, kFirst);
      EXPECT_EQ(all->find(kFirst), &one);
      EXPECT_EQ(&meet(*all, kFirst), &one) << "ranks meet once";
      EXPECT_TRUE(one.whole) << one.why_not;
      EXPECT_EQ(one.shape.rank, thread == 2 ? 0 : 1);
      EXPECT_EQ(one.key >> 32, 2u) << "the key of its first rank";
      EXPECT_TRUE(offer_and_wait(*one.vote));
      if (thread == 0) one.vote->vote_no();
      if (thread == 2) {
        EXPECT_FALSE(offer_and_wait(*one.vote));
      }
      EXPECT_TRUE(offer_and_wait(*one.vote));
    }
    all->forget_all();
    EXPECT_EQ(all->find(kFirst), nullptr);
  });
}

TEST(CommRegistry, BoardsOfOneRankDoNotMix) {
  ThreadWorld world;
  world.add(kFirst, {0, 1});
  world.add(kSecond, {1, 0});
  on_threads(world, 2, [](ThreadMpi& mpi, int thread) {
    const auto all = create(mpi);
    auto& first = meet(*all, kFirst);
    auto& second = meet(*all, kSecond);
    EXPECT_NE(first.slot, second.slot);
    EXPECT_NE(first.key, second.key);
    if (thread == 0) first.vote->vote_yes();
    ASSERT_EQ(mpi.barrier(kWorld), 0);
    if (thread == 1) {
      EXPECT_EQ(second.vote->outcome(second.vote->vote_yes()), std::nullopt);
    }
    ASSERT_EQ(mpi.barrier(kWorld), 0);
    if (thread == 0) {
      EXPECT_EQ(second.vote->outcome(second.vote->vote_yes()), true);
    }
    all->forget_all();
  });
}

TEST(CommRegistry, WhoMeetsDoesOtherThingsMeanwhile) {
  ThreadWorld world;
  std::atomic<bool> asked{false};
  on_threads(world, 2, [&](ThreadMpi& mpi, int thread) {
    const auto all = create(mpi);
    while (thread == 1 && !asked)
      std::this_thread::yield();  // comes only after the other has done
                                  // something
    EXPECT_TRUE(meet(*all, kWorld, [&] { asked = true; }).whole);
    all->forget_all();
  });
}

TEST(CommRegistry, WhoNeverComesToARevokedOneIsNotAwaited) {
  ThreadWorld world;
  world.add(kFirst, {0, 1});
  on_threads(world, 2, [](ThreadMpi& mpi, int thread) {
    const auto all = create(mpi);
    if (thread == 0) {
      const auto& one = meet(*all, kFirst, [&] { mpi.revoked_comm = kFirst; });
      EXPECT_EQ(one.vote, nullptr);
      EXPECT_FALSE(one.whole);
      EXPECT_FALSE(one.why_not.empty());
    }
    all->forget_all();
  });
}

TEST(CommRegistry, ALostRankIsNotAwaitedAtTheEnd) {
  ThreadWorld world;
  on_threads(world, 2, [](ThreadMpi& mpi, int thread) {
    const auto all = create(mpi);
    EXPECT_TRUE(meet(*all, kWorld).whole);
    ASSERT_EQ(mpi.barrier(kWorld), 0);  // both have met
    if (thread == 1) return all->group().abort(Status(Code::aborted, "rank 1 has had enough"));
    EXPECT_FALSE(all->forget_all());
    EXPECT_THAT(all->group().check().text(), HasSubstr("rank 1 has had enough"));
  });
}

TEST(CommRegistry, MoreRanksThanSennitTakesAreLeftToMpi) {
  ThreadWorld world;
  world.add(kFirst, std::vector<int>(coll::kMostRanks + 1, 0));
  world.add(kSecond, std::vector<int>(coll::kMostRanks, 0));
  on_threads(world, 1, [](ThreadMpi& mpi, int) {
    const auto all = create(mpi);
    const auto& one = meet(*all, kFirst);
    EXPECT_FALSE(one.whole);
    EXPECT_THAT(one.why_not, HasSubstr(std::to_string(coll::kMostRanks)));
    ASSERT_NE(one.vote, nullptr) << "its ranks still know who has come";
    one.vote->vote_no();
    EXPECT_TRUE(one.vote->all_came());
    EXPECT_TRUE(meet(*all, kSecond).whole);
    all->forget_all();
  });
}

TEST(CommRegistry, WhereNobodyKnowsTheRanksThereIsNoBoard) {
  ThreadWorld world;
  world.add(kFirst, {0}, true);
  on_threads(world, 1, [](ThreadMpi& mpi, int) {
    const auto all = create(mpi);
    for (const auto& [comm, why] : {std::pair(kFirst, "two groups"), std::pair(kNull, "no communicator"),
                                    std::pair(Handle{12345}, "no communicator")}) {
      const auto& one = meet(*all, comm);
      EXPECT_EQ(one.vote, nullptr);
      EXPECT_FALSE(one.whole);
      EXPECT_EQ(one.slot, -1);
      EXPECT_THAT(one.why_not, HasSubstr(why));
    }
    all->forget(kFirst, nothing_meanwhile);
    EXPECT_EQ(all->find(kFirst), nullptr);
    all->forget_all();
  });
}

/// Threads 0 and 1 are a job, 2 is one of its own, which may be without sennit; a communicator has them all.
TEST(CommRegistry, RanksOfAnotherJobAreLeftToMpiWithoutAQuestion) {
  ThreadWorld world;
  world.add(10, {0, 1});
  world.add(11, {2});
  world.add(kFirst, {2, 0, 1});
  on_threads(world, 3, [&](ThreadMpi&, int thread) {
    const ThreadMpi mpi(world, thread, thread == 2 ? 11 : 10);
    const auto all = create(mpi);
    auto& one = meet(*all, kFirst);
    EXPECT_FALSE(one.whole);
    EXPECT_THAT(one.why_not, HasSubstr("several jobs"));
    EXPECT_EQ(all->world_rank(kFirst, 0), thread == 2 ? 0 : -32766);
    EXPECT_EQ(all->world_rank(kFirst, 2), thread == 2 ? -32766 : 1);
    EXPECT_EQ(one.vote, nullptr);
    EXPECT_EQ(world.pending(kFirst, thread), 0U) << "who is without sennit could not answer";
    all->forget(kFirst, nothing_meanwhile);
    EXPECT_EQ(world.pending(kFirst, thread), 0U);
    all->forget_all();
  });
}

TEST(CommRegistry, AForgottenCommunicatorsSlotBeginsAnew) {
  ThreadWorld world;
  world.add(kFirst, {0, 1});
  world.add(kSecond, {0, 1});
  on_threads(world, 2, [](ThreadMpi& mpi, int thread) {
    const auto all = create(mpi);
    auto& first = meet(*all, kFirst);
    const int slot = first.slot;
    for (int call = 0; call < 3; ++call) EXPECT_TRUE(offer_and_wait(*first.vote));
    all->forget(kFirst, nothing_meanwhile);
    EXPECT_EQ(all->find(kFirst), nullptr);
    auto& second = meet(*all, kSecond);
    EXPECT_EQ(second.slot, slot);
    if (thread == 0) {
      EXPECT_EQ(second.vote->outcome(second.vote->vote_yes()), std::nullopt);
    }
    ASSERT_EQ(mpi.barrier(kWorld), 0);
    if (thread == 1) {
      EXPECT_TRUE(offer_and_wait(*second.vote));
    }
    all->forget(12345, nothing_meanwhile);  // never seen: nothing to wait for
    all->forget_all();
  });
}

TEST(CommRegistry, WithoutASlotACommunicatorIsLeftToMpi) {
  ThreadWorld world;
  constexpr Handle kMany = comm::RankSlots::kVotes + 1;
  for (Handle comm = 1; comm <= kMany; ++comm) world.add(1000 + comm, {0});
  on_threads(world, 1, [](ThreadMpi& mpi, int) {
    const auto all = create(mpi);
    Handle comm = 1001;
    while (comm <= 1000 + kMany && meet(*all, comm).whole) ++comm;
    ASSERT_LE(comm, 1000 + kMany) << "there are no more slots than that";
    EXPECT_GT(comm, 1000 + kMany / 2);
    const auto& one = *all->find(comm);
    EXPECT_EQ(one.vote, nullptr);
    EXPECT_THAT(one.why_not, HasSubstr("too many communicators"));
    all->forget(comm, nothing_meanwhile);
    all->forget(1001, nothing_meanwhile);
    EXPECT_TRUE(meet(*all, comm).whole) << "a slot is free again";
    all->forget_all();
  });
}

TEST(CommRegistry, KnowTheRanksBehindACommunicators) {
  ThreadWorld world;
  world.add(kFirst, {2, 0, 1});
  world.add(kSecond, {0, 1, 2});
  on_threads(world, 3, [](ThreadMpi& mpi, int) {
    const auto all = create(mpi);
    EXPECT_EQ(all->world_rank(kFirst, 0), 2);
    const auto members = all->peer(kFirst, 1).members;
    EXPECT_EQ(all->ask(kWorld, meet(*all, kWorld), members, nothing_meanwhile),
              (std::vector<std::uint64_t>(3, members)));
    EXPECT_EQ(all->peer(kSecond, 0).members, all->peer(kWorld, 2).members);
    EXPECT_NE(all->peer(kSecond, 0).members, members) << "the same ranks in another order";
    EXPECT_EQ(all->world_rank(kFirst, 2), 1);
    EXPECT_EQ(all->world_rank(kFirst, 3), -1);
    EXPECT_EQ(all->world_rank(kFirst, -2), -1);  // MPI_PROC_NULL
    EXPECT_EQ(all->world_rank(kNull, 0), -1);
    all->forget_all();
  });
}

TEST(CommRegistry, WhatTheirRanksMakeHasANameOfItsOwnOnAllOfThem) {
  ThreadWorld world;
  constexpr Handle kWindow = 20, kSameRanks = 21, kNotNamed = 22, kInter = 23;
  for (const Handle handle : {kFirst, kWindow, kSameRanks, kNotNamed}) world.add(handle, {2, 0});
  world.add(kInter, {2, 0}, true);
  on_threads(world, 3, [](ThreadMpi& mpi, int thread) {
    const auto all = create(mpi);
    if (thread != 1) {
      auto& one = meet(*all, kFirst);
      std::vector<std::uint64_t> names;
      const auto name = [&](Shared kind, Handle made, Handle comm) {
        all->name(kind, made, comm);
        names.push_back(all->scopes().of(kind, made)->name);
      };
      one.vote->vote_no();
      name(Shared::window, kWindow, kFirst);
      one.vote->vote_no();
      name(Shared::window, kSameRanks, kFirst);
      one.vote->vote_no();
      name(Shared::file, kSameRanks, kFirst);
      meet(*all, kInter);
      name(Shared::window, kNotNamed, kInter);
      EXPECT_EQ(all->scopes().forget(Shared::window, kNotNamed), std::nullopt);
      for (const std::uint64_t each : names) {
        EXPECT_EQ(std::ranges::count(names, each), 1);
        EXPECT_EQ(all->ask(kFirst, one, each, nothing_meanwhile), (std::vector<std::uint64_t>(2, each)));
      }
    }
    all->forget_all();
  });
}

TEST(CommRegistry, AFreedHandleMayStandForOtherRanks) {
  ThreadWorld world;
  world.add(kFirst, {0, 1});
  on_threads(world, 2, [&](ThreadMpi& mpi, int thread) {
    const auto all = create(mpi);
    EXPECT_EQ(all->world_rank(kFirst, 0), 0);
    ASSERT_EQ(mpi.barrier(kWorld), 0);
    all->forget(kFirst, nothing_meanwhile);
    if (thread == 0) world.add(kFirst, {1, 0});
    ASSERT_EQ(mpi.barrier(kWorld), 0);
    EXPECT_EQ(all->world_rank(kFirst, 0), 1);
    all->forget_all();
  });
}

TEST(CommRegistry, WhoListensIsKnownToAll) {
  ThreadWorld world;
  on_threads(world, 2, [](ThreadMpi& mpi, int thread) {
    const auto all = create(mpi);
    EXPECT_EQ(all->job(), (std::array{all->job()[0], ~all->job()[0]}));
    EXPECT_FALSE(all->listens(1));
    ASSERT_EQ(mpi.barrier(kWorld), 0);
    if (thread == 1) all->listen();
    ASSERT_EQ(mpi.barrier(kWorld), 0);
    EXPECT_TRUE(all->listens(1));
    EXPECT_FALSE(all->listens(0));
    all->forget_all();
  });
}

TEST(CommRegistry, RanksMeetWhileTheyDoOtherThings) {
  ThreadWorld world;
  world.add(kFirst, {0, 1});
  std::atomic<bool> said{false};
  on_threads(world, 2, [&](ThreadMpi& mpi, int thread) {
    const auto all = create(mpi);
    if (thread == 1)
      while (!said) std::this_thread::yield();
    auto& one = all->find_or_begin(kFirst);
    EXPECT_EQ(&all->find_or_begin(kFirst), &one);
    if (thread == 0) {
      EXPECT_FALSE(all->ready(kFirst, one)) << "the other has not come";
    }
    const auto number = one.vote->begin();  // before the others are known
    ASSERT_TRUE(number.has_value());
    if (thread == 0) {
      EXPECT_EQ(one.vote->outcome(*number), std::nullopt);
      said = true;
    }
    while (!all->ready(kFirst, one)) std::this_thread::yield();
    EXPECT_TRUE(one.whole) << one.why_not;
    std::optional<bool> answer;
    while (!(answer = one.vote->outcome(*number))) std::this_thread::yield();
    EXPECT_TRUE(*answer);
    all->forget_all();
  });
}

TEST(CommRegistry, WhatEachRankSaysIsToldToAll) {
  ThreadWorld world;
  on_threads(world, 3, [](ThreadMpi& mpi, int thread) {
    const auto all = create(mpi);
    const auto& one = meet(*all, kWorld);
    const auto said = all->ask(kWorld, one, std::uint64_t(thread) * 5, nothing_meanwhile);
    EXPECT_EQ(said, (std::vector<std::uint64_t>{0, 5, 10}));
    all->forget_all();
  });
}

}  // namespace
}  // namespace sennit::shim::mpi
