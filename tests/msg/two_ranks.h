// Two ranks with messages between them, for tests: threads, each with a host executor of its own; what a library
// would carry is handed over.
#pragma once

#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "comm/thread_exchange.h"
#include "msg/messages.h"

namespace sennit::msg {

constexpr std::uint64_t kMostBytes = 1 << 20;
constexpr std::array<std::uint64_t, 2> kJob{17, 4};
constexpr std::uint64_t kMembers = 77;
constexpr Envelope kTo{1, 5, 3, kMembers};

struct Party {
  std::unique_ptr<comm::Group> group;
  std::shared_ptr<device::Executor> executor;
  std::unique_ptr<stage::Gpus> gpus;
  std::unique_ptr<IpcCache> ipc_cache;
  LookAlikes look_alikes;
  std::unique_ptr<Messages> messages;
  device::Memory memory;

  void meet() { ASSERT_TRUE(group->exchange().barrier().ok()); }
};

/// Runs send(rank, rts) on rank 0 and receive(rank, rts) on rank 1, where `rts` is what rank 0 announced last.
template <class Send, class Receive>
inline void between_two(const Send& send, const Receive& receive, std::uint64_t bytes = kMostBytes,
                        std::chrono::microseconds linger = {}) {
  comm::Table table(2);
  Rts rts{};
  comm::on_ranks(2, [&](int number) {
    Party rank;
    auto group = comm::Group::create(std::make_unique<comm::ThreadExchange>(table, number), std::chrono::seconds(20));
    ASSERT_TRUE(group.ok()) << group.status().text();
    rank.group = std::move(*group);
    rank.executor = *device::open_host_executor();
    rank.gpus = std::make_unique<stage::Gpus>(rank.executor, linger);
    rank.ipc_cache = std::make_unique<IpcCache>(*rank.group, *rank.executor);
    rank.messages = std::make_unique<Messages>(*rank.group, kJob, *rank.gpus, *rank.ipc_cache, rank.look_alikes,
                                               [] { return device::open_host_executor(); });
    rank.memory = std::move(*rank.executor->allocate(number, bytes));
    std::memset(rank.memory.data(), 0, bytes);
    if (number == 0)
      send(rank, rts);
    else
      receive(rank, rts);
    rank.meet();
  });
}

inline void fill(Party& rank, int number) {
  for (std::uint64_t i = 0; i < rank.memory.bytes(); ++i)
    rank.memory.data()[i] = std::byte((i * 7 + i / 509 + number) & 0xFF);
}
inline bool holds(const Party& rank, int number, std::uint64_t bytes) {
  for (std::uint64_t i = 0; i < bytes; ++i)
    if (rank.memory.data()[i] != std::byte((i * 7 + i / 509 + number) & 0xFF)) return false;
  return true;
}

inline std::unique_ptr<Messages::SendTransfer> announce(Party& rank, Rts& rts, std::uint64_t bytes) {
  auto outgoing = rank.messages->announce(rank.memory.data(), bytes, kTo, true);
  EXPECT_NE(outgoing, nullptr);
  if (outgoing != nullptr) std::memcpy(&rts, outgoing->sent(), sizeof rts);
  return outgoing;
}
inline void until_taken(SendTransfer& outgoing) {
  for (;;) {
    const auto taken = outgoing.test();
    ASSERT_TRUE(taken.ok()) << taken.status().text();
    if (*taken) return;
    std::this_thread::yield();
  }
}
inline void until_done(Messages::RecvTransfer& incoming) {
  for (;;) {
    const auto done = incoming.test();
    ASSERT_TRUE(done.ok()) << done.status().text();
    if (*done) return;
    std::this_thread::yield();
  }
}

/// Messages of 20 000 bytes, one behind the other, each announced to rank 1 by a rts of its own.
constexpr std::uint64_t kShort = 20'000;
inline std::vector<std::unique_ptr<Messages::SendTransfer>> announce_many(Party& rank, std::vector<Rts>& rts_of) {
  std::vector<std::unique_ptr<Messages::SendTransfer>> all;
  for (std::size_t i = 0; i < rts_of.size(); ++i) {
    all.push_back(rank.messages->announce(rank.memory.data() + i * kShort, kShort, kTo, true));
    std::memcpy(&rts_of[i], all.back()->sent(), sizeof rts_of[i]);
  }
  return all;
}
inline std::vector<std::unique_ptr<Messages::RecvTransfer>> fetch_many(Party& rank, const std::vector<Rts>& rts_of) {
  std::vector<std::unique_ptr<Messages::RecvTransfer>> all;
  for (std::size_t i = 0; i < rts_of.size(); ++i)
    all.push_back(rank.messages->fetch(rts_of[i], false, rank.memory.data() + i * kShort, 1));
  return all;
}

}  // namespace sennit::msg
