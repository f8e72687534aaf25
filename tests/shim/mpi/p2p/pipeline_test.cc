// Two ranks of different nodes in one thread; what the MPI carries goes through a box, and no send is over before it
// was received.
#include "shim/mpi/p2p/pipeline.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "../made_up_mpi.h"
#include "device/executor.h"

namespace sennit::shim::mpi {
namespace {

constexpr std::array<std::uint64_t, 2> kJobOfPieces{17, 4};
constexpr std::uint64_t kSeveralPieces = 9 * Pipeline::kPiece + 1234;

class Box {
 public:
  using Where = std::tuple<int, int, int>;  // from, to and tag
  struct Send {
    const void* data;
    int bytes;
    Handle request;
  };
  struct Receive {
    void* data;
    int bytes;
    Handle request;
  };
  Handle send(const Where& where, const void* data, int bytes) {
    sends[where].push_back({data, bytes, ++last});
    meet(where);
    return last;
  }
  Handle receive(const Where& where, void* data, int bytes) {
    receives[where].push_back({data, bytes, ++last});
    meet(where);
    return last;
  }
  void cancel(Handle request) {
    for (auto& [where, open] : receives)
      if (std::erase_if(open, [&](const Receive& one) { return one.request == request; }) != 0) over[request] = 0;
  }
  bool any_sends() const {
    return std::ranges::any_of(sends, [](const auto& open) { return !open.second.empty(); });
  }
  bool any_receives() const {
    return std::ranges::any_of(receives, [](const auto& open) { return !open.second.empty(); });
  }

  std::map<Where, std::deque<Send>> sends;
  std::map<Where, std::deque<Receive>> receives;
  std::map<Handle, int> over;  // bytes, by request
  Handle last = 1000;

 private:
  void meet(const Where& where) {
    auto& from = sends[where];
    auto& to = receives[where];
    while (!from.empty() && !to.empty()) {
      EXPECT_LE(from.front().bytes, to.front().bytes);
      if (from.front().bytes > 0)
        std::memcpy(to.front().data, from.front().data, static_cast<std::size_t>(from.front().bytes));
      over[from.front().request] = over[to.front().request] = from.front().bytes;
      from.pop_front();
      to.pop_front();
    }
  }
};

class BoxMpi final : public MadeUpMpi {
 public:
  BoxMpi(Box& box, int rank) : box_(box), rank_(rank) {}
  int begin_send(Handle, const void* data, int bytes, int to, int tag, Handle& request) const override {
    if (fails_in > 0 && bytes > 8 && --fails_in == 0) return 16;
    request = box_.send({rank_, to, tag}, data, bytes);
    return 0;
  }
  int begin_receive(Handle, void* data, int bytes, int from, int tag, Handle& request) const override {
    request = box_.receive({from, rank_, tag}, data, bytes);
    return 0;
  }
  int cancel(Handle request) const override {
    box_.cancel(request);
    return 0;
  }
  int done(Handle& request, bool& done) const override {
    done = box_.over.erase(request) != 0;
    return 0;
  }
  int look_at(Handle request, bool, bool& done, Received& received) const override {
    const auto found = box_.over.find(request);
    done = found != box_.over.end();
    if (!done) return 0;
    received.bytes = found->second;
    box_.over.erase(found);
    return 0;
  }
  mutable int fails_in = 0;  // this send of a piece fails; 0: none

 private:
  Box& box_;
  const int rank_;
};

class PipelineTest : public ::testing::Test {
 protected:
  struct Rank {
    Rank(Box& box, int number, PipelineTest& test)
        : mpi(box, number),
          executor(*device::open_host_executor()),
          gpus(executor),
          host(executor),
          peer_query(
              [&test, number](int to, comm::Bytes word) {
                test.words.push_back({number, to, std::move(word)});
              },
              [](int) { return Status(); }),
          pieces(mpi, 1, number, kJobOfPieces, peer_query, gpus, host, look_alikes) {}
    BoxMpi mpi;
    std::shared_ptr<device::Executor> executor;
    stage::Gpus gpus;
    stage::PinnedPool host;
    LookAlikes look_alikes;
    PeerQuery peer_query;
    Pipeline pieces;
  };
  struct Word {
    int from, to;
    comm::Bytes word;
  };

  device::Memory memory(Rank& rank, std::uint64_t bytes, int seed) {
    auto made = rank.executor->allocate(0, bytes);
    for (std::uint64_t i = 0; i < bytes; ++i) made->data()[i] = std::byte((i * 7 + i / 509 + seed) & 0xFF);
    return std::move(*made);
  }
  static bool same(const device::Memory& one, const device::Memory& other, std::uint64_t bytes) {
    return std::memcmp(one.data(), other.data(), bytes) == 0;
  }
  std::unique_ptr<SendTransfer> announce(const device::Memory& data, std::uint64_t bytes, int tag = 5) {
    auto outgoing = sender.pieces.announce(data.data(), bytes, 0, {1, tag, 3, 77});
    if (outgoing == nullptr) return outgoing;
    EXPECT_TRUE(receiver.pieces.is_card(outgoing->sent(), static_cast<std::uint64_t>(outgoing->length())));
    std::memcpy(&card, outgoing->sent(), sizeof card);
    return outgoing;
  }
  static void until_both(SendTransfer& outgoing, RecvTransfer& incoming) {
    for (int looks = 0; looks < 10'000'000; ++looks) {
      const auto taken = outgoing.test(), done = incoming.test();
      ASSERT_TRUE(taken.ok()) << taken.status().text();
      ASSERT_TRUE(done.ok()) << done.status().text();
      if (*taken && *done) return;
    }
    FAIL() << "it stands still";
  }

  Box box;
  std::vector<Word> words;
  Rank sender{box, 0, *this}, receiver{box, 1, *this};
  Pipeline::Card card{};
};

TEST_F(PipelineTest, MessagesOfAllLengthsArrive) {
  for (const std::uint64_t bytes : {Pipeline::kLeast, Pipeline::kLeast + 1, kSeveralPieces, 3 * Pipeline::kPiece})
    for (const int device : {0, -1}) {
      const auto data = memory(sender, bytes, 3), there = memory(receiver, bytes + 100, 9);
      const auto behind = memory(receiver, bytes + 100, 9);
      const auto outgoing = announce(data, bytes);
      ASSERT_NE(outgoing, nullptr);
      EXPECT_FALSE(*outgoing->test()) << "nobody has received it";
      const auto incoming = receiver.pieces.fetch(card, false, there.data(), device);
      EXPECT_EQ(incoming->bytes(), bytes);
      until_both(*outgoing, *incoming);
      EXPECT_TRUE(same(data, there, bytes));
      EXPECT_EQ(std::memcmp(there.data() + bytes, behind.data() + bytes, 100), 0)
          << "what lies behind was written to";
    }
  EXPECT_FALSE(box.any_receives());
}

TEST_F(PipelineTest, MoreThanComeAtOnceComeOneBehindTheOther) {
  constexpr int kMessagesAtOnce = 20;
  std::vector<device::Memory> data, there;
  std::vector<std::unique_ptr<SendTransfer>> outgoing;
  std::vector<std::unique_ptr<RecvTransfer>> incoming;
  for (int i = 0; i < kMessagesAtOnce; ++i) {
    data.push_back(memory(sender, Pipeline::kLeast, i));
    there.push_back(memory(receiver, Pipeline::kLeast, 100));
    outgoing.push_back(announce(data.back(), Pipeline::kLeast));
    ASSERT_NE(outgoing.back(), nullptr);
    incoming.push_back(receiver.pieces.fetch(card, false, there.back().data(), 0));
  }
  incoming[3].reset();  // one that is given up keeps nobody waiting
  for (int looks = 0, left = kMessagesAtOnce - 1; left > 0; ++looks) {
    ASSERT_LT(looks, 10'000'000);
    left = 0;
    for (std::size_t i = kMessagesAtOnce; i-- > 0;) {  // the last ones are asked for first
      if (incoming[i] == nullptr) continue;
      const auto taken = outgoing[i]->test(), done = incoming[i]->test();
      ASSERT_TRUE(taken.ok() && done.ok());
      left += *taken && *done ? 0 : 1;
    }
  }
  for (std::size_t i = 0; i < kMessagesAtOnce; ++i) EXPECT_EQ(same(data[i], there[i], Pipeline::kLeast), i != 3);
}

TEST_F(PipelineTest, BuffersAreFreeBeforeTheProgramHearsThatAllIsDone) {
  const auto taken_of = [](Rank& rank) {
    std::vector<device::Memory> taken;
    std::set<const void*> places;
    for (int i = 0; i < Pipeline::kBuffers; ++i) {
      taken.push_back(std::move(*rank.host.acquire(Pipeline::kPiece, stage::PinnedPool::Use::certain)));
      places.insert(taken.back().data());
    }
    for (auto& memory : taken) rank.host.release(std::move(memory));
    return places;
  };
  const auto of_sender = taken_of(sender), of_receiver = taken_of(receiver);
  const auto data = memory(sender, kSeveralPieces, 1), there = memory(receiver, kSeveralPieces, 2);
  const auto outgoing = announce(data, kSeveralPieces);
  const auto incoming = receiver.pieces.fetch(card, false, there.data(), 0);
  until_both(*outgoing, *incoming);
  EXPECT_EQ(taken_of(sender), of_sender);
  EXPECT_EQ(taken_of(receiver), of_receiver);
}

TEST_F(PipelineTest, AMessageThatIsNotWantedIsOverForItsSender) {
  const auto data = memory(sender, kSeveralPieces, 1);
  const auto outgoing = announce(data, kSeveralPieces);
  receiver.pieces.refuse(card, false);
  EXPECT_TRUE(*outgoing->test());
  EXPECT_FALSE(box.any_sends()) << "no piece is on its way";
}

TEST_F(PipelineTest, ASenderThatCannotGoOnSaysSo) {
  const auto data = memory(sender, kSeveralPieces, 1), there = memory(receiver, kSeveralPieces, 2);
  auto outgoing = announce(data, kSeveralPieces);
  const int slot = card.slot;
  const auto incoming = receiver.pieces.fetch(card, false, there.data(), 0);
  sender.mpi.fails_in = 6;
  Status sent, came;
  for (int looks = 0; looks < 10'000'000 && (sent.ok() || came.ok()); ++looks) {
    sent = outgoing->test().status();
    came = incoming->test().status();
  }
  EXPECT_EQ(sent.code(), Code::system_error);
  EXPECT_EQ(came.code(), Code::device_error);
  EXPECT_NE(came.text().find("rank 0"), std::string::npos) << came.text();
  EXPECT_FALSE(box.any_receives()) << "what nobody will send is not waited for";
  outgoing.reset();
  ASSERT_NE(announce(data, kSeveralPieces), nullptr);
  EXPECT_NE(card.slot, slot) << "what of it is still on its way may not meet another message";
}

TEST_F(PipelineTest, AReceiverThatCannotGoOnLeavesNoSenderWaiting) {
  const auto data = memory(sender, kSeveralPieces, 1);
  auto there = memory(receiver, kSeveralPieces, 2);
  auto outgoing = announce(data, kSeveralPieces);
  const int slot = card.slot;
  auto incoming = receiver.pieces.fetch(card, false, there.data(), 0);
  for (int looks = 0; looks < 6; ++looks) {
    ASSERT_TRUE(outgoing->test().ok());
    ASSERT_TRUE(incoming->test().ok());
  }
  there = {};  // which the program may not do yet
  Status came;
  bool sent = false;
  for (int looks = 0; looks < 10'000'000 && (!sent || came.ok()); ++looks) {
    const auto taken = outgoing->test();
    ASSERT_TRUE(taken.ok()) << taken.status().text();
    sent = *taken;
    came = incoming->test().status();
  }
  EXPECT_TRUE(sent);
  EXPECT_FALSE(came.ok());
  EXPECT_EQ(incoming->test().status().code(), came.code());
  EXPECT_FALSE(box.any_sends() || box.any_receives());
  outgoing.reset();
  incoming.reset();
  there = memory(receiver, kSeveralPieces, 2);
  outgoing = announce(data, kSeveralPieces);
  EXPECT_EQ(card.slot, slot);
  incoming = receiver.pieces.fetch(card, false, there.data(), 0);
  until_both(*outgoing, *incoming);
  EXPECT_TRUE(same(data, there, kSeveralPieces));
}

TEST_F(PipelineTest, SlotsAreFreeAgain) {
  const auto data = memory(sender, Pipeline::kLeast, 1);
  std::vector<std::unique_ptr<SendTransfer>> outgoing;
  for (int i = 0; i < Rts::kSlots; ++i) outgoing.push_back(announce(data, Pipeline::kLeast));
  ASSERT_NE(outgoing.back(), nullptr);
  EXPECT_EQ(announce(data, Pipeline::kLeast), nullptr) << "too many";
  EXPECT_TRUE(box.any_receives());
  outgoing.clear();  // as sends that were cancelled
  EXPECT_FALSE(box.any_receives()) << "nobody answers them";
  EXPECT_NE(announce(data, Pipeline::kLeast), nullptr);
}

TEST_F(PipelineTest, NoCardIsAsLongAsAMessageThatMayBeOnItsWay) {
  const auto data = memory(sender, Pipeline::kLeast, 1);
  { const auto sending = sender.look_alikes.begin({1, 5, 3, 77}, 0, false); }
  const auto outgoing = announce(data, Pipeline::kLeast, 5);
  EXPECT_EQ(card.slot, 1);
  const auto other = announce(data, Pipeline::kLeast, 6);
  EXPECT_EQ(card.slot, 0) << "another tag's";
  const auto there = memory(receiver, Pipeline::kLeast, 2);
  std::memcpy(&card, outgoing->sent(), sizeof card);
  const auto incoming = receiver.pieces.fetch(card, false, there.data(), 0);
  until_both(*outgoing, *incoming);
}

TEST_F(PipelineTest, OtherMessagesAreNoCards) {
  const auto data = memory(sender, Pipeline::kLeast, 1);
  const auto outgoing = announce(data, Pipeline::kLeast);
  EXPECT_FALSE(receiver.pieces.is_card(data.data(), kLeastLookedAt));
  EXPECT_FALSE(receiver.pieces.is_card(outgoing->sent(), 8)) << "so few bytes hold none";
  Rts other{};
  other.job[0] = kJobOfPieces[0];
  other.job[1] = kJobOfPieces[1];
  EXPECT_FALSE(receiver.pieces.is_card(&other, sizeof other)) << "that is one of the same node";
}

}  // namespace
}  // namespace sennit::shim::mpi
