// The order of calls among streams; what calls compute is the subject of algorithms_test.cc.
#include "coll/collectives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "comm/thread_exchange.h"

namespace sennit::coll {
namespace {

/// A lane that says of itself which stream it is over, and counts what it waits for.
class NamedLane final : public device::Lane {
 public:
  NamedLane(std::unique_ptr<device::Lane> real, std::uint64_t stream) : real_(std::move(real)), stream_(stream) {}

  int waits = 0;
  std::vector<device::Event*> awaited_in_replays, recorded_in_replays;
  std::shared_ptr<void> kept;  ///< with a captured graph
  unsigned blocks = 0;         ///< of the latest launch
  std::uint64_t captured = 0;
  std::uint64_t id = 0;  ///< another one: another stream of the same handle

  int device() const override { return real_->device(); }
  device::Queue queue() override { return {captured, stream_, captured != 0 ? 0 : id}; }
  Status copy(void* dst, const void* src, std::uint64_t bytes) override { return real_->copy(dst, src, bytes); }
  Status post(device::Word* there, const device::Word* here) override { return real_->post(there, here); }
  Status signal(device::Word* there, device::Word value) override { return real_->signal(there, value); }
  Status launch(const device::Program& program, const void* arguments, unsigned count, unsigned threads) override {
    blocks = count;
    return real_->launch(program, arguments, count, threads);
  }
  Status record(device::Event& event) override { return real_->record(event); }
  Status wait(device::Event& event) override {
    ++waits;
    return real_->wait(event);
  }
  Status synchronize() override { return real_->synchronize(); }
  Result<bool> idle() override { return real_->idle(); }
  std::uint64_t capture() override { return captured; }
  Status wait_in_replays(device::Event& event) override {
    awaited_in_replays.push_back(&event);
    return {};
  }
  Status keep_in_replays(std::shared_ptr<void> what) override {
    kept = std::move(what);
    return {};
  }
  Status record_in_replays(device::Event& event, device::ReplayRecord& at) override {
    if (at.node == nullptr) recorded_in_replays.push_back(&event);  // else it moves
    at.node = this;
    return {};
  }

 private:
  const std::unique_ptr<device::Lane> real_;
  const std::uint64_t stream_;
};

struct Streams : testing::Test {
  std::shared_ptr<device::Executor> executor = *device::open_host_executor();
  std::unique_ptr<node::Node> node = *node::Node::create(comm::alone(), executor, {});
  Collectives collectives{*node};
  device::Memory memory = *executor->allocate(0, 64);

  NamedLane lane(std::uint64_t stream) { return NamedLane(*executor->lane(0), stream); }
  void call(device::Lane& lane) {
    Request request;
    request.operation = Operation::allreduce;
    request.input = request.output = memory.data();
    request.count = 16;
    request.reduction = {device::Type::float32, device::Operator::sum};
    const auto status = collectives.call(request, lane);
    ASSERT_TRUE(status.ok()) << status.text();
    ASSERT_TRUE(lane.synchronize().ok());
  }
};

TEST_F(Streams, ACallWaitsForTheOneBeforeItOnAnotherStream) {
  // The legacy default stream of the first device is number 0.
  for (const auto& [first, second] : {std::pair<std::uint64_t, std::uint64_t>(0, 7), {7, 0}}) {
    NamedLane one = lane(first), other = lane(second);
    call(one);
    call(one);
    const int before = other.waits;
    call(other);
    EXPECT_EQ(other.waits, before + 1);
    call(other);
    EXPECT_EQ(other.waits, before + 1) << "of its own stream nothing has to be waited for";
  }
}

TEST_F(Streams, AStreamWithTheHandleOfOneThatIsGoneIsAnotherStream) {
  NamedLane gone = lane(7), next = lane(7), captured = lane(7);
  gone.id = 1;
  next.id = 2;
  call(gone);
  EXPECT_TRUE(collectives.follow(next).ok());
  EXPECT_EQ(next.waits, 1);
  call(next);
  EXPECT_EQ(next.waits, 2);
  call(next);
  EXPECT_EQ(next.waits, 2);
  captured.captured = 5;
  call(captured);
  call(captured);
  EXPECT_EQ(captured.waits, 0) << "a capture keeps its streams";
}

TEST_F(Streams, PlacesOfMessagesMayCountFromOtherMemory) {
  device::Memory more = *executor->allocate(0, 64);
  auto* const below = std::min(memory.data(), more.data());
  auto* const above = std::max(memory.data(), more.data());
  const std::uint64_t count = 16, nothing = 0, apart = static_cast<std::uint64_t>(above - below);
  std::fill_n(below, count, std::byte{7});
  Request request;
  request.operation = Operation::all_to_all_v;
  request.reduction.type = device::Type::uint8;
  request.input = request.output = below;
  request.sent = request.received = {&count, 1};
  request.sent_from = {&nothing, 1};
  request.received_to = {&apart, 1};
  NamedLane stream = lane(7);
  const auto status = collectives.call(request, stream);
  ASSERT_TRUE(status.ok()) << status.text();
  ASSERT_TRUE(stream.synchronize().ok());
  EXPECT_EQ(above[15], std::byte{7});
  const std::uint64_t past_the_end = apart + 64 - 15;
  request.received_to = {&past_the_end, 1};
  EXPECT_EQ(collectives.call(request, stream).code(), Code::invalid_argument);
}

TEST_F(Streams, ALaneFollowsTheCallsOfOtherStreams) {
  NamedLane other = lane(2);
  EXPECT_TRUE(collectives.follow(other).ok());
  EXPECT_EQ(other.waits, 0) << "there was no call";
  {
    NamedLane one = lane(1);
    call(one);
    EXPECT_TRUE(collectives.follow(one).ok());
    EXPECT_EQ(one.waits, 0);
  }
  EXPECT_TRUE(collectives.follow(other).ok());
  EXPECT_EQ(other.waits, 1) << "though the stream of the call is gone";
  other.captured = 5;
  EXPECT_TRUE(collectives.follow(other).ok());
  EXPECT_EQ(other.waits, 1) << "a capture cannot wait for what runs outside";
}

TEST_F(Streams, TheReplaysOfAGraphTakeTheirTurnAmongOtherCalls) {
  NamedLane one = lane(1);
  call(one);
  NamedLane inside = lane(2), beside = lane(3), next = lane(2);
  inside.captured = beside.captured = 5;
  call(inside);
  call(beside);
  call(inside);
  EXPECT_EQ(inside.waits + beside.waits, 2) << "those of one capture wait for each other";
  ASSERT_EQ(inside.awaited_in_replays.size(), 1U) << "before the first call only";
  EXPECT_TRUE(beside.awaited_in_replays.empty());
  EXPECT_EQ(inside.recorded_in_replays, inside.awaited_in_replays) << "by the same event, once a replay";
  EXPECT_TRUE(beside.recorded_in_replays.empty());
  next.captured = 6;
  call(next);
  EXPECT_EQ(next.awaited_in_replays, inside.awaited_in_replays) << "so do the graphs among each other";
  EXPECT_EQ(next.recorded_in_replays, inside.recorded_in_replays);

  call(one);
  EXPECT_EQ(one.waits, 1) << "though the call before was on the same stream: a replay may be in between";
  NamedLane other = lane(4);
  EXPECT_TRUE(collectives.follow(other).ok());
  EXPECT_TRUE(collectives.follow(one).ok());
  EXPECT_EQ(other.waits, 1);
  EXPECT_EQ(one.waits, 2);
}

TEST_F(Streams, ACallAfterGraphsAloneWaitsForTheirReplays) {
  NamedLane inside = lane(1), outside = lane(1), before = lane(1);
  EXPECT_TRUE(collectives.follow(before).ok());
  EXPECT_EQ(before.waits, 0);
  inside.captured = 5;
  call(inside);
  EXPECT_TRUE(collectives.follow(before).ok());
  EXPECT_EQ(before.waits, 1);
  call(outside);
  EXPECT_EQ(outside.waits, 1);
}

TEST_F(Streams, WithoutGraphsThereIsNothingToWaitForAnyMore) {
  NamedLane inside = lane(1), outside = lane(1);
  EXPECT_FALSE(collectives.has_graphs());
  inside.captured = 5;
  call(inside);
  call(inside);
  EXPECT_TRUE(collectives.has_graphs());
  call(outside);
  call(outside);
  EXPECT_EQ(outside.waits, 2);
  inside.kept = nullptr;  // the graph is gone
  EXPECT_FALSE(collectives.has_graphs());
  call(outside);
  EXPECT_EQ(outside.waits, 3) << "once more: a replay may be on its way";
  call(outside);
  EXPECT_EQ(outside.waits, 3);
}

TEST(Lane, OutsideOfACaptureThereAreNoReplays) {
  auto executor = *device::open_host_executor();
  auto lane = *executor->lane(0);
  auto event = *executor->event(0);
  device::ReplayRecord record;
  EXPECT_EQ(lane->wait_in_replays(*event).code(), Code::invalid_argument);
  EXPECT_EQ(lane->record_in_replays(*event, record).code(), Code::invalid_argument);
  EXPECT_EQ(lane->keep_in_replays(nullptr).code(), Code::invalid_argument);
}

/// Plans six blocks for whatever there is.
class Wide final : public Chooser {
 public:
  Status meet(node::Node&, const Team&, std::uint64_t) override { return {}; }
  Plan plan(const CallKey&) override { return {Algorithm::direct, 6, device::kBlockThreads}; }
};

TEST(KeptBlocks, AMessageTakesNoMoreThanWasAgreedOn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one scratch are two memories to ThreadSanitizer: see tests/capi for processes";
#endif
  for (const unsigned most : {1u, 4u, kMostBlocks / 2}) {
    comm::Table table(2);
    comm::on_ranks(2, [&](int rank) {
      auto node = node::Node::create(std::make_unique<comm::ThreadExchange>(table, rank),
                                     *device::open_host_executor(), {rank, {}, std::chrono::seconds(20)});
      ASSERT_TRUE(node.ok()) << node.status().text();
      Collectives collectives(**node, std::make_unique<Wide>());
      collectives.keep_blocks_for_messages(most);
      ASSERT_TRUE(collectives.meet().ok());
      std::vector<int> sent(10'000, rank), got(10'000, -1);
      const auto bytes = sent.size() * sizeof(int);
      const Message messages[] = {{1 - rank, true, reinterpret_cast<std::byte*>(sent.data()), bytes},
                                  {1 - rank, false, reinterpret_cast<std::byte*>(got.data()), bytes}};
      NamedLane lane(*(*node)->executor().lane(rank), 3);
      const auto status = collectives.send_receive(messages, lane);
      ASSERT_TRUE(status.ok()) << status.text();
      EXPECT_TRUE(lane.synchronize().ok());
      EXPECT_EQ(lane.blocks, std::min(most, 6u));
      EXPECT_EQ(got, std::vector<int>(10'000, 1 - rank));
      EXPECT_TRUE(collectives.close().ok());
    });
  }
}

TEST(Losses, ACallWaitsForARankThatHasLeftWhereKernelsOutlastIt) {
  for (const bool outlasts : {true, false}) {
    comm::Table table(2);
    comm::on_ranks(2, [&](int rank) {
      node::Node::Options options;
      options.device = rank;
      options.timeout = std::chrono::seconds(20);
      options.outlast_failure = outlasts;
      const auto executor = *device::open_host_executor();
      auto node = node::Node::create(std::make_unique<comm::ThreadExchange>(table, rank), executor, options);
      ASSERT_TRUE(node.ok()) << node.status().text();
      Collectives collectives(**node);
      ASSERT_TRUE(collectives.meet().ok());
      comm::Group& group = (*node)->group();
      if (rank == 1) group.abort(Status(Code::aborted, "rank 1 leaves"));
      while (!group.failed()) std::this_thread::yield();
      if (rank == 1) return;
      std::vector<float> numbers(16, 1);
      Request request;
      request.operation = Operation::allreduce;
      request.input = request.output = numbers.data();
      request.count = numbers.size();
      request.reduction = {device::Type::float32, device::Operator::sum};
      const auto called = collectives.call(request, (*node)->lane());
      EXPECT_EQ(called.ok(), outlasts) << called.text();
      if (!outlasts) return;
      EXPECT_FALSE(*collectives.idle()) << "nobody else has come to the call";
      executor->abort();
      EXPECT_EQ((*node)->lane().synchronize().code(), Code::aborted);
      EXPECT_FALSE(collectives.call(request, (*node)->lane()).ok()) << "a kernel has given up";
    });
  }
}

}  // namespace
}  // namespace sennit::coll
