// Groups whose ranks are threads of this process; tests/process has them as processes.
#include "comm/group.h"

#include <sys/mman.h>

#include <filesystem>
#include <fstream>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/wait.h"
#include "thread_exchange.h"

namespace sennit::comm {
namespace {

using testing::HasSubstr;

TEST(Group, IsMadeOverACallersExchange) {
  Table table(4);
  on_ranks(4, [&](int rank) {
    auto group = Group::create(std::make_unique<ThreadExchange>(table, rank));
    ASSERT_TRUE(group.ok()) << group.status().text();
    EXPECT_EQ((*group)->rank(), rank);
    EXPECT_EQ((*group)->leader(), 0);
    EXPECT_EQ((*group)->node_index(rank), rank);
    EXPECT_EQ((*group)->node_index(4), -1);
    EXPECT_EQ((*group)->member(3).pid, ::getpid());
    EXPECT_TRUE((*group)->exchange().barrier().ok());
  });
}

TEST(Group, FailsEverywhereWhenTheExchangeMixesUpRanks) {
  Table table(2);
  on_ranks(2, [&](int rank) {
    const auto swap = [](std::vector<Bytes>& items) { std::swap(items[0], items[1]); };
    EXPECT_EQ(Group::create(std::make_unique<ThreadExchange>(table, rank, swap)).status().code(), Code::mismatch);
  });
}

TEST(Group, CallsBackWithAFailureThatCameBefore) {
  auto group = std::move(*Group::create(alone()));
  EXPECT_TRUE(group->check().ok());
  group->abort(Status(Code::corrupt, "first"));
  group->abort(Status(Code::corrupt, "second"));
  EXPECT_EQ(group->check().code(), Code::aborted);
  std::atomic<bool> called{false};
  group->on_abort([&](const Status& why) {
    EXPECT_THAT(why.text(), HasSubstr("rank 0 aborted: first"));
    called = true;
  });
  for (int i = 0; i < 5000 && !called; ++i) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(called);
}

TEST(Group, FetchesOfItselfAndRefusesWhoIsNotThere) {
  auto group = std::move(*Group::create(alone()));
  const std::uint64_t id = *group->offer(UniqueFd(::memfd_create("own", MFD_CLOEXEC)));
  EXPECT_TRUE(group->fetch(0, id).ok());
  group->withdraw(id);
  EXPECT_EQ(group->fetch(0, id).status().code(), Code::not_found);
  EXPECT_EQ(group->fetch(1, id).status().code(), Code::invalid_argument);
  EXPECT_EQ(group->fetch(-1, id).status().code(), Code::invalid_argument);
  EXPECT_EQ(group->offer(UniqueFd()).status().code(), Code::invalid_argument);
}

int agents() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    count += name == "sennit-agent" ? 1 : 0;
  }
  return count;
}

TEST(Group, SharesOneThreadWithTheOtherGroupsOfTheProcess) {
  {
    const auto one = std::move(*Group::create(alone())), other = std::move(*Group::create(alone()));
    const auto named = [] { return agents() == 1; };  // a thread has its name a moment after it began
    EXPECT_TRUE(wait_until(named, nullptr, {"count"}, std::chrono::seconds(20)).ok()) << agents();
  }
  EXPECT_EQ(agents(), 0) << "it ends with the last group";
}

TEST(Group, GoesOnWhenAnotherGroupOfTheProcessFailsAndEnds) {
  Table first(2), second(2);
  on_ranks(2, [&](int rank) {
    auto doomed = std::move(*Group::create(std::make_unique<ThreadExchange>(first, rank)));
    auto group = std::move(*Group::create(std::make_unique<ThreadExchange>(second, rank)));
    if (rank == 0) doomed->abort(Status(Code::corrupt, "first"));
    for (int i = 0; i < 5000 && !doomed->failed(); ++i) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_TRUE(doomed->failed());
    EXPECT_TRUE(group->check().ok());
    const std::uint64_t id = *group->offer(UniqueFd(::memfd_create("own", MFD_CLOEXEC)));
    ASSERT_TRUE(group->exchange().barrier().ok());
    EXPECT_TRUE(group->fetch(1 - rank, id).ok());
    doomed.reset();
    EXPECT_TRUE(group->fetch(1 - rank, id).ok());
    EXPECT_TRUE(group->check().ok());
    ASSERT_TRUE(group->exchange().barrier().ok());
  });
}

TEST(Group, EndsWhileAnotherGroupsCallIsUnderWay) {
  std::promise<void> entered, leave;
  const auto may_leave = leave.get_future();
  auto one = std::move(*Group::create(alone())), other = std::move(*Group::create(alone()));
  one->on_abort([&](const Status&) {
    entered.set_value();
    may_leave.wait();
  });
  one->abort(Status(Code::corrupt, "first"));
  entered.get_future().wait();
  other.reset();  // must not wait for that call
  leave.set_value();
}

TEST(Group, NudgesAPeer) {
  Table table(2);
  on_ranks(2, [&](int rank) {
    auto group = std::move(*Group::create(std::make_unique<ThreadExchange>(table, rank)));
    std::atomic<int> nudges{0};
    group->on_nudge([&] { ++nudges; });
    ASSERT_TRUE(group->exchange().barrier().ok());
    group->nudge(1 - rank);
    for (int i = 0; i < 5000 && nudges == 0; ++i) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_EQ(nudges, 1);
    group->on_nudge(nullptr);
    ASSERT_TRUE(group->exchange().barrier().ok());
    group->nudge(1 - rank);  // is lost
    ASSERT_TRUE(group->exchange().barrier().ok());
  });
}

// Many threads of every rank fetch from every other at once: answers must not be mixed up.
TEST(Group, TellsWordsUpToTheLargestAndSaysWhenOneIsLonger) {
  Table table(2);
  on_ranks(2, [&](int rank) {
    auto group = std::move(*Group::create(std::make_unique<ThreadExchange>(table, rank)));
    std::atomic<std::size_t> heard{0};
    group->on_message([&](int, const Bytes& word) { heard = word.size(); });
    ASSERT_TRUE(group->exchange().barrier().ok());
    group->tell(1 - rank, Bytes(kLargestWord));
    for (int i = 0; i < 5000 && heard == 0; ++i) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_EQ(heard, kLargestWord);
    ASSERT_TRUE(group->exchange().barrier().ok());
    EXPECT_TRUE(group->check().ok());
    ASSERT_TRUE(group->exchange().barrier().ok());  // the other one has looked before this one fails it
    if (rank == 0) group->tell(1, Bytes(kLargestWord + 1));
    for (int i = 0; i < 5000 && !group->failed(); ++i) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_THAT(group->check().text(), HasSubstr("word of 16361 bytes for rank 1"));
    group->on_message(nullptr);
    ASSERT_TRUE(group->exchange().barrier().ok());
  });
}

TEST(Group, WithoutMemoryForWhatItHearsItFailsAndTheOthersHearOfIt) {
  Table table(2);
  on_ranks(2, [&](int rank) {
    auto group = std::move(*Group::create(std::make_unique<ThreadExchange>(table, rank)));
    group->on_message([](int, const Bytes&) { throw std::bad_alloc(); });
    ASSERT_TRUE(group->exchange().barrier().ok());
    if (rank == 1) group->tell(0, Bytes(8));
    for (int i = 0; i < 5000 && !group->failed(); ++i) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_EQ(group->check().code(), rank == 0 ? Code::out_of_memory : Code::peer_lost) << group->check().text();
    ASSERT_TRUE(group->exchange().barrier().ok());
  });
}

TEST(Group, FetchesFromManyThreads) {
  Table table(3);
  on_ranks(3, [&](int rank) {
    auto group = std::move(*Group::create(std::make_unique<ThreadExchange>(table, rank)));
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < 8; ++i) {
      UniqueFd file(::memfd_create("many", MFD_CLOEXEC));
      ASSERT_EQ(::ftruncate(file.get(), 1000 * (rank + 1) + i), 0);
      ids.push_back(*group->offer(std::move(file)));
    }
    ASSERT_TRUE(group->exchange().barrier().ok());
    on_ranks(4, [&](int) {
      for (int peer = 0; peer < 3; ++peer)
        for (int i = 0; i < 8; ++i) {
          const auto file = group->fetch(peer, ids[std::size_t(i)]);
          ASSERT_TRUE(file.ok()) << file.status().text();
          EXPECT_EQ(::lseek(file->get(), 0, SEEK_END), 1000 * (peer + 1) + i);
        }
    });
    ASSERT_TRUE(group->exchange().barrier().ok());
  });
}

}  // namespace
}  // namespace sennit::comm
