// Makes copies of few bytes between the memory of a GPU and of the host, or from another GPU's, done when they
// return. Where they follow each other closely they take less than half the time that a copy engine and the wait for
// it take (copy_server.h).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "device/executor.h"
#include "stage/close_run.h"
#include "stage/copy_server.h"

namespace sennit::stage {

class SmallCopies {
 public:
  /// Longest copies. Defaults: a block takes as long for more bytes as a copy engine (H200).
  static constexpr std::uint64_t kMostToHost = CopyServer::kMost, kMostToGpu = CopyServer::kMost;
  /// Bounds copies from another GPU's memory: a default, from where on a kernel of several blocks is sooner there
  /// (H100, H200).
  static constexpr std::uint64_t kMostBetween = 64 << 10;
  /// A block stays so long for the next copy. A default: messages to and from a neighbour come sooner, and a program
  /// that waits for the whole GPU hardly notices.
  static constexpr std::chrono::microseconds kStay{30};

  /// `stay`: 0: no block is ever launched.
  SmallCopies(std::shared_ptr<device::Executor> executor, int device, std::chrono::nanoseconds stay = kStay)
      : executor_(std::move(executor)), device_(device), stay_(stay) {}
  ~SmallCopies();
  SmallCopies(const SmallCopies&) = delete;
  SmallCopies& operator=(const SmallCopies&) = delete;

  /// Copies to `host` from `gpu`, or the other way: memory of the device, and any of this process's own. Ordered with
  /// nothing: what the GPU did before must be complete. False: not done, the caller has to find another way; at once.
  /// Thread-safe. Errors: those of the device.
  Result<bool> to_host(void* host, const void* gpu, std::uint64_t bytes);
  Result<bool> to_gpu(void* gpu, const void* host, std::uint64_t bytes);

  /// Copies to `gpu` from where from() says, once a block is there for it: memory that the GPU reaches, or null,
  /// which leaves it to the caller. As to_gpu().
  template <class From>
  Result<bool> between(void* gpu, std::uint64_t bytes, const From& from) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || bytes == 0 || bytes > kMostBetween) return false;
    if (auto there = is_server_there(); !there || !*there) return there;
    const void* const found = from();
    return found != nullptr ? fetch(gpu, found, bytes) : Result<bool>(false);
  }

  struct Piece {
    void* gpu;
    const void* host;
    std::uint64_t bytes;
  };
  /// Returns how many of these pieces, from the first on, can be copied together; 0: not even the first. Pure.
  static std::size_t together(std::span<const Piece> pieces);
  /// Copies to the GPU as many, in the time of one. As to_gpu() of one.
  Result<bool> to_gpu(std::span<const Piece> pieces);

  /// Copies done so, of all that were asked for; several together are one.
  std::uint64_t done() const { return done_.load(std::memory_order_relaxed); }

 private:
  /// Returns whether a block is there to be asked; launches a block when it is time.
  Result<bool> is_server_there();
  Status launch();
  /// Asks, and waits until `done` says that it is done; false: the block has left without.
  template <class Done>
  Result<bool> ask(const CopyServer::Command& command, Done done);
  /// Asks for a copy that the block signals, and waits likewise.
  Result<bool> ask(const CopyServer::Command& command);
  Result<bool> fetch(void* to, const void* from, std::uint64_t bytes);
  template <class Ready>
  Status wait_for(Ready ready);
  void is_gone();

  const std::shared_ptr<device::Executor> executor_;
  const int device_;
  const std::chrono::nanoseconds stay_;
  std::mutex mutex_;
  bool of_no_use_ = false;  // there is no memory or lane for it, or it failed
  device::Memory memory_;
  CopyServer::Mailbox mailbox_;
  std::unique_ptr<device::Lane> lane_;
  CloseRun run_;
  bool launched_ = false, late_ = false;
  device::Word asked_ = 0, first_ = 0;  // numbers of the latest copy, and of the latest block's first
  std::atomic<std::uint64_t> done_{0};
};

}  // namespace sennit::stage
