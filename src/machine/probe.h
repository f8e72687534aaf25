// Reads a machine once in the life of a process, on request ahead of time.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include <sys/types.h>

#include "machine/assemble.h"

namespace sennit::machine {

/// Keeps what a look at the machine read: NVML and hwloc take tens of milliseconds or more, which every communicator
/// of a program would wait for, and its GPUs are the same as long as a process runs. From any thread; one that comes
/// while another looks waits for it.
class Probe {
 public:
  /// `gpus`: what begin() has read ahead; not null. `rest`: everything else, in the thread that asks.
  Probe(std::function<NvmlReadings()> gpus, std::function<Readings()> rest)
      : read_gpus_(std::move(gpus)), read_rest_(std::move(rest)) {}
  ~Probe() { end(); }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  /// Begins to read GPUs on a thread of its own, the first time; nothing where no thread is to be had.
  void begin();

  /// Waits for what was begun; in a child made by fork() it was not. Whoever asks still gets an answer.
  void end();

  /// Returns earlier readings, else reads the machine, and keeps the readings if there are GPUs. Never null.
  std::shared_ptr<const Readings> readings();

 private:
  void look_at_gpus();

  const std::function<NvmlReadings()> read_gpus_;
  const std::function<Readings()> read_rest_;
  std::once_flag begun_;
  pid_t owner_ = 0;
  std::unique_ptr<std::thread> thread_;
  std::mutex mutex_;  // guards what follows; held while reading
  std::optional<NvmlReadings> gpus_;
  std::shared_ptr<const Readings> found_;
};

}  // namespace sennit::machine
