// Moves one message between two memories of this process over every path that pays. The put, get and copy of the
// public API end here; pointers into other processes have been mapped before.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "device/executor.h"
#include "machine/machine.h"
#include "path/channel_set.h"
#include "path/feedback.h"
#include "path/finish_sampler.h"
#include "path/proxy_channel.h"
#include "path/split.h"

namespace sennit::path {

/// Says what a split depends on beside machine and size.
struct Circumstances {
  bool both_ways = false;
  bool engines_only = false;
};

class TransferEngine {
 public:
  struct Options {
    std::vector<std::pair<std::string, double>> forced;  ///< as SplitOptions::forced
    std::uint64_t staging_bytes = 28 * 1024 * 1024;      ///< limit: pinned host memory of one direction of a pair
    int proxy_device = 0;                                ///< whose kernels run this side of proxy channels
    bool adapt = true;                                   ///< shrink shares whose links others use too
    std::shared_ptr<const PutTable> tuned;               ///< measured splits; null: none
    bool single = false;                                 ///< one path a message: the machine was never tuned
    /// The host path to another process, made at first use (it may not be ready); null: there are no other processes.
    std::function<Result<ProxyChannel*>(int peer, Direction direction, RingShape shape)> proxy_channel;
  };

  /// `machine` decides the splits; its GPUs are matched with the executor's devices by UUID, then PCI address, and
  /// by order where the document has neither. Devices that the machine does not know get the direct path alone.
  static Result<std::unique_ptr<TransferEngine>> create(std::shared_ptr<device::Executor> executor,
                                                        machine::Machine machine, Options options);
  ~TransferEngine();

  /// Copies `bytes` in the order of `lane`: after everything enqueued there before, and before everything after.
  /// The ends may be on any devices; they must not overlap. `both_ways`: as much travels the other way. Returns when
  /// the work is enqueued. May be captured into a CUDA graph; the messages of a capture share staging of their
  /// own, which stays for the life of the transfer engine. Thread-safe. Errors: those of the executor; unsupported
  /// when the ends are out of each other's reach. A path that cannot be set up is left out, never an error: the
  /// direct path stays.
  Status copy(End dst, End src, std::uint64_t bytes, device::Lane& lane, bool both_ways = false);

  /// Returns the split that copy() uses now for such a message. Errors: not_found when the machine lacks a device.
  Result<Split> split_of(int dst_device, int src_device, std::uint64_t bytes, Circumstances circumstances = {});

  /// Returns false where this machine was never tuned and the user named neither it nor a split: the direct path
  /// carries everything.
  bool several_paths();

  /// Computes and keeps the plan of such a message, so that the first one need not.
  void prepare(int dst_device, int src_device, std::uint64_t bytes);

  /// Messages of fewer bytes never travel on several paths between these devices; at most 1 where that is not known.
  /// Cheap.
  std::uint64_t least_split(int dst_device, int src_device);

  /// Replaces the computed shares by route name for all messages from now on, to the byte: nothing is adapted. Empty
  /// returns to the computed ones.
  void force(std::vector<std::pair<std::string, double>> shares);

  const machine::Machine& machine() const { return machine_; }
  /// Returns the machine's name for a device of the executor (or host memory); empty when it has none.
  std::string id_of(int device) const;

 private:
  struct Plan;
  struct Pair;
  struct Started;

  TransferEngine(std::shared_ptr<device::Executor> executor, machine::Machine machine, Options options);
  std::shared_ptr<const Plan> plan(int dst_device, int src_device, std::uint64_t bytes, Circumstances circumstances);
  Result<Carrier> carrier(ChannelSet& set, const Candidate& candidate, const Plan& plan, std::size_t planned, End dst,
                          End src);
  /// Enables access at the first message between them; where it is denied, copies still arrive, by way of the host.
  void enable_access(int dst_device, int src_device);
  Status copy_by_proxy(End dst, End src, std::uint64_t bytes, device::Lane& lane);
  Pair& pair_of(int dst_device, int src_device);
  static Status copy_single(End dst, End src, std::uint64_t bytes, device::Lane& lane);
  /// `capture`: Lane::capture() of the lane.
  Status copy_split(const std::shared_ptr<const Plan>& plan, End dst, End src, device::Lane& lane, bool both_ways,
                    std::uint64_t capture);
  FinishSampler* sampler(Pair& pair, const ShareFeedback& feedback, const Split& split, device::Lane& lane);
  /// Enqueues the share, on an engine channel only its start. False: the channel is taken by another stream.
  static Result<bool> begin(const Started& message, const Share& share, Carrier& carrier);
  static void learn(Pair& pair);
  /// Checks that kernels of the proxy channel's device can read and write at `end`. Errors: unsupported says what to
  /// do.
  Status reached_by_kernels(const End& end);

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
  std::map<std::tuple<int, int, std::uint64_t, bool, bool>, std::shared_ptr<const Plan>> plans_;
  std::map<std::pair<int, int>, std::unique_ptr<Pair>> pairs_;
};

}  // namespace sennit::path
