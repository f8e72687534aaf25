// Partitioned messages arrive: whole, early, and in any order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>

#include "partitioned_parties.h"

namespace sennit::path::partitioned_messages {
namespace {

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
