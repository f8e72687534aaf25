// Makes copies of several messages by one kernel, where that ends sooner than copy engines do: each copy of an engine
// takes some µs before the next one begins (batched_copy_kernel.h).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "device/executor.h"
#include "msg/batched_copy_kernel.h"

namespace sennit::msg {

/// Makes batched copies by one GPU. Thread-safe.
class BatchedCopy {
 public:
  using Copy = BatchedCopyKernel::Copy;
  using Clock = std::chrono::steady_clock;

  /// Longer ones are for engines, which do one sooner than a block does. A default.
  static constexpr std::uint64_t kLongest = 1 << 20;
  /// A launch may wait so long to begin before it is taken back: a default. An idle GPU takes 5 µs.
  static constexpr std::chrono::microseconds kPatience{100};
  /// So many others are left to engines after a launch that was taken back: a default.
  static constexpr int kAfterLate = 256;

  BatchedCopy(device::Executor& executor, int device, std::chrono::nanoseconds patience = kPatience)
      : executor_(executor), device_(device), patience_(patience) {}
  ~BatchedCopy();
  BatchedCopy(const BatchedCopy&) = delete;
  BatchedCopy& operator=(const BatchedCopy&) = delete;

  /// Says if one launch does these sooner than engines would: at most BatchedCopyKernel::kMost copies, each of at
  /// most kLongest bytes. Pure.
  static bool pays(std::span<const Copy> copies);

  /// Copies that were begun together. To be kept, and looked at, until the completion of all is signalled.
  class Launch {
   public:
    ~Launch();
    /// Takes back what a busy GPU has not begun, and has engines do it. Never blocks. Thread-safe. Errors: those of
    /// the device; what is in flight may then never be signalled.
    Status look();

   private:
    friend class BatchedCopy;
    explicit Launch(BatchedCopy& by) : by_(by) {}
    bool begun(std::size_t copy) const;
    bool all_begun() const;
    /// Gives engines what was taken back and no block does; the rest stays in left_.
    Status give_to_engines();

    BatchedCopy& by_;
    std::vector<Copy> copies_;
    device::Lane* lane_ = nullptr;
    BatchedCopyKernel::Sheet* sheet_ = nullptr;
    device::Word number_ = 0;
    Clock::time_point since_;
    std::mutex mutex_;
    bool seen_begun_ = false, taken_back_ = false;
    std::vector<std::size_t> left_;  // of one that was taken back: what its blocks have not decided
    Clock::time_point looked_;
  };

  /// Begins them. Null: not begun, they are for engines; so they are for a while after a GPU was busy. What the GPU
  /// did before must be complete. Errors: those of the device, with nothing begun.
  Result<std::shared_ptr<Launch>> begin(std::span<const Copy> copies);

  /// Launches that were taken back.
  std::uint64_t taken_back() const;

 private:
  static constexpr std::size_t kLanes = 4, kSheets = 32;  // defaults

  Status set_up();
  /// Takes a sheet whose launch is over; null: none.
  BatchedCopyKernel::Sheet* take_sheet();
  void give_back(BatchedCopyKernel::Sheet* sheet, bool over);

  device::Executor& executor_;
  const int device_;
  const std::chrono::nanoseconds patience_;
  mutable std::mutex mutex_;
  bool of_no_use_ = false;  // there is no memory or lane for it
  device::Memory memory_;
  std::array<std::unique_ptr<device::Lane>, kLanes> lanes_;
  std::unique_ptr<device::Lane> engine_;
  std::vector<BatchedCopyKernel::Sheet*> free_, doubtful_;  // doubtful: blocks may still have to look at them
  std::size_t next_lane_ = 0;
  device::Word number_ = 0;
  int skip_ = 0;
  std::uint64_t taken_back_ = 0;
};

}  // namespace sennit::msg
