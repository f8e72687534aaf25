// Partitioned messages between two ranks that are threads of this process, each with a host executor of its own.
#include "path/partitioned.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <thread>

#include "comm/thread_exchange.h"
#include "machines.h"
#include "path/partitioned_service.h"

// Other tests of this room have helpers of the same names.
namespace sennit::path::partitioned_messages {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// One of two ranks.
struct Party {
  node::Node& node;
  PartitionedService& service;
  device::Memory memory;

  int rank() const { return node.rank(); }
  void meet() { ASSERT_TRUE(node.group().exchange().barrier().ok()); }
};

constexpr std::uint64_t kMost = 64 << 10;
constexpr int kTag = 7;

/// Runs work(party) on both.
void between(const std::function<void(Party&)>& work, std::chrono::milliseconds limit = std::chrono::seconds(20)) {
  comm::Table table(2);
  comm::on_ranks(2, [&](int rank) {
    auto node = node::Node::create(std::make_unique<comm::ThreadExchange>(table, rank), *device::open_host_executor(),
                                   {rank, machine_of_the_host_executor(), limit});
    ASSERT_TRUE(node.ok()) << node.status().text();
    auto service = PartitionedService::create(**node);
    ASSERT_TRUE(service.ok()) << service.status().text();
    Party party{**node, **service, std::move(*(*node)->executor().allocate((*node)->device(), kMost))};
    std::memset(party.memory.data(), 0, kMost);
    party.meet();
    work(party);
    party.meet();
  });
}

void must(const Status& status) {
  ASSERT_TRUE(status.ok()) << status.text();
}

std::byte content(std::uint64_t at, unsigned start) {
  return std::byte((at * 7 + at / 251 + start * 31) & 0xFF);
}
void write(Party& party, std::uint64_t begin, std::uint64_t end, unsigned start) {
  for (std::uint64_t at = begin; at < end; ++at) party.memory.data()[at] = content(at, start);
}
bool holds(const Party& party, std::uint64_t begin, std::uint64_t end, unsigned start) {
  for (std::uint64_t at = begin; at < end; ++at)
    if (party.memory.data()[at] != content(at, start)) return false;
  return true;
}

template <class Condition>
void until(Condition holds_now) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(15);
  while (!holds_now()) {
    ASSERT_LT(std::chrono::steady_clock::now(), give_up);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

std::shared_ptr<PartitionedSend> send_end(Party& party, PartitionCut cut, int tag = kTag) {
  auto made = party.service.send(party.memory.data(), cut, 1 - party.rank(), tag);
  EXPECT_TRUE(made.ok()) << made.status().text();
  return *made;
}
std::shared_ptr<PartitionedReceive> receive_end(Party& party, PartitionCut cut, int tag = kTag) {
  auto made = party.service.receive(party.memory.data(), cut, 1 - party.rank(), tag);
  EXPECT_TRUE(made.ok()) << made.status().text();
  return *made;
}
Status ready(PartitionedSend& send, std::uint32_t partition) {
  const PartitionRange one{partition, partition + 1};
  return send.ready({&one, 1}, nullptr);
}

TEST(Partitioned, ArrivesForAllCutsOrdersAndStarts) {
  constexpr std::uint64_t kBytes = 180;
  between([](Party& party) {
    std::mt19937 random(3);  // the same on both
    for (const std::uint32_t sent : {1, 2, 5, 18, 180})
      for (const std::uint32_t received : {1, 3, 5, 18, 180}) {
        const PartitionCut mine{party.rank() == 0 ? sent : received, kBytes / (party.rank() == 0 ? sent : received)};
        std::vector<std::uint32_t> order(sent);
        std::iota(order.begin(), order.end(), 0u);
        if (party.rank() == 0) {
          const auto send = send_end(party, mine);
          for (unsigned start = 1; start <= 3; ++start) {
            must(send->start());
            std::shuffle(order.begin(), order.end(), random);
            for (const std::uint32_t partition : order) {
              write(party, partition * mine.bytes_each, (partition + 1) * mine.bytes_each, start);
              must(ready(*send, partition));
            }
            must(send->wait());
          }
          party.service.close(send);
          continue;
        }
        const auto receive = receive_end(party, mine);
        for (unsigned start = 1; start <= 3; ++start) {
          must(receive->start());
          for (std::uint32_t partition = 0; partition < received; ++partition) {
            until([&] { return *receive->arrived({partition, partition + 1}); });
            ASSERT_TRUE(holds(party, partition * mine.bytes_each, (partition + 1) * mine.bytes_each, start))
                << partition << " of " << text(mine) << ", sent in " << sent << ", start " << start;
          }
          must(receive->wait());
        }
        party.service.close(receive);
      }
  });
}

// Whatever comes first: the ends, the starts, the partitions.
TEST(Partitioned, NothingLandsBeforeTheReceiversStart) {
  const PartitionCut cut{4, 1000};
  between([&](Party& party) {
    for (const bool receiver_is_made : {false, true}) {
      std::shared_ptr<PartitionedReceive> receive;
      std::shared_ptr<PartitionedSend> send;
      if (party.rank() == 1 && receiver_is_made) receive = receive_end(party, cut);
      std::memset(party.memory.data(), 0, kMost);
      party.meet();
      if (party.rank() == 0) {
        write(party, 0, cut.bytes(), 9);
        send = send_end(party, cut);
        must(send->start());
        for (const std::uint32_t partition : {2, 0, 3}) must(ready(*send, partition));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      party.meet();
      if (party.rank() == 1) {
        if (!receiver_is_made) receive = receive_end(party, cut);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_EQ(std::count(party.memory.data(), party.memory.data() + cut.bytes(), std::byte{0}),
                  std::ptrdiff_t(cut.bytes()));
        must(receive->start());
        // The sender makes no call: its proxy thread moves them.
        until([&] { return *receive->arrived({2, 4}) && *receive->arrived({0, 1}); });
        EXPECT_TRUE(holds(party, 0, 1000, 9) && holds(party, 2000, 4000, 9));
        EXPECT_FALSE(*receive->arrived({1, 2}));
        EXPECT_FALSE(*receive->test());
      }
      party.meet();
      if (party.rank() == 0) {
        EXPECT_FALSE(*send->test());
        must(ready(*send, 1));
        must(send->wait());
        party.service.close(send);
      } else {
        must(receive->wait());
        EXPECT_TRUE(holds(party, 0, 4000, 9));
        party.service.close(receive);
      }
    }
  });
}

TEST(Partitioned, EndsMatchInTheOrderInWhichTheyAreMade) {
  const PartitionCut cut{2, 8};
  between([&](Party& party) {
    std::vector<std::shared_ptr<PartitionedEnd>> ends;
    std::byte* const data = party.memory.data();
    if (party.rank() == 0) {
      for (unsigned i = 0; i < 64; ++i) data[i] = std::byte(i);
      for (const auto& [place, tag] : {std::pair(0, 1), std::pair(1, 2), std::pair(2, 1)})
        ends.push_back(*party.service.send(data + 16 * place, cut, 1, tag));
    } else {
      for (const auto& [place, tag] : {std::pair(1, 2), std::pair(0, 1), std::pair(2, 1)})
        ends.push_back(*party.service.receive(data + 16 * place, cut, 0, tag));
    }
    for (const auto& end : ends) must(end->start());
    if (party.rank() == 0)
      for (const auto& end : ends)
        for (const std::uint32_t partition : {0, 1}) must(ready(static_cast<PartitionedSend&>(*end), partition));
    for (const auto& end : ends) must(end->wait());
    for (unsigned i = 0; i < 48; ++i) EXPECT_EQ(data[i], std::byte(i)) << i;
    for (const auto& end : ends) party.service.close(end);
  });
}

TEST(Partitioned, DifferentNumbersOfBytesAreToldToBothEnds) {
  between([](Party& party) {
    const PartitionCut cut = party.rank() == 0 ? PartitionCut{18, 5} : PartitionCut{5, 17};
    std::shared_ptr<PartitionedEnd> end;
    if (party.rank() == 0)
      end = send_end(party, cut);
    else
      end = receive_end(party, cut);
    (void)end->start();
    const Status status = end->wait();
    EXPECT_EQ(status.code(), Code::mismatch);
    EXPECT_THAT(status.text(), AllOf(HasSubstr("18 × 5 B (90 B)"), HasSubstr("5 × 17 B (85 B)"), HasSubstr("tag 7")));
    EXPECT_EQ(end->start().code(), Code::mismatch);
    EXPECT_EQ(end->test().status().code(), Code::mismatch);
    EXPECT_TRUE(end->may_close().ok());
    party.service.close(end);
  });
}

TEST(Partitioned, MisuseMovesNothingAndIsNamedAtTheEnd) {
  const PartitionCut cut{4, 100};
  between([&](Party& party) {
    if (party.rank() == 1) {
      const auto receive = receive_end(party, cut);
      for (unsigned start = 1; start <= 2; ++start) {
        must(receive->start());
        must(receive->wait());
        EXPECT_TRUE(holds(party, 0, 400, start));
        party.meet();
      }
      EXPECT_EQ(receive->arrived({2, 5}).status().code(), Code::invalid_argument);
      party.service.close(receive);
      return;
    }
    const auto send = send_end(party, cut);
    EXPECT_THAT(ready(*send, 0).text(), HasSubstr("before start 1"));
    write(party, 0, 400, 1);
    must(send->start());
    EXPECT_THAT(send->start().text(), HasSubstr("start 1 is not over"));
    EXPECT_THAT(ready(*send, 4).text(), AllOf(HasSubstr("partitions 4 to 4"), HasSubstr("Partitions are 0 to 3")));
    must(ready(*send, 2));
    const PartitionRange both[] = {{0, 2}, {2, 3}};
    EXPECT_THAT(send->ready(both, nullptr).text(), HasSubstr("partition 2 is ready twice in start 1"));
    const PartitionRange again[] = {{0, 2}, {1, 2}};
    EXPECT_THAT(send->ready(again, nullptr).text(), HasSubstr("partition 1 is ready twice"));
    EXPECT_EQ(send->may_close().code(), Code::invalid_argument);
    must(send->ready({both, 1}, nullptr));  // nothing of these calls was taken
    must(ready(*send, 3));
    EXPECT_THAT(send->wait().text(), HasSubstr("before start 1")) << "the first misuse is told";
    must(send->wait());
    party.meet();
    write(party, 0, 400, 2);
    must(send->start());
    const PartitionRange all{0, 4};
    must(send->ready({&all, 1}, nullptr));
    must(send->wait());
    party.meet();
    party.service.close(send);
  });
}

TEST(Partitioned, AWaitThatPassesItsLimitNamesWhatIsMissing) {
  const PartitionCut cut{20, 10};
  between(
      [&](Party& party) {
        if (party.rank() == 0) {
          const auto alone = send_end(party, cut, 99);
          must(alone->start());
          const PartitionRange all{0, 20};
          must(alone->ready({&all, 1}, nullptr));
          const Status status = alone->wait();
          EXPECT_EQ(status.code(), Code::timed_out);
          EXPECT_THAT(status.text(),
                      AllOf(HasSubstr("rank 1 has made no end that receives it"), HasSubstr("tag 99")));
          const auto send = send_end(party, cut);
          must(send->start());
          must(ready(*send, 3));
          EXPECT_THAT(send->wait().text(),
                      HasSubstr("partition 0, 1, 2, 4, 5, 6, 7, 8 and 11 more was not made ready"));
          const PartitionRange rest[] = {{0, 3}, {4, 20}};
          must(send->ready(rest, nullptr));
          EXPECT_THAT(send->wait().text(), HasSubstr("rank 1 has not started its end"));
          party.meet();
          must(send->wait());
          return;
        }
        const auto receive = receive_end(party, cut);
        party.meet();
        must(receive->start());
        must(receive->wait());
      },
      std::chrono::milliseconds(300));
}

TEST(Partitioned, AnEndWhosePeerIsFreedFails) {
  const PartitionCut cut{1, 10};
  between([&](Party& party) {
    const bool sends = party.rank() == 0;
    std::shared_ptr<PartitionedEnd> end;
    if (sends)
      end = send_end(party, cut);
    else
      end = receive_end(party, cut);
    must(end->start());
    if (sends) must(ready(static_cast<PartitionedSend&>(*end), 0));
    must(end->wait());
    if (sends) party.service.close(end);
    party.meet();
    if (sends) return;
    must(end->start());
    const Status status = end->wait();
    EXPECT_EQ(status.code(), Code::mismatch);
    EXPECT_THAT(status.text(), HasSubstr("rank 0 has freed its end"));
    EXPECT_TRUE(end->may_close().ok());
    party.service.close(end);
  });
}

TEST(Partitioned, MessagesWithoutBytesAreStillMessages) {
  between([&](Party& party) {
    if (party.rank() == 0) {
      const auto send = *party.service.send(nullptr, {3, 0}, 1, kTag);
      must(send->start());
      const PartitionRange all{0, 3};
      must(send->ready({&all, 1}, nullptr));
      must(send->wait());
    } else {
      const auto receive = *party.service.receive(nullptr, {2, 0}, 0, kTag);
      must(receive->start());
      until([&] { return *receive->arrived({1, 2}); });
      must(receive->wait());
    }
  });
}

// Streams: what is ready there, and what waits there.
TEST(Partitioned, LanesMakeReadyAndAwait) {
  const PartitionCut cut{3, 1000};
  between([&](Party& party) {
    device::Lane& lane = party.node.lane();
    auto source = std::move(*party.node.executor().allocate(party.rank(), cut.bytes()));
    const auto send = party.rank() == 0 ? send_end(party, cut) : nullptr;
    const auto receive = party.rank() == 1 ? receive_end(party, cut) : nullptr;
    for (unsigned start = 1; start <= 4; ++start) {
      const bool late = start % 2 == 0;  // the receiver starts once the sender has enqueued all
      if (party.rank() == 0) {
        must(send->start());
        if (!late) party.meet();
        for (std::uint64_t at = 0; at < cut.bytes(); ++at) source.data()[at] = content(at, start);
        for (const std::uint32_t partition : {1, 0, 2}) {
          // The lane itself writes the partition before it is ready.
          must(lane.copy(party.memory.data() + partition * 1000, source.data() + partition * 1000, 1000));
          const PartitionRange one{partition, partition + 1};
          must(send->ready({&one, 1}, &lane));
        }
        if (late) party.meet();
        must(send->wait());
        party.meet();
        continue;
      }
      if (late) party.meet();
      must(receive->start());
      must(receive->enqueue_await({0, 2}, lane));
      must(lane.copy(source.data(), party.memory.data(), 2000));
      must(receive->enqueue_await({2, 3}, lane));
      must(lane.copy(source.data() + 2000, party.memory.data() + 2000, 1000));
      if (!late) party.meet();
      must(lane.synchronize());
      for (std::uint64_t at = 0; at < cut.bytes(); ++at) ASSERT_EQ(source.data()[at], content(at, start)) << start;
      must(receive->wait());
      party.meet();
    }
  });
}

// A partition behind a lane that has not come to it holds up none that is ready.
TEST(Partitioned, APartitionOfASlowLaneHoldsUpNoOther) {
  const PartitionCut cut{2, 100};
  between([&](Party& party) {
    if (party.rank() == 0) {
      const auto send = send_end(party, cut);
      // Until the peer starts, this lane waits for partition 0 of a message that comes the other way.
      auto byte = std::move(*party.node.executor().allocate(0, 1));
      const auto gate = *party.service.receive(byte.data(), {1, 1}, 1, 8);
      must(gate->start());
      write(party, 0, 200, 5);
      must(send->start());
      must(gate->enqueue_await({0, 1}, party.node.lane()));
      const PartitionRange first{0, 1};
      must(send->ready({&first, 1}, &party.node.lane()));
      must(ready(*send, 1));
      must(send->wait());
      must(gate->wait());
      must(party.node.lane().synchronize());
      party.service.close(send);
      party.service.close(gate);
      return;
    }
    const auto receive = receive_end(party, cut);
    auto byte = std::move(*party.node.executor().allocate(1, 1));
    const auto gate = *party.service.send(byte.data(), {1, 1}, 0, 8);
    must(gate->start());
    must(receive->start());
    until([&] { return *receive->arrived({1, 2}); });
    EXPECT_FALSE(*receive->arrived({0, 1}));
    must(ready(*gate, 0));
    must(receive->wait());
    EXPECT_TRUE(holds(party, 0, 200, 5));
    must(gate->wait());
    party.service.close(gate);
    party.service.close(receive);
  });
}

TEST(Partitioned, ThreadsMakeReadyTestAndWaitAtOnce) {
  constexpr std::uint32_t kThreads = 4, kEach = 3;
  const PartitionCut sent{kThreads * kEach, 10}, received{kThreads, 10 * kEach};
#if defined(__SANITIZE_THREAD__)
  constexpr unsigned kStarts = 150;
#else
  constexpr unsigned kStarts = 2000;
#endif
  between([&](Party& party) {
    if (party.rank() == 0) {
      const auto send = send_end(party, sent);
      for (unsigned start = 1; start <= kStarts; ++start) {
        must(send->start());
        std::vector<std::jthread> threads;
        if (start % 50 != 1) {
          for (std::uint32_t partition = 0; partition < sent.partitions; ++partition) {
            write(party, partition * 10, partition * 10 + 10, start);
            must(ready(*send, partition));
          }
        } else {
          for (std::uint32_t thread = 0; thread < kThreads; ++thread)
            threads.emplace_back([&, thread] {
              for (std::uint32_t i = 0; i < kEach; ++i) {
                const std::uint32_t partition = thread + i * kThreads;
                write(party, partition * 10, partition * 10 + 10, start);
                must(ready(*send, partition));
                (void)send->test();
              }
            });
        }
        must(send->wait());
      }
      party.service.close(send);
      return;
    }
    const auto receive = receive_end(party, received);
    for (unsigned start = 1; start <= kStarts; ++start) {
      must(receive->start());
      if (start % 50 == 1) {
        std::vector<std::jthread> threads;
        for (std::uint32_t thread = 0; thread < kThreads; ++thread)
          threads.emplace_back([&, thread] {
            until([&] { return *receive->arrived({thread, thread + 1}); });
            const std::uint64_t begin = thread * received.bytes_each;
            EXPECT_TRUE(holds(party, begin, begin + received.bytes_each, start));
          });
      }
      must(receive->wait());
      ASSERT_TRUE(holds(party, 0, sent.bytes(), start)) << start;
    }
    party.service.close(receive);
  });
}

}  // namespace
}  // namespace sennit::path::partitioned_messages
