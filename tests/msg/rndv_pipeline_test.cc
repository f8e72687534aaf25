// Two ranks of different nodes in one thread; what is carried goes through a box, and no send is over before it
// was received.
#include "msg/rndv_pipeline.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "device/executor.h"

namespace sennit::msg {
namespace {

constexpr std::array<std::uint64_t, 2> kJobOfPipeline{17, 4};
constexpr std::uint64_t kSeveralChunks = 9 * Pipeline::kChunk + 1234;

class Box {
 public:
  using Where = std::tuple<int, int, int>;  // from, to and tag
  struct Send {
    const void* data;
    int bytes;
    Carrier::Request request;
  };
  struct Receive {
    void* data;
    int bytes;
    Carrier::Request request;
  };
  Carrier::Request send(const Where& where, const void* data, int bytes) {
    sends[where].push_back({data, bytes, ++last});
    meet(where);
    return last;
  }
  Carrier::Request receive(const Where& where, void* data, int bytes) {
    receives[where].push_back({data, bytes, ++last});
    meet(where);
    return last;
  }
  void cancel(Carrier::Request request) {
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
  std::map<Carrier::Request, int> over;  // bytes, by request
  Carrier::Request last = 1000;
  std::map<std::pair<int, int>, std::optional<Announced>> published;  // by rank and slot

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

class BoxCarrier final : public Carrier {
 public:
  BoxCarrier(Box& box, int rank) : box_(box), rank_(rank) {}
  std::string_view plan() const override { return "by the box"; }
  Result<Request> send(const void* data, std::uint64_t bytes, int rank, int tag) override {
    if (fails_in > 0 && bytes > 8 && --fails_in == 0) return Status(Code::system_error, "the box is closed");
    return box_.send({rank_, rank, tag}, data, static_cast<int>(bytes));
  }
  Result<Request> receive(void* data, std::uint64_t bytes, int rank, int tag) override {
    return box_.receive({rank, rank_, tag}, data, static_cast<int>(bytes));
  }
  bool cancel(Request request) override {
    box_.cancel(request);
    return true;
  }
  Result<bool> sent(Request request) override { return box_.over.erase(request) != 0; }
  Result<std::optional<std::uint64_t>> received(Request request) override {
    const auto found = box_.over.find(request);
    if (found == box_.over.end()) return std::optional<std::uint64_t>();
    const auto bytes = static_cast<std::uint64_t>(found->second);
    box_.over.erase(found);
    return std::optional(bytes);
  }
  void publish(int slot, const std::optional<Announced>& what) override { box_.published[{rank_, slot}] = what; }
  std::optional<Announced> published(int rank, int slot) override { return box_.published[{rank, slot}]; }

  int fails_in = 0;  // this send of a chunk fails; 0: none

 private:
  Box& box_;
  const int rank_;
};

class PipelineTest : public ::testing::Test {
 protected:
  struct Rank {
    Rank(Box& box, int number)
        : carrier(box, number),
          executor(*device::open_host_executor()),
          gpus(executor),
          host(executor),
          pipeline(carrier, number, kJobOfPipeline, gpus, host, look_alikes) {}
    BoxCarrier carrier;
    std::shared_ptr<device::Executor> executor;
    stage::Gpus gpus;
    stage::PinnedPool host;
    LookAlikes look_alikes;
    Pipeline pipeline;
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
    auto outgoing = sender.pipeline.announce(data.data(), bytes, 0, {1, tag, 3, 77});
    if (outgoing == nullptr) return outgoing;
    EXPECT_TRUE(receiver.pipeline.is_rts(outgoing->sent(), static_cast<std::uint64_t>(outgoing->length())));
    std::memcpy(&rts, outgoing->sent(), sizeof rts);
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
  Rank sender{box, 0}, receiver{box, 1};
  Pipeline::Rts rts{};
};

TEST_F(PipelineTest, MessagesOfAllLengthsArrive) {
  for (const std::uint64_t bytes : {kLeastPipelined, kLeastPipelined + 1, kSeveralChunks, 3 * Pipeline::kChunk})
    for (const int device : {0, -1}) {
      const auto data = memory(sender, bytes, 3), there = memory(receiver, bytes + 100, 9);
      const auto behind = memory(receiver, bytes + 100, 9);
      const auto outgoing = announce(data, bytes);
      ASSERT_NE(outgoing, nullptr);
      EXPECT_FALSE(*outgoing->test()) << "nobody has received it";
      const auto incoming = receiver.pipeline.fetch(rts, there.data(), device);
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
    data.push_back(memory(sender, kLeastPipelined, i));
    there.push_back(memory(receiver, kLeastPipelined, 100));
    outgoing.push_back(announce(data.back(), kLeastPipelined));
    ASSERT_NE(outgoing.back(), nullptr);
    incoming.push_back(receiver.pipeline.fetch(rts, there.back().data(), 0));
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
  for (std::size_t i = 0; i < kMessagesAtOnce; ++i) EXPECT_EQ(same(data[i], there[i], kLeastPipelined), i != 3);
}

TEST_F(PipelineTest, BuffersAreFreeBeforeTheProgramHearsThatAllIsDone) {
  const auto taken_of = [](Rank& rank) {
    std::vector<device::Memory> taken;
    std::set<const void*> places;
    for (int i = 0; i < Pipeline::kBuffers; ++i) {
      taken.push_back(std::move(*rank.host.acquire(Pipeline::kChunk, stage::PinnedPool::Use::certain)));
      places.insert(taken.back().data());
    }
    for (auto& memory : taken) rank.host.release(std::move(memory));
    return places;
  };
  const auto of_sender = taken_of(sender), of_receiver = taken_of(receiver);
  const auto data = memory(sender, kSeveralChunks, 1), there = memory(receiver, kSeveralChunks, 2);
  const auto outgoing = announce(data, kSeveralChunks);
  const auto incoming = receiver.pipeline.fetch(rts, there.data(), 0);
  until_both(*outgoing, *incoming);
  EXPECT_EQ(taken_of(sender), of_sender);
  EXPECT_EQ(taken_of(receiver), of_receiver);
}

TEST_F(PipelineTest, AMessageThatIsNotWantedIsOverForItsSender) {
  const auto data = memory(sender, kSeveralChunks, 1);
  const auto outgoing = announce(data, kSeveralChunks);
  receiver.pipeline.refuse(rts);
  EXPECT_TRUE(*outgoing->test());
  EXPECT_FALSE(box.any_sends()) << "no piece is on its way";
}

TEST_F(PipelineTest, ASenderThatCannotGoOnSaysSo) {
  const auto data = memory(sender, kSeveralChunks, 1), there = memory(receiver, kSeveralChunks, 2);
  auto outgoing = announce(data, kSeveralChunks);
  const int slot = rts.slot;
  const auto incoming = receiver.pipeline.fetch(rts, there.data(), 0);
  sender.carrier.fails_in = 6;
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
  ASSERT_NE(announce(data, kSeveralChunks), nullptr);
  EXPECT_NE(rts.slot, slot) << "what of it is still on its way may not meet another message";
}

TEST_F(PipelineTest, AReceiverThatCannotGoOnLeavesNoSenderWaiting) {
  const auto data = memory(sender, kSeveralChunks, 1);
  auto there = memory(receiver, kSeveralChunks, 2);
  auto outgoing = announce(data, kSeveralChunks);
  const int slot = rts.slot;
  auto incoming = receiver.pipeline.fetch(rts, there.data(), 0);
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
  there = memory(receiver, kSeveralChunks, 2);
  outgoing = announce(data, kSeveralChunks);
  EXPECT_EQ(rts.slot, slot);
  incoming = receiver.pipeline.fetch(rts, there.data(), 0);
  until_both(*outgoing, *incoming);
  EXPECT_TRUE(same(data, there, kSeveralChunks));
}

TEST_F(PipelineTest, SlotsAreFreeAgain) {
  const auto data = memory(sender, kLeastPipelined, 1);
  std::vector<std::unique_ptr<SendTransfer>> outgoing;
  for (int i = 0; i < Rts::kSlots; ++i) outgoing.push_back(announce(data, kLeastPipelined));
  ASSERT_NE(outgoing.back(), nullptr);
  EXPECT_EQ(announce(data, kLeastPipelined), nullptr) << "too many";
  EXPECT_TRUE(box.any_receives());
  outgoing.clear();  // as sends that were cancelled
  EXPECT_FALSE(box.any_receives()) << "nobody answers them";
  EXPECT_NE(announce(data, kLeastPipelined), nullptr);
}

TEST_F(PipelineTest, NoRtsIsAsLongAsAMessageThatMayBeOnItsWay) {
  const auto data = memory(sender, kLeastPipelined, 1);
  { const auto sending = sender.look_alikes.begin({1, 5, 3, 77}, 0, false); }
  const auto outgoing = announce(data, kLeastPipelined, 5);
  EXPECT_EQ(rts.slot, 1);
  const auto other = announce(data, kLeastPipelined, 6);
  EXPECT_EQ(rts.slot, 0) << "another tag's";
  const auto there = memory(receiver, kLeastPipelined, 2);
  std::memcpy(&rts, outgoing->sent(), sizeof rts);
  const auto incoming = receiver.pipeline.fetch(rts, there.data(), 0);
  until_both(*outgoing, *incoming);
}

TEST_F(PipelineTest, OtherMessagesAreNoRts) {
  const auto data = memory(sender, kLeastPipelined, 1);
  const auto outgoing = announce(data, kLeastPipelined);
  EXPECT_FALSE(receiver.pipeline.is_rts(data.data(), kLeastLookedAt));
  EXPECT_FALSE(receiver.pipeline.is_rts(outgoing->sent(), 8)) << "so few bytes hold none";
  Rts other{};
  other.job[0] = kJobOfPipeline[0];
  other.job[1] = kJobOfPipeline[1];
  EXPECT_FALSE(receiver.pipeline.is_rts(&other, sizeof other)) << "that is one of the same node";
}

}  // namespace
}  // namespace sennit::msg
