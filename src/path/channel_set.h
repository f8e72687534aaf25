// Holds the channels that the shares of one pair's messages travel on, made when first needed, within a budget of
// pinned memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "path/engine_channel.h"
#include "path/kernel_channel.h"
#include "path/split.h"

namespace sennit::path {

/// Pinned host memory that one pair of devices may hold, over all its channel sets.
struct Budget {
  std::uint64_t limit = 0;
  std::uint64_t used = 0;
};

/// Returns the bytes that one direction of a pair may hold, where the pair as a whole may hold `pair` bytes: both
/// directions stage their messages, and each keeps a proxy channel's ring for puts and one for gets.
std::uint64_t staging_one_way(std::uint64_t pair);

class ProxyChannel;

/// Says what carries one share; all null: the caller's own lane.
struct Carrier {
  EngineChannel* engine = nullptr;
  KernelChannel* kernel = nullptr;
  ProxyChannel* proxy_channel = nullptr;
  SharedEvent arrived;  ///< of the proxy channel's message
  bool lane() const { return engine == nullptr && kernel == nullptr && proxy_channel == nullptr; }
};

class ChannelSet {
 public:
  /// Longest chunks of channels driven by engines. The first is a limit that keeps a ring at 16 MiB: handing a chunk
  /// on takes a tenth of its time on a PCIe 5 link. The other, for graphs, which keep rings of their own, at 4 MiB.
  static constexpr std::uint64_t kMostChunk = 4 * 1024 * 1024, kMostCapturedChunk = 1024 * 1024;

  explicit ChannelSet(Budget& budget, std::uint64_t most_chunk = kMostChunk)
      : budget_(budget), most_chunk_(most_chunk) {}
  ~ChannelSet();
  ChannelSet(const ChannelSet&) = delete;
  ChannelSet& operator=(const ChannelSet&) = delete;

  /// Returns the channel for a route, kept by its `name` (candidate.route.name(), which takes a while to build). It
  /// is made as large as messages may ask for, or as the budget allows, and never made again: another stream's
  /// messages may stand in it that have not started. `stops`: the route's stops as device indices. Errors:
  /// out_of_memory when the budget or the machine has no room.
  Result<Carrier> carrier(device::Executor& executor, const Candidate& candidate, const std::string& name,
                          const std::vector<int>& stops);

 private:
  Result<EngineChannel*> engine(device::Executor& executor, const Candidate& candidate, const std::string& name,
                                const std::vector<int>& stops);
  Result<KernelChannel*> kernel(device::Executor& executor, const Candidate& candidate, const std::string& name,
                                const std::vector<int>& stops);
  Status reserve(std::uint64_t bytes);
  void give_back(std::uint64_t bytes);

  Budget& budget_;
  const std::uint64_t most_chunk_;
  std::uint64_t used_ = 0;
  std::map<std::string, std::unique_ptr<EngineChannel>> engines_;  // by route name
  std::map<std::string, std::unique_ptr<KernelChannel>> kernels_;
};

}  // namespace sennit::path
