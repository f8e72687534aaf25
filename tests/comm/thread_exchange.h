// An exchange between threads of one process: what a caller's own exchange looks like to a group.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/exchange.h"

namespace sennit::comm {

/// Where `size` threads meet. Its exchanges wait forever: tests that lose a rank must not gather afterwards.
class Table {
 public:
  explicit Table(int size) : size_(size), placed_(std::size_t(size)) {}

  std::vector<Bytes> gather(int rank, std::span<const std::byte> mine) {
    std::unique_lock lock(mutex_);
    const int round = round_;
    placed_[std::size_t(rank)].assign(mine.begin(), mine.end());
    if (++here_ == size_) {
      gathered_ = placed_;
      here_ = 0;
      ++round_;
      all_here_.notify_all();
    }
    all_here_.wait(lock, [&] { return round_ != round; });
    return gathered_;
  }
  int size() const { return size_; }

 private:
  const int size_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  std::vector<Bytes> placed_, gathered_;
  int here_ = 0, round_ = 0;
};

class ThreadExchange : public Exchange {
 public:
  using Change = std::function<void(std::vector<Bytes>&)>;
  ThreadExchange(Table& table, int rank, Change change = {})
      : table_(table), rank_(rank), change_(std::move(change)) {}
  int rank() const override { return rank_; }
  int size() const override { return table_.size(); }
  Result<std::vector<Bytes>> all_gather(std::span<const std::byte> mine) override {
    std::vector<Bytes> items = table_.gather(rank_, mine);
    if (change_) change_(items);
    return items;
  }

 private:
  Table& table_;
  int rank_;
  Change change_;
};

/// Runs work(rank) on as many threads.
inline void on_ranks(int size, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) threads.emplace_back(work, rank);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace sennit::comm
