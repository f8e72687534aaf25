// The primitives of device/block.h in a thread. Waiting yields the processor: more blocks than cores is normal.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

#include "base/other_processes.h"
#include "device/block.h"

namespace sennit::device {

class HostBlock {
 public:
  HostBlock(unsigned index, unsigned count, const Limits& limits) : index_(index), count_(count), limits_(limits) {}

  unsigned index() const { return index_; }
  unsigned count() const { return count_; }

  void copy(void* dst, const void* src, std::uint64_t bytes) {
    if (bytes != 0) std::memcpy(dst, src, bytes);
  }

  void signal(Word* word, Word value) {
    tell_others();
    std::atomic_ref(*word).store(value, std::memory_order_release);
  }

  bool await(Word* word, Word value, Word site) {
    using Clock = std::chrono::steady_clock;
    if (reached(std::atomic_ref(*word).load(std::memory_order_acquire), value)) return true;
    const auto deadline = Clock::now() + std::chrono::nanoseconds(limits_.timeout_ns);
    for (unsigned spin = 0;; ++spin) {
      const Word seen = std::atomic_ref(*word).load(std::memory_order_acquire);
      if (reached(seen, value)) return true;
      const bool aborted = limits_.abort != nullptr && load_flag(limits_.abort) != 0;
      if (aborted || Clock::now() > deadline) return give_up(aborted, site, value, seen);
      if (spin > 16) std::this_thread::yield();
    }
  }

  bool await_for(Word* word, Word value, std::uint64_t ns) {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + std::chrono::nanoseconds(ns);
    while (!reached(std::atomic_ref(*word).load(std::memory_order_acquire), value)) {
      if (Clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  void post(Word* word, Word value) { std::atomic_ref(*word).store(value, std::memory_order_relaxed); }

  bool meet(Word* mine, Word value, Word* theirs) {
    tell_others();
    std::atomic_ref(*mine).store(value, std::memory_order_seq_cst);
    return reached(std::atomic_ref(*theirs).load(std::memory_order_seq_cst), value);
  }

  bool equals(Word* word, Word value) { return std::atomic_ref(*word).load(std::memory_order_acquire) == value; }

  Word load(const Word* word) const { return *word; }
  void store(Word* word, Word value) { *word = value; }

 private:
  static Word load_flag(const Word* flag) {
    return std::atomic_ref(*const_cast<Word*>(flag)).load(std::memory_order_relaxed);
  }

  bool give_up(bool aborted, Word site, Word expected, Word seen) {
    Word free = 0;
    if (limits_.fault == nullptr) return false;
    // Claimed with 2, valid with 1: a reader never sees half a fault, and the first one is kept.
    std::atomic_ref raised(limits_.fault->raised);
    if (!raised.compare_exchange_strong(free, 2)) return false;
    limits_.fault->aborted = aborted ? 1 : 0;
    limits_.fault->block = index_;
    limits_.fault->site = site;
    limits_.fault->expected = expected;
    limits_.fault->seen = seen;
    limits_.fault->sequence = limits_.sequence;
    raised.store(1, std::memory_order_release);
    return false;
  }

  unsigned index_;
  unsigned count_;
  Limits limits_;
};

}  // namespace sennit::device
