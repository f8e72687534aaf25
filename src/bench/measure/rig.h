// Holds what a measurement needs: the memories of the machine that this process can use, a pair of buffers in each,
// and lanes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/executor.h"
#include "machine/machine.h"
#include "path/engine_channel.h"

namespace sennit::bench::measure {

/// One memory: a GPU's, or that of a host (pinned).
struct Stop {
  std::string id;            ///< the machine's name for it
  int device = path::kHost;  ///< index in the executor
  int numa = -1;
  device::Memory source, destination;  ///< Rig::room() bytes each

  bool is_host() const { return device == path::kHost; }
  path::End from(std::uint64_t offset = 0) const { return path::End::local(source.data() + offset, device); }
  path::End to(std::uint64_t offset = 0) const { return path::End::local(destination.data() + offset, device); }
};

/// Returns the device whose engines or blocks move the bytes of a copy between two ends: the source, or the
/// destination where the source is host memory (as in path::EngineChannel).
int driver_of(const Stop& from, const Stop& to);

class Rig {
 public:
  /// GPUs of the machine are matched with the executor's devices by UUID, then by PCI address; those that this
  /// process cannot see are left out. Buffers get `room` bytes each, or the largest half, quarter … that can be
  /// allocated everywhere. Errors: not_found when no GPU of the machine is visible; out_of_memory when not even
  /// kLeastRoom can be had.
  static Result<std::unique_ptr<Rig>> open(std::shared_ptr<device::Executor> executor,
                                           const machine::Machine& machine, std::uint64_t room);

  device::Executor& executor() { return *executor_; }
  const std::vector<Stop>& gpus() const { return gpus_; }
  const std::vector<Stop>& hosts() const { return hosts_; }
  /// Returns the host on the GPU's NUMA node, else the first one.
  const Stop& host_of(const Stop& gpu) const;
  std::uint64_t room() const { return room_; }
  /// GPUs of the machine that this process cannot see.
  const std::vector<std::string>& hidden() const { return hidden_; }

  /// Lane `number` of a device, made at the first call and kept: lanes of one device share engines in ways that
  /// depend on the order of their creation.
  Result<device::Lane*> lane(int device, int number = 0);

 private:
  Rig() = default;
  Status allocate(std::uint64_t room);

  std::shared_ptr<device::Executor> executor_;
  std::vector<Stop> gpus_, hosts_;
  std::vector<std::string> hidden_;
  std::uint64_t room_ = 0;
  std::map<std::pair<int, int>, std::unique_ptr<device::Lane>> lanes_;
};

/// Smallest buffers that are worth measuring with.
inline constexpr std::uint64_t kLeastRoom = 8ull << 20;

}  // namespace sennit::bench::measure
