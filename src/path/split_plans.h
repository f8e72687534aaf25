// Plans what a message between two devices of this process follows: its split over the paths, computed once for each
// size.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "device/executor.h"
#include "machine/machine.h"
#include "path/end.h"
#include "path/split.h"

namespace sennit::path {

/// Says what a split depends on beside machine and size.
struct Circumstances {
  bool both_ways = false;
  bool engines_only = false;
};

/// Holds what one message follows.
struct SplitPlan {
  Split split;                          ///< without shares: the direct path carries all
  std::vector<std::vector<int>> stops;  ///< of each share, as device indices
  std::vector<std::string> names;       ///< of each share's route
  bool forced = false;                  ///< shares as the user wants them: not to be corrected
};

/// Thread-safe.
class SplitPlans {
 public:
  struct Options {
    NamedShares forced;                     ///< as SplitOptions::forced
    std::shared_ptr<const PutTable> tuned;  ///< measured splits; null: none
    bool single = false;                    ///< one path a message: the machine was never tuned
  };

  /// `machine` decides the splits; its GPUs are matched with the executor's devices by UUID, then PCI address, and by
  /// order where the document has neither. Devices that the machine does not know get the direct path alone. Errors:
  /// those of node::device_ids() and check_forced().
  static Result<std::unique_ptr<SplitPlans>> create(std::shared_ptr<device::Executor> executor,
                                                    machine::Machine machine, Options options);

  /// Returns the plan of such a message. The first between two devices enables access between them; where that is
  /// denied, copies still arrive, by way of the host.
  std::shared_ptr<const SplitPlan> plan(int dst_device, int src_device, std::uint64_t bytes,
                                        Circumstances circumstances);
  /// Computes and keeps the plans of such a message, so that the first one need not.
  void prepare(int dst_device, int src_device, std::uint64_t bytes);

  /// Returns the split of such a message as it is computed now. Errors: not_found when the machine lacks a device.
  Result<Split> split_of(int dst_device, int src_device, std::uint64_t bytes, Circumstances circumstances = {});
  /// Returns false where this machine was never tuned and the user named neither it nor a split: the direct path
  /// carries everything.
  bool several_paths();
  /// Returns the bytes from which messages between these devices travel on several paths; at most 1 where that is not
  /// known. Cheap.
  std::uint64_t least_split(int dst_device, int src_device);

  /// Replaces the computed shares by route name for all messages from now on, to the byte: nothing is adapted. Empty
  /// returns to the computed ones.
  void force(NamedShares shares);

  const machine::Machine& machine() const { return machine_; }
  /// Returns the machine's name for a device of the executor (or host memory); empty when it has none.
  std::string id_of(int device) const;

 private:
  SplitPlans(std::shared_ptr<device::Executor> executor, machine::Machine machine, Options options);
  void enable_access(int dst_device, int src_device);

  const std::shared_ptr<device::Executor> executor_;
  const machine::Machine machine_;
  Options options_;
  std::vector<std::string> ids_;     // machine's name of each device of the executor
  std::vector<std::string> absent_;  // the machine's GPUs that the executor does not have
  std::string host_id_;
  static constexpr int kMostDevices = 64;  ///< limit of the table below; pairs beyond it are never known
  // [source + 1][destination + 1], host memory first; 0: not asked yet
  std::array<std::array<std::atomic<std::uint64_t>, kMostDevices + 1>, kMostDevices + 1> least_split_{};
  std::mutex mutex_;
  std::map<std::tuple<int, int, std::uint64_t, bool, bool>, std::shared_ptr<const SplitPlan>> plans_;
};

}  // namespace sennit::path
