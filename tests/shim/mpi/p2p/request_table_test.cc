#include "shim/mpi/p2p/request_table.h"

#include <gtest/gtest.h>

#include "msg/two_ranks.h"

namespace sennit::shim::mpi {
namespace {

constexpr Handle kRequest = 7;

RequestTable::Shared moving() {
  auto open = std::make_shared<OpenRequest>();
  open->receive = std::make_unique<Receive>();
  return open;
}

TEST(RequestTable, AHandleThatIsClaimedMayBeAnothersBeforeItsRequestEnds) {
  RequestTable table;
  const auto first = moving(), second = moving();
  table.add(kRequest, first);
  {
    const auto claimed = table.claim(kRequest, *first);
    EXPECT_EQ(claimed.mapped(), first);
    EXPECT_EQ(table.find(kRequest), nullptr);
    EXPECT_TRUE(table.moving().empty());
    table.add(kRequest, second);  // another thread, to which MPI has given the handle meanwhile
    table.end(*first);
  }
  EXPECT_EQ(table.find(kRequest), second);
  EXPECT_TRUE(second->active);
  EXPECT_TRUE(table.busy());
}

TEST(RequestTable, WhatHasNotEndedIsPutBack) {
  RequestTable table;
  const auto open = moving();
  table.add(kRequest, open);
  auto claimed = table.claim(kRequest, *open);
  EXPECT_TRUE(open->claimed);
  table.put_back(std::move(claimed));
  EXPECT_FALSE(open->claimed);
  EXPECT_EQ(table.find(kRequest), open);
  EXPECT_TRUE(table.busy());
}

TEST(RequestTable, OfSeveralWithOneHandleTheLatestIsLeft) {
  RequestTable table;
  const auto first = moving(), second = moving();
  table.add(kRequest, first);
  table.add(kRequest, second);
  EXPECT_EQ(table.find(kRequest), second);
  const auto claimed = table.claim(kRequest, *second);
  EXPECT_TRUE(table.claim(kRequest, *second).empty());
  table.end(*second);
  EXPECT_FALSE(table.busy()) << "every later wait would look for what never comes";
}

TEST(RequestTable, AFreedMessageMovesUntilItIsForgotten) {
  RequestTable table;
  const auto freed = moving(), staged = std::make_shared<OpenRequest>();
  constexpr Handle kComm = 3;
  table.add(kRequest, freed, kComm);
  table.add(kRequest + 1, staged, kComm);
  EXPECT_FALSE(table.any_orphans());
  table.orphan(kRequest, freed);
  table.orphan(kRequest + 1, staged);
  EXPECT_EQ(table.find(kRequest), nullptr);
  EXPECT_EQ(table.orphans().size(), 2u);
  EXPECT_EQ(table.moving().size(), 1u);
  EXPECT_TRUE(table.any_unseen(kComm, [](const Receive&) { return true; }));
  table.end(*freed);
  table.forget(freed);
  EXPECT_FALSE(table.any_unseen(kComm, [](const Receive&) { return true; }));
  EXPECT_TRUE(table.busy() && table.any_orphans() && !table.none()) << "what is only copied has to be looked at too";
  table.end(*staged);
  table.forget(staged);
  EXPECT_TRUE(!table.busy() && !table.any_orphans() && table.none());
}

TEST(RequestTable, NobodyLooksAtAPersistentRequestThatIsBeingStarted) {
  RequestTable table;
  const auto open = moving();
  open->persistent = true;
  open->active = false;
  table.add(kRequest, open);
  EXPECT_FALSE(table.busy());
  table.start(*open);
  EXPECT_TRUE(open->claimed);
  EXPECT_TRUE(table.busy());
  table.started(*open);
  EXPECT_FALSE(open->claimed);
  table.end(*open);
  EXPECT_FALSE(table.busy());
  EXPECT_EQ(table.find(kRequest), open);
}

TEST(RequestTable, NoRequestHasACommunicatorThatWasFreed) {
  constexpr Handle kComm = 3, kOtherComm = 4;
  RequestTable table;
  const auto any = [](const Receive&) { return true; };
  const auto first = moving(), other = moving(), later = moving();
  EXPECT_EQ(first->comm(), kNoHandle);
  table.add(kRequest, first, kComm);
  table.add(kRequest + 1, other, kOtherComm);
  EXPECT_EQ(first->comm(), kComm);
  EXPECT_TRUE(table.any_unseen(kComm, any));
  const auto claimed = table.claim(kRequest, *first);  // another thread waits for it
  table.forget_comm(kComm);
  table.forget_comm(kComm);
  EXPECT_EQ(first->comm(), kNoHandle);
  EXPECT_EQ(other->comm(), kOtherComm);
  EXPECT_FALSE(table.any_unseen(kComm, any));
  table.add(kRequest + 2, later, kComm);  // MPI has given the handle to a new one
  EXPECT_EQ(later->comm(), kComm);
  EXPECT_EQ(first->comm(), kNoHandle);
  EXPECT_TRUE(table.any_unseen(kComm, any));
}

TEST(RequestTable, TheReceiveThatWasPostedFirstIsAwaitedFirst) {
  RequestTable table;
  const auto first = moving(), second = moving(), persistent = moving();
  persistent->persistent = true;
  EXPECT_EQ(table.first_pending_receive().second, nullptr);
  table.add(kRequest - 1, persistent);
  table.add(kRequest, first);
  table.add(kRequest + 1, second);
  EXPECT_EQ(table.first_pending_receive(), std::pair(kRequest, first));
  EXPECT_EQ(table.first_pending_receive(), std::pair(kRequest, first));
  first->receive->looked = true;
  EXPECT_EQ(table.first_pending_receive().second, nullptr) << "the last one is looked at when it is waited for";
  EXPECT_TRUE(table.any_pending_receive());
  const auto third = moving();
  table.add(kRequest + 2, third);
  EXPECT_EQ(table.first_pending_receive(), std::pair(kRequest + 1, second));
  table.end(*third);
  EXPECT_EQ(table.first_pending_receive().second, nullptr);
  table.end(*second);
  EXPECT_FALSE(table.any_pending_receive());
}

TEST(RequestTable, AReceiveOfWhatNeverComesIsNotAwaitedForEver) {
  RequestTable table;
  const auto never = moving(), other = moving(), another = moving();
  never->receive->capacity = 2 * std::int64_t{msg::kMostTogether};
  table.add(kRequest, never);
  table.add(kRequest + 1, other);
  table.add(kRequest + 2, another);
  int looks = 0;
  while (table.first_pending_receive().second == never) ASSERT_LT(++looks, 10'000);
  EXPECT_GT(looks, 200) << "nor forgotten while others are posted";
  EXPECT_EQ(table.first_pending_receive().second, other);
  other->receive->looked = another->receive->looked = true;
  EXPECT_FALSE(table.any_pending_receive()) << "what never comes counts for nothing";
}

constexpr std::uint64_t kLong = 2 * msg::kMostTogether;

/// A send whose receiver may wish that it is copied.
class Sent final : public msg::SendTransfer {
 public:
  explicit Sent(std::uint64_t bytes) : bytes_(bytes) {}
  const void* sent() const override { return nullptr; }
  int length() const override { return 0; }
  std::uint64_t bytes() const override { return bytes_; }
  std::string_view plan() const override { return "none"; }
  Result<bool> test() override { return false; }
  int peer() const override { return 0; }
  bool has_rtr() const override { return wished; }
  bool is_claimed() const override { return claimed; }
  bool wished = false, claimed = false;

 private:
  const std::uint64_t bytes_;
};

/// Sends of so many bytes each, of requests 0, 1 and so on; those that are wished.
std::vector<Sent*> add_sends(RequestTable& table, std::size_t count, std::uint64_t bytes) {
  std::vector<Sent*> all;
  for (std::size_t i = 0; i < count; ++i) {
    auto open = std::make_shared<OpenRequest>();
    auto sent = std::make_unique<Sent>(bytes);
    all.push_back(sent.get());
    open->outgoing = std::move(sent);
    table.add(Handle(i), std::move(open));
  }
  return all;
}

std::vector<Handle> handles(const std::vector<std::pair<Handle, RequestTable::Shared>>& some) {
  std::vector<Handle> all;
  for (const auto& [request, open] : some) all.push_back(request);
  return all;
}

// Of 64 long messages both ways the first one's receive was looked at last, and until then none of the others was
// heard: 4 MiB took 22 µs instead of 16 (2 × H100).
TEST(RequestTable, AnUnwishedSendDoesNotHideOthersThatAreWished) {
  RequestTable table;
  const auto sent = add_sends(table, 12, kLong);
  EXPECT_TRUE(table.with_rtr(4, kLong).empty());
  sent[2]->wished = sent[1]->wished = true;
  EXPECT_EQ(handles(table.with_rtr(4, kLong)), (std::vector<Handle>{1}));
  EXPECT_EQ(handles(table.with_rtr(4, kLong)), (std::vector<Handle>{2})) << "each once";
  EXPECT_TRUE(table.with_rtr(4, kLong).empty());
  sent[10]->wished = true;
  EXPECT_TRUE(table.with_rtr(4, kLong).empty()) << "too many before it";
  sent[0]->wished = true;
  EXPECT_EQ(handles(table.with_rtr(4, kLong)), (std::vector<Handle>{0}));
}

TEST(RequestTable, ASendThatItsReceiverCopiesHidesNone) {
  RequestTable table;
  const auto sent = add_sends(table, 20, kLong);
  for (int i = 0; i < 16; ++i) sent[std::size_t(i)]->claimed = true;
  sent[16]->wished = sent[18]->wished = true;
  EXPECT_EQ(handles(table.with_rtr(4, kLong)), (std::vector<Handle>{16}));
  sent[17]->claimed = true;
  EXPECT_EQ(handles(table.with_rtr(4, kLong)), (std::vector<Handle>{18}));
}

// Early ones, a few at a time, would keep many from being copied together.
TEST(RequestTable, ShortSendsAreGivenSeveralAtOnce) {
  RequestTable table;
  const auto sent = add_sends(table, 9, 1);
  sent[2]->wished = sent[4]->wished = true;
  EXPECT_TRUE(table.with_rtr(4, kLong).empty()) << "the last of four wishes nothing";
  sent[0]->claimed = sent[3]->wished = true;
  EXPECT_EQ(handles(table.with_rtr(4, kLong)), (std::vector<Handle>{0, 1, 2, 3}));
  sent[6]->wished = true;
  EXPECT_EQ(handles(table.with_rtr(3, kLong)), (std::vector<Handle>{4, 5, 6}));
  EXPECT_TRUE(table.with_rtr(4, kLong).empty()) << "so many there are not";
}

TEST(RequestTable, ThoseWhoseReceiversWaitAreHeardBetweenSends) {
  std::vector<msg::Rts> rts_of(5);
  msg::between_two(
      [&](msg::Party& rank, msg::Rts&) {
        fill(rank, 1);
        RequestTable requests;
        auto all = announce_many(rank, rts_of);
        for (std::size_t i = 0; i < all.size(); ++i) {
          auto open = std::make_shared<OpenRequest>();
          open->outgoing = std::move(all[i]);
          requests.add(Handle(i + 1), std::move(open));
        }
        EXPECT_TRUE(requests.with_rtr(4, kLong).empty()) << "nobody waits";
        rank.meet();
        rank.meet();
        EXPECT_TRUE(requests.with_rtr(6, kLong).empty()) << "so many there are not";
        EXPECT_EQ(requests.with_rtr(9, 2 * msg::kShort).size(), 2u) << "these have so many bytes";
        const auto wished = requests.with_rtr(3, kLong);
        ASSERT_EQ(wished.size(), 3u);
        EXPECT_EQ(wished[0].first, Handle(3)) << "those before were given";
        EXPECT_EQ(requests.with_rtr(1, kLong).size(), 0u) << "all were given";
        rank.meet();
        for (Handle i = 1; i <= 5; ++i) until_taken(*requests.find(i)->outgoing);
        rank.meet();
      },
      [&](msg::Party& rank, msg::Rts&) {
        rank.meet();
        const auto all = fetch_many(rank, rts_of);
        rank.meet();
        rank.meet();
        for (const auto& each : all) until_done(*each);
        EXPECT_TRUE(holds(rank, 1, rts_of.size() * msg::kShort));
        rank.meet();
      });
}

}  // namespace
}  // namespace sennit::shim::mpi
