// The trace executor has virtual ranks in one process, whose lanes and blocks write down what they would do. Nothing
// waits and no byte moves, so that any machine can be asked what a protocol does on any other.
#pragma once

#include <memory>

#include "device/executor.h"
#include "device/trace/recorder.h"

namespace sennit::device {

/// One rank, with one device. Memory from allocate() is real, small and zeroed, for what programs count in;
/// reserve() is for buffers, and cannot be touched.
class TraceExecutor final : public Executor {
 public:
  /// `recorder` is shared by all ranks of the job, and used by one thread at a time.
  TraceExecutor(std::shared_ptr<Recorder> recorder, int rank);

  /// Reserves addresses without memory behind them, known as region `name` of this rank. Errors: out_of_memory.
  Result<Memory> reserve(std::string name, std::uint64_t bytes);

  Kind kind() const override { return Kind::trace; }
  const std::vector<DeviceInfo>& devices() const override { return devices_; }
  Result<Memory> allocate(int device, std::size_t bytes) override;
  Result<Memory> allocate_pinned(std::size_t bytes) override { return allocate(0, bytes); }
  Result<Memory> pin(void* data, std::size_t bytes) override { return Memory(data, bytes, nullptr); }
  Result<Location> describe(const void* pointer, std::uint64_t bytes) override;
  std::optional<int> holder(const void*) override { return 0; }
  bool reaches(int, int) override { return true; }
  Result<Shareable> share(const void* pointer, std::uint64_t bytes) override;
  Result<Memory> map(const Shareable& shareable, int device) override;
  Result<std::unique_ptr<Lane>> lane(int device) override;
  Result<std::unique_ptr<Lane>> adopt(int device, void* stream) override;
  Result<std::unique_ptr<Event>> event(int device, bool timing) override;
  unsigned concurrent_blocks(int) const override { return ~0u; }
  void set_timeout(std::chrono::nanoseconds) override {}
  void abort() override {}
  Status fault() const override { return {}; }

 private:
  const std::shared_ptr<Recorder> recorder_;
  const int rank_;
  std::vector<DeviceInfo> devices_;
};

}  // namespace sennit::device
