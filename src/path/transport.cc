#include "path/transport.h"

#include <algorithm>
#include <chrono>

#include "base/units.h"

namespace sennit::path {

namespace {

/// A peer that put to us within this time is taken to go on doing so: its messages and ours share the links. A
/// default: some times the longest message that takes a noticeable part of a second's bandwidth, far below a training
/// step.
constexpr std::uint64_t kExchangeNs = 20'000'000;
/// Messages below never travel on several paths where a GPU takes part; a limit that spares them the looking.
constexpr std::uint64_t kLeastSplit = 1 * MiB;

}  // namespace

Status check_apart(const void* dst, const void* src, std::uint64_t bytes) {
  const auto to = reinterpret_cast<std::uintptr_t>(dst), from = reinterpret_cast<std::uintptr_t>(src);
  if (to >= from + bytes || from >= to + bytes) return {};
  return Status(Code::invalid_argument, "source and destination overlap", {}, "Copy by way of another buffer");
}

Result<std::unique_ptr<Transport>> Transport::create(std::shared_ptr<device::Executor> executor, comm::Group& group,
                                                     int device, PlanInputs inputs, bool given,
                                                     ProxyService::Resolve resolve) {
  auto options = transfer_options(inputs.tuned != nullptr, given);
  if (!options) return options.status();
  std::unique_ptr<Transport> made(new Transport(std::move(executor), group, device));
  const bool has_peers = group.node_ranks().size() > 1;
  options->splits.tuned = std::move(inputs.tuned);
  options->proxy_device = device;
  if (has_peers)
    options->proxy_channel = [self = made.get()](int peer, Direction direction, RingShape shape) {
      return self->proxy_channel(peer, direction, shape);
    };
  auto transfer_engine = TransferEngine::create(made->executor_, std::move(inputs.machine), std::move(*options));
  if (!transfer_engine) return transfer_engine.status();
  made->transfer_engine_ = std::move(*transfer_engine);
  if (!has_peers) return made;
  auto service = ProxyService::create(*made->executor_, group, device, std::move(resolve));
  if (!service) return service.status();
  made->service_ = std::move(*service);
  return made;
}

Transport::~Transport() {
  service_.reset();
  transfer_engine_.reset();
}

Result<ProxyChannel*> Transport::proxy_channel(int peer, Direction direction, RingShape shape) {
  const std::lock_guard lock(mutex_);
  auto& made = proxy_channels_[{peer, direction}];
  if (made == nullptr) {
    // One ring for all messages to the peer: as wide as any plan of this machine asks for.
    for (const auto& staged : transfer_engine_->plans().machine().staged)
      if (staged.method == machine::Method::sm && staged.blocks > 0)
        shape.blocks = std::max(shape.blocks, static_cast<unsigned>(staged.blocks));
    auto proxy_channel = ProxyChannel::create(*executor_, group_, device_, peer, direction, shape);
    if (!proxy_channel) return proxy_channel.status();
    made = std::move(*proxy_channel);
  }
  return made.get();
}

/// Notes that this rank sends to the peer now, and returns whether the peer has lately sent to this rank.
bool Transport::both_ways(int peer) {
  // Both write their own word and read the other's; a reading that is a little old only costs a split that is a
  // little off.
  const auto latest = [&](int mine, int other) -> std::atomic<std::uint64_t>& {
    return group_.slots(mine).host_paths[static_cast<std::size_t>(group_.node_index(other))].last_message_ns;
  };
  const auto now = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
  latest(group_.rank(), peer).store(now, std::memory_order_relaxed);
  const std::uint64_t theirs = latest(peer, group_.rank()).load(std::memory_order_relaxed);
  return theirs != 0 && now - std::min(now, theirs) < kExchangeNs;
}

Status Transport::move(End dst, End src, std::uint64_t bytes, device::Lane& lane) {
  if (dst.rank < 0 && src.rank < 0)
    if (auto status = check_apart(dst.data, src.data, bytes); !status) return status;
  const int peer = std::max(dst.rank, src.rank);
  const bool exchange = peer >= 0 && bytes >= kLeastSplit && both_ways(peer);
  return transfer_engine_->copy(dst, src, bytes, lane, exchange);
}

}  // namespace sennit::path
