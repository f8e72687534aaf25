// Moves one message between two memories of this process over every path that pays. The put, get and copy of the
// public API end here; pointers into other processes have been mapped before.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "device/executor.h"
#include "machine/machine.h"
#include "path/channel_set.h"
#include "path/feedback.h"
#include "path/finish_sampler.h"
#include "path/proxy_channel.h"
#include "path/split_plans.h"

namespace sennit::path {

class TransferEngine {
 public:
  struct Options {
    SplitPlans::Options splits;
    std::uint64_t staging_bytes = 28 * 1024 * 1024;  ///< limit: pinned host memory of one direction of a pair
    int proxy_device = 0;                            ///< whose kernels run this side of proxy channels
    bool adapt = true;                               ///< shrink shares whose links others use too
    /// The host path to another process, made at first use (it may not be ready); null: there are no other processes.
    std::function<Result<ProxyChannel*>(int peer, Direction direction, RingShape shape)> proxy_channel;
  };

  /// Errors: those of SplitPlans::create().
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

  /// What messages follow.
  SplitPlans& plans() { return *plans_; }
  const SplitPlans& plans() const { return *plans_; }

 private:
  struct Pair;
  struct Started;

  TransferEngine(std::shared_ptr<device::Executor> executor, std::unique_ptr<SplitPlans> plans, Options options);
  Result<Carrier> carrier(ChannelSet& set, const Candidate& candidate, const SplitPlan& plan, std::size_t planned,
                          End dst, End src);
  Status copy_by_proxy(End dst, End src, std::uint64_t bytes, device::Lane& lane);
  Pair& pair_of(int dst_device, int src_device);
  static Status copy_single(End dst, End src, std::uint64_t bytes, device::Lane& lane);
  /// `capture`: Lane::capture() of the lane.
  Status copy_split(const std::shared_ptr<const SplitPlan>& plan, End dst, End src, device::Lane& lane,
                    bool both_ways, std::uint64_t capture);
  FinishSampler* sampler(Pair& pair, const ShareFeedback& feedback, const Split& split, device::Lane& lane);
  /// Enqueues the share, on an engine channel only its start. False: the channel is taken by another stream.
  static Result<bool> begin(const Started& message, const Share& share, Carrier& carrier);
  static void learn(Pair& pair);
  /// Checks that kernels of the proxy channel's device can read and write at `end`. Errors: unsupported says what to
  /// do.
  Status reached_by_kernels(const End& end);

  const std::shared_ptr<device::Executor> executor_;
  const std::unique_ptr<SplitPlans> plans_;
  const Options options_;
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::unique_ptr<Pair>> pairs_;
};

}  // namespace sennit::path
