// Runs protocols: on GPUs through CUDA, or in ordinary memory and threads. It is one small interface, so that
// everything above (path/, coll/) is one text on a machine with GPUs and on one without.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "device/block.h"
#include "device/lane.h"
#include "device/memory.h"

namespace sennit::device {

enum class Kind { cuda, host, trace };
std::string_view name(Kind kind);

struct DeviceInfo {
  std::string uuid;  ///< "GPU-…"; "HOST-3" for the host executor
  std::string pci;   ///< "0000:1b:00.0"; empty for the host executor
  std::string model;
  std::uint64_t memory_bytes = 0;
  int sm_count = 0;
  int copy_engines = 0;
};

class Executor {
 public:
  virtual ~Executor() = default;

  virtual Kind kind() const = 0;
  /// Returns the devices this process may use, in this process's order. Indices below refer to it.
  virtual const std::vector<DeviceInfo>& devices() const = 0;
  int find(std::string_view uuid) const;  ///< index of a device; -1 when this process cannot see it

  /// Uninitialised memory of a device, or host memory that every device reaches. Errors: out_of_memory says how much
  /// was asked and, for pinned memory, names the locked-memory limit.
  virtual Result<Memory> allocate(int device, std::size_t bytes) = 0;
  virtual Result<Memory> allocate_pinned(std::size_t bytes) = 0;
  /// Allocates memory of a kind that other processes map without peer access, where there is one; else as allocate().
  /// CUDA takes 0.3 s to switch peer access on (measured, H200), makes a context on the peer's device for it, and
  /// maps to peers whatever is allocated from then on. Before such memory is freed, or a peer's is unmapped, the
  /// caller waits for the programs that use it: CUDA does not.
  virtual Result<Memory> allocate_for_peers(int device, std::size_t bytes) { return allocate(device, bytes); }

  /// Allocates as cuMemCreate gives memory (PyTorch's expandable segments): the kind that travels as an open file.
  /// Errors: unsupported where the executor or the driver cannot; out_of_memory.
  virtual Result<Memory> allocate_exportable(int device, std::size_t bytes);
  /// Allocates memory that migrates between `device` and the host. Errors: unsupported where there is no GPU;
  /// out_of_memory.
  virtual Result<Memory> allocate_managed(int device, std::size_t bytes);

  /// Makes host memory of the caller reachable by devices and engines, until the value goes away.
  virtual Result<Memory> pin(void* data, std::size_t bytes) = 0;
  /// Prepares a thread of sennit's own, once, before it uses the executor: its calls then never disturb a graph
  /// capture of another thread. `device`: what it works with; else CUDA would begin with device 0, whose context
  /// takes hundreds of MB.
  virtual void prepare_thread(int /*device*/ = -1) {}
  /// Makes `device` the calling thread's current one, as programs do: other libraries look at that. Nothing where
  /// devices are no GPUs.
  virtual Status make_current(int /*device*/) { return {}; }
  /// Returns the calling thread's current device; -1: there is none.
  virtual int current() { return -1; }
  /// Lets this thread's calls be no part of a capture, for SetUp alone; returns how it was, to restore.
  virtual int relax_capture() { return 0; }
  virtual void restore_capture(int) {}

  /// Describes the memory that `pointer` points at. An address range may be mapped from several allocations side by
  /// side (PyTorch's expandable segments); the location then covers as many as `bytes` reach into. Errors:
  /// invalid_argument for null, freed and foreign pointers.
  virtual Result<Location> describe(const void* pointer, std::uint64_t bytes) = 0;
  Result<Location> describe(const void* pointer) { return describe(pointer, 1); }

  /// Returns the device that holds the byte at `pointer`, -1 for pinned host memory, and no value where describe()
  /// would say anything else. Takes a fraction of describe()'s time.
  virtual std::optional<int> holder(const void* pointer) = 0;

  /// True when `device` can read and write memory of `peer`; switches it on at first use. SENNIT_PEER=0 forbids it.
  virtual bool reaches(int device, int peer) = 0;
  /// Returns whether reaches() would be true, without switching peer access on: memory that travels as files
  /// (memory.h) needs no more.
  virtual bool could_reach(int device, int peer) { return reaches(device, peer); }

  /// Returns what another process needs to map the allocation around `pointer`, or all that `bytes` reach into.
  /// Errors: unsupported names the kind of allocation or switch that stands in the way.
  virtual Result<Shareable> share(const void* pointer, std::uint64_t bytes) = 0;
  Result<Shareable> share(const void* pointer) { return share(pointer, 1); }
  /// Maps it here for lanes of `device`: data() is where the exporter's pointer is seen from there. Lanes of another
  /// device need a mapping of their own: through one of a foreign context CUDA copies by way of the host, or, with
  /// peer access on, makes both directions of a pair take turns (measured on 4 × H200: 38 and 377 instead of 780
  /// GB/s).
  virtual Result<Memory> map(const Shareable& shareable, int device) = 0;

  virtual Result<std::unique_ptr<Lane>> lane(int device) = 0;
  /// Makes a lane over the caller's own stream (cudaStream_t; nullptr: the device's default lane), which must outlive
  /// it. Over cudaStreamPerThread it is the stream of whichever thread uses the lane.
  virtual Result<std::unique_ptr<Lane>> adopt(int device, void* stream) = 0;
  virtual Result<std::unique_ptr<Event>> event(int device, bool timing = false) = 0;

  /// Brings the program's code to the device, so that a launch never waits for what runs there. CUDA loads code at
  /// the first launch, after kernels that run now: one that waits for this very launch would wait for ever.
  virtual Status load(const Program&, int /*device*/) { return {}; }

  /// Returns the most blocks of one launch that run at the same time on `device`.
  virtual unsigned concurrent_blocks(int device) const = 0;

  /// Bounds the waits of launches from now on; an abort also ends those that wait now.
  virtual void set_timeout(std::chrono::nanoseconds timeout) = 0;
  virtual void abort() = 0;
  /// Returns what the first block that gave up wrote down; ok when no block did.
  virtual Status fault() const = 0;
};

/// While it lives, what this thread sets up (memory, streams, mappings) does not disturb a graph that it captures.
class SetUp {
 public:
  /// Does nothing for null: then nothing is captured.
  explicit SetUp(Executor* executor) : executor_(executor) {
    if (executor_ != nullptr) before_ = executor_->relax_capture();
  }
  ~SetUp() {
    if (executor_ != nullptr) executor_->restore_capture(before_);
  }
  SetUp(const SetUp&) = delete;
  SetUp& operator=(const SetUp&) = delete;

 private:
  Executor* const executor_;
  int before_ = 0;
};

/// Makes a device the calling thread's current one for a scope, for calls of other libraries; leaves the thread's
/// choice as it was.
class OnDevice {
 public:
  OnDevice(Executor& executor, int device) : executor_(executor), before_(executor.current()) {
    if (before_ != device) (void)executor.make_current(device);
    changed_ = before_ != device;
  }
  ~OnDevice() {
    if (changed_ && before_ >= 0) (void)executor_.make_current(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  Executor& executor_;
  const int before_;
  bool changed_ = false;
};

/// Opens the executor that SENNIT_EXECUTOR asks for; `auto`: cuda where a GPU answers, else host. Errors: unsupported
/// when cuda was asked for and no GPU answers, with the driver's reason.
Result<std::shared_ptr<Executor>> open_executor();
Result<std::shared_ptr<Executor>> open_host_executor();
/// `own_thread_of`: the caller is a thread of sennit's own that works with this device (see prepare_thread), and on
/// no other one memory is taken; -1: it is the program's, whose choice stands. Errors: those of cuda_module();
/// unsupported where there is no GPU or no driver.
Result<std::shared_ptr<Executor>> open_cuda_executor(int own_thread_of = -1);

}  // namespace sennit::device
