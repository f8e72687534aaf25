// Two ranks that are threads of this process, each with a host executor of its own, and partitioned messages between.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "comm/thread_exchange.h"
#include "machines.h"
#include "path/partitioned.h"
#include "path/partitioned_service.h"

// Other tests of this room have helpers of the same names.
namespace sennit::path::partitioned_messages {

/// One of two ranks.
struct Party {
  node::Node& node;
  PartitionedService& service;
  device::Memory memory;

  int rank() const { return node.rank(); }
  void meet() { ASSERT_TRUE(node.group().exchange().barrier().ok()); }
};

inline constexpr std::uint64_t kMost = 64 << 10;
inline constexpr int kTag = 7;

/// Runs work(party) on both.
inline void between(const std::function<void(Party&)>& work,
                    std::chrono::milliseconds limit = std::chrono::seconds(20)) {
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

inline void must(const Status& status) {
  ASSERT_TRUE(status.ok()) << status.text();
}

inline std::byte content(std::uint64_t at, unsigned start) {
  return std::byte((at * 7 + at / 251 + start * 31) & 0xFF);
}
inline void write(Party& party, std::uint64_t begin, std::uint64_t end, unsigned start) {
  for (std::uint64_t at = begin; at < end; ++at) party.memory.data()[at] = content(at, start);
}
inline bool holds(const Party& party, std::uint64_t begin, std::uint64_t end, unsigned start) {
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

inline std::shared_ptr<PartitionedSend> send_end(Party& party, PartitionCut cut, int tag = kTag) {
  auto made = party.service.send(party.memory.data(), cut, 1 - party.rank(), tag);
  EXPECT_TRUE(made.ok()) << made.status().text();
  return *made;
}
inline std::shared_ptr<PartitionedReceive> receive_end(Party& party, PartitionCut cut, int tag = kTag) {
  auto made = party.service.receive(party.memory.data(), cut, 1 - party.rank(), tag);
  EXPECT_TRUE(made.ok()) << made.status().text();
  return *made;
}
inline Status ready(PartitionedSend& send, std::uint32_t partition) {
  const PartitionRange one{partition, partition + 1};
  return send.ready({&one, 1}, nullptr);
}

}  // namespace sennit::path::partitioned_messages
