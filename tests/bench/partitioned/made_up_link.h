// Two ranks that are threads of one process: what a trial does is tested without any MPI.
#pragma once

#include <array>
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "bench/partitioned/link.h"

namespace sennit::bench::partitioned {

/// What both ranks share. `spoils`: how a partition is changed on its way; null where it is not.
struct MadeUpWire {
  std::mutex mutex;
  std::condition_variable changed;
  std::array<std::deque<std::vector<std::byte>>, 2> said;  ///< by the rank that is to hear it
  std::barrier<> meeting{2};
  std::vector<std::byte> message;
  std::vector<std::atomic<int>> there = std::vector<std::atomic<int>>(64);  ///< partitions, by number
  void (*spoils)(std::byte* partition, int number) = nullptr;
};

class MadeUpEnd final : public End {
 public:
  MadeUpEnd(MadeUpWire& wire, const Message& message, bool sends) : wire_(wire), message_(message), sends_(sends) {}

  void begin() override {
    if (sends_) return;
    wire_.message.resize(message_.bytes);
    for (auto& each : wire_.there) each.store(0);
  }
  int ready(int partition) override {
    std::byte* const to = wire_.message.data() + static_cast<unsigned>(partition) * message_.each();
    std::memcpy(to, message_.data + static_cast<unsigned>(partition) * message_.each(), message_.each());
    if (wire_.spoils != nullptr) wire_.spoils(to, number_);
    wire_.there[std::size_t(partition)].store(1);
    return 0;
  }
  bool arrived(int partition) override { return wire_.there[std::size_t(partition)].load() != 0; }
  void finish() override {
    ++number_;
    if (!sends_) std::memcpy(message_.data, wire_.message.data(), message_.bytes);
  }

 private:
  MadeUpWire& wire_;
  const Message message_;
  const bool sends_;
  int number_ = 0;
};

class MadeUpLink final : public Link {
 public:
  MadeUpLink(MadeUpWire& wire, int rank) : wire_(wire) {
    rank_ = rank;
    thread_multiple_ = true;
  }

  using Link::hear;
  using Link::open;
  using Link::tell;

  Result<std::unique_ptr<End>> open(BackEnd, const Message& message, const Way& way) override {
    return std::unique_ptr<End>(std::make_unique<MadeUpEnd>(wire_, message, way.sends));
  }
  int start_all(End&, End&) override { return 0; }
  Status tell(std::span<const std::byte> bytes, int) override {
    const std::lock_guard lock(wire_.mutex);
    wire_.said[std::size_t(1 - rank_)].emplace_back(bytes.begin(), bytes.end());
    wire_.changed.notify_all();
    return {};
  }
  Status hear(std::span<std::byte> bytes, int) override {
    std::unique_lock lock(wire_.mutex);
    auto& waiting = wire_.said[std::size_t(rank_)];
    wire_.changed.wait(lock, [&] { return !waiting.empty(); });
    std::memcpy(bytes.data(), waiting.front().data(), bytes.size());
    waiting.pop_front();
    return {};
  }
  Status meet() override {
    wire_.meeting.arrive_and_wait();
    return {};
  }
  void finish() override {}

 private:
  bool has_partitioned() const override { return true; }

  MadeUpWire& wire_;
};

}  // namespace sennit::bench::partitioned
