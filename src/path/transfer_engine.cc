#include "path/transfer_engine.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/units.h"
#include "path/feedback.h"

namespace sennit::path {

namespace {

/// One message of a pair in so many is sampled, and one in fewer while shares are being corrected. Defaults: an event
/// a share costs a microsecond.
constexpr std::uint64_t kSampleEvery = 16;
constexpr std::uint64_t kSampleEveryWhileCorrecting = 4;
/// Another share must finish so much later than the direct one, as part of the whole, before it is taken for
/// disturbed. A default. The other way round nothing is corrected: tuned shares lean to the small side on purpose,
/// and a share that grows too large costs ten times what one loses that is too small.
constexpr double kLate = 0.10;
/// Most shares of a message that is sampled; a limit of the sampler's events.
constexpr std::size_t kMostSampled = 8;

/// Messages that go direct after paths could not be set up, before that is tried again. A default: what stood in the
/// way (memory, a peer that was not ready) may have passed.
constexpr unsigned kRefusals = 256;

/// Makes `lane` wait until what the carrier carries has arrived.
Status join(const Carrier& carrier, device::Lane& lane) {
  if (carrier.kernel != nullptr) return carrier.kernel->join(lane);
  if (carrier.proxy_channel != nullptr) return lane.wait(*carrier.arrived);
  return carrier.engine != nullptr ? carrier.engine->join(lane) : Status();
}

/// A message that could not be enqueued whole: the lane waits all the same for what is under way, since the caller
/// may free the memory once the lane is done.
Status failed(std::span<const Carrier> carriers, Status why, device::Lane& lane) {
  for (const Carrier& carrier : carriers) (void)join(carrier, lane);
  return why;
}

/// Enqueues what engines carry, a chunk of each share in turn, so that every link starts at once.
Status move_chunks(std::span<const Carrier> carriers) {
  std::vector<EngineChannel*> under_way;
  for (const Carrier& carrier : carriers)
    if (carrier.engine != nullptr) under_way.push_back(carrier.engine);
  while (!under_way.empty()) {
    for (EngineChannel* channel : under_way)
      if (auto status = channel->begin_chunk(); !status) return status;
    for (EngineChannel* channel : under_way)
      if (auto status = channel->end_chunk(); !status) return status;
    std::erase_if(under_way, [](const EngineChannel* channel) { return channel->finished(); });
  }
  return {};
}

}  // namespace

/// State of one ordered pair of devices. Messages of a pair are enqueued one at a time: the lanes at both ends of a
/// channel must see them in the same order.
struct TransferEngine::Pair {
  explicit Pair(std::uint64_t limit) : budget{limit} {}

  std::mutex mutex;
  Budget budget;
  ChannelSet kept{budget};
  EventPool forks;
  std::map<std::uint64_t, std::unique_ptr<ChannelSet>> captured;  // by capture: graphs may replay side by side
  std::uint64_t refused = ~std::uint64_t{0};                      // smallest message whose paths could not be set up
  unsigned refusals = 0;                                          // messages to go before they are tried again

  // The two hold what is learnt from messages whose finish times were sampled. Messages with as much travelling back
  // have one of their own: theirs is another plan and another normal state.
  ShareFeedback feedback_one_way, feedback_both_ways;
  std::uint64_t messages = 0;
  std::map<int, std::unique_ptr<FinishSampler>> samplers;  // by device of the caller's lane
  FinishSampler* sampled = nullptr;                        // the one under way
  std::shared_ptr<const SplitPlan> sampled_plan;
  Split sampled_split;
  std::size_t sampled_direct = 0;
  ShareFeedback* sampled_feedback = nullptr;
};

/// A message whose shares are being enqueued.
struct TransferEngine::Started {
  End dst, src;
  device::Lane& lane;
  SharedEvent fork;
  bool captured;
  std::vector<Carrier> carriers;  // of each share
};

TransferEngine::TransferEngine(std::shared_ptr<device::Executor> executor, std::unique_ptr<SplitPlans> plans,
                               Options options)
    : executor_(std::move(executor)), plans_(std::move(plans)), options_(std::move(options)) {}

TransferEngine::~TransferEngine() = default;

Result<std::unique_ptr<TransferEngine>> TransferEngine::create(std::shared_ptr<device::Executor> executor,
                                                               machine::Machine machine, Options options) {
  auto plans = SplitPlans::create(executor, std::move(machine), std::move(options.splits));
  if (!plans) return plans.status();
  return std::unique_ptr<TransferEngine>(
      new TransferEngine(std::move(executor), std::move(*plans), std::move(options)));
}

TransferEngine::Pair& TransferEngine::pair_of(int dst_device, int src_device) {
  const std::lock_guard lock(mutex_);
  auto& pair = pairs_[{dst_device, src_device}];
  if (pair == nullptr) pair = std::make_unique<Pair>(options_.staging_bytes);
  return *pair;
}

Status TransferEngine::copy_single(End dst, End src, std::uint64_t bytes, device::Lane& lane) {
  return lane.copy(dst.seen_from(lane.device()), src.seen_from(lane.device()), bytes);
}

Status TransferEngine::copy(End dst, End src, std::uint64_t bytes, device::Lane& lane, bool both_ways) {
  if (bytes == 0) return {};
  if (dst.data == nullptr || src.data == nullptr) return copy_by_proxy(dst, src, bytes, lane);
  // Splits are planned and measured for memory that engines and kernels reach by themselves.
  if (dst.pageable || src.pageable) return copy_single(dst, src, bytes, lane);
  const bool remote = dst.rank >= 0 || src.rank >= 0;
  const std::uint64_t capture = lane.capture();
  const auto followed = plans_->plan(dst.device, src.device, bytes, {both_ways, remote && capture != 0});
  const auto& shares = followed->split.shares;
  if (shares.empty() || (shares.size() == 1 && shares.front().candidate.route.direct()))
    return copy_single(dst, src, bytes, lane);
  return copy_split(followed, dst, src, lane, both_ways, capture);
}

Status TransferEngine::reached_by_kernels(const End& end) {
  if (executor_->kind() == device::Kind::host) return {};
  if (end.pageable)
    return Status(Code::unsupported, "this peer is reached by kernels alone, and they cannot read pageable memory",
                  {},
                  "Pin the memory (sennit_memory_allocate_pinned, cudaHostRegister), or enable sharing of GPU memory "
                  "between processes: see `sennit doctor`");
  if (end.device == kHost || end.device == options_.proxy_device ||
      executor_->reaches(options_.proxy_device, end.device))
    return {};
  return Status(Code::unsupported,
                fmt::format("device {} cannot reach memory of device {}", options_.proxy_device, end.device), {},
                "Give the communicator the device that holds the memory");
}

Status TransferEngine::copy_by_proxy(End dst, End src, std::uint64_t bytes, device::Lane& lane) {
  const Direction direction = dst.rank >= 0 ? Direction::put : Direction::get;
  const End& there = direction == Direction::put ? dst : src;
  const End& here = direction == Direction::put ? src : dst;
  if (there.rank < 0 || !options_.proxy_channel)
    return Status(Code::unsupported, "the destination cannot be reached from the source", {},
                  "`sennit doctor` tells which access is missing");
  if (auto status = reached_by_kernels(here); !status) return status;
  if (lane.capturing())
    return Status(Code::unsupported, "a message by way of the host alone cannot be captured into a graph", {},
                  "Enable sharing of GPU memory between the processes, or put outside of the capture");
  auto proxy_channel = options_.proxy_channel(there.rank, direction, RingShape{});
  if (!proxy_channel) return proxy_channel.status();
  const device::SetUp set_up(executor_.get());  // as in copy_split()
  ProxyChannel::Message message{there, here.at_owner, bytes, 0, ~std::uint64_t{0}, &lane, nullptr};
  {
    Pair& pair = pair_of(dst.device, src.device);
    const std::lock_guard one_at_a_time(pair.mutex);
    auto fork = pair.forks.next(*executor_, lane.device());
    if (!fork) return fork.status();
    message.fork = std::move(*fork);
  }
  if (auto status = lane.record(*message.fork); !status) return status;
  auto arrived = (*proxy_channel)->send(message);
  return arrived.ok() ? lane.wait(**arrived) : arrived.status();
}

Result<Carrier> TransferEngine::carrier(ChannelSet& set, const Candidate& candidate, const SplitPlan& plan,
                                        std::size_t planned, End dst, End src) {
  // Lanes of the other process's device need that memory mapped for it; by way of the host alone the peer itself can
  // move what they would, by kernels.
  const auto& stops = plan.stops[planned];
  const bool in_reach = candidate.route.direct() || (dst.at_owner != nullptr && src.at_owner != nullptr);
  const bool by_host = stops.size() == 3 && stops[1] == kHost;
  const bool by_kernels =
      !candidate.route.direct() && (candidate.route.method == machine::Method::sm || (by_host && !in_reach));
  if (!by_kernels || (dst.rank < 0 && src.rank < 0)) {
    if (!in_reach) return Status(Code::unsupported, "the peer's device is not visible to this process");
    return set.carrier(*executor_, candidate, plan.names[planned], stops);
  }
  if (!options_.proxy_channel) return Status(Code::unsupported, "no way to ask the peer");
  if (auto status = reached_by_kernels(dst.rank >= 0 ? src : dst); !status) return status;
  RingShape shape;
  shape.blocks = std::max(candidate.blocks > 0 ? static_cast<unsigned>(candidate.blocks) : 0, shape.blocks);
  auto proxy_channel = dst.rank >= 0 ? options_.proxy_channel(dst.rank, Direction::put, shape)
                                     : options_.proxy_channel(src.rank, Direction::get, shape);
  if (!proxy_channel) return proxy_channel.status();
  Carrier carrier;
  carrier.proxy_channel = *proxy_channel;
  return carrier;
}

void TransferEngine::learn(Pair& pair) {
  if (pair.sampled == nullptr) return;
  const auto times = pair.sampled->read();
  if (!times) return;
  pair.sampled = nullptr;
  const double last = std::ranges::max(*times);
  const bool late = last - (*times)[pair.sampled_direct] > kLate * last;
  if (late || pair.sampled_feedback->correcting())
    (void)pair.sampled_feedback->observe(pair.sampled_plan->split, pair.sampled_split, *times);
}

FinishSampler* TransferEngine::sampler(Pair& pair, const ShareFeedback& feedback, const Split& split,
                                       device::Lane& lane) {
  const std::uint64_t every = feedback.correcting() ? kSampleEveryWhileCorrecting : kSampleEvery;
  if (++pair.messages % every != 0 || pair.sampled != nullptr) return nullptr;
  if (split.shares.size() > kMostSampled) return nullptr;
  auto& kept = pair.samplers[lane.device()];
  if (kept == nullptr) {
    auto made = FinishSampler::create(*executor_, lane.device(), kMostSampled);
    if (!made) return nullptr;  // nothing is learnt; messages go on
    kept = std::move(*made);
  }
  return kept.get();
}

Status TransferEngine::copy_split(const std::shared_ptr<const SplitPlan>& plan, End dst, End src, device::Lane& lane,
                                  bool both_ways, std::uint64_t capture) {
  Pair& pair = pair_of(dst.device, src.device);
  const std::lock_guard one_at_a_time(pair.mutex);
  if (plan->split.bytes >= pair.refused) {
    if (--pair.refusals == 0) pair.refused = ~std::uint64_t{0};
    return copy_single(dst, src, plan->split.bytes, lane);
  }
  const bool captured = capture != 0;
  // Another thread may capture, too: what is asked and set up here is no part of that.
  const device::SetUp set_up(executor_.get());
  ChannelSet* set = &pair.kept;
  if (captured) {
    auto& own = pair.captured[capture];
    if (own == nullptr) own = std::make_unique<ChannelSet>(pair.budget, ChannelSet::kMostCapturedChunk);
    set = own.get();
  }
  if (!captured) learn(pair);
  const bool adapted = !captured && options_.adapt && !plan->forced;
  ShareFeedback& feedback = both_ways ? pair.feedback_both_ways : pair.feedback_one_way;
  const bool correcting = adapted && feedback.correcting();
  const Split corrected = correcting ? feedback.corrected(plan->split) : Split{};
  const Split& split = correcting ? corrected : plan->split;

  // 1. Everything starts where the caller's lane stands now. Recording costs the direct copy nothing; asking whether
  //    the lane is idle instead would, 1.5 µs (measured on H200).
  auto fork = pair.forks.next(*executor_, lane.device());
  if (!fork) return fork.status();
  if (auto status = lane.record(**fork); !status) return status;
  FinishSampler* sampled = adapted ? sampler(pair, feedback, split, lane) : nullptr;
  if (sampled != nullptr)
    if (auto status = sampled->start(lane, split.shares.size()); !status) return status;

  // 2. The caller's lane carries the direct part, the longest, before anything else costs time. It pushes or pulls,
  //    as fast one way; both ways pulling reaches 372 of 391 GB/s (H200), less than what a lane of the other device
  //    would cost short messages.
  const int driver = src.device != kHost ? src.device : dst.device;
  std::size_t direct = split.shares.size();
  if (lane.device() == driver || lane.device() == dst.device)
    for (std::size_t i = 0; i < split.shares.size() && direct == split.shares.size(); ++i)
      if (split.shares[i].candidate.route.direct()) direct = i;
  if (direct < split.shares.size()) {
    const Share& share = split.shares[direct];
    if (auto status = copy_single(dst + share.offset, src + share.offset, share.bytes, lane); !status) return status;
    if (sampled != nullptr)
      if (auto status = sampled->finished_on(lane, direct); !status) return status;
  }

  // 3. The others begin on their channels. A share whose channel cannot be had, or not without waiting, follows the
  //    direct part on the caller's lane.
  Started others{dst, src, lane, *fork, captured, {}};
  for (std::size_t i = 0, planned = 0; i < split.shares.size(); ++i, ++planned) {
    const Share& share = split.shares[i];
    // A corrected split has the plan's shares in the plan's order, less those that came to nothing.
    if (correcting)
      while (plan->names[planned] != share.candidate.route.name()) ++planned;
    Carrier& used = others.carriers.emplace_back();
    if (i == direct) continue;
    auto made = carrier(*set, share.candidate, *plan, planned, dst, src);
    auto began = made.ok() ? begin(others, share, *made) : Result<bool>(false);
    if (!began) return failed(others.carriers, began.status(), lane);
    if (*began) {
      used = *made;
      continue;
    }
    if (!made) {
      log(LogLevel::info, fmt::format("'{}' cannot be set up for {} from {} to {}, so they go direct: {}",
                                      share.candidate.route.name(), format_bytes(split.bytes),
                                      plans_->id_of(src.device), plans_->id_of(dst.device), made.status().text()));
      if (!captured && split.bytes < pair.refused) {
        pair.refused = split.bytes;
        pair.refusals = kRefusals;
      }
    }
    sampled = nullptr;  // its times would be those of another split
    auto status = copy_single(dst + share.offset, src + share.offset, share.bytes, lane);
    if (!status) return failed(others.carriers, std::move(status), lane);
  }
  if (auto status = move_chunks(others.carriers); !status) return failed(others.carriers, std::move(status), lane);

  // 4. The caller's lane goes on when every part has arrived; observers of a sampled message note when each did.
  for (std::size_t i = 0; i < split.shares.size(); ++i) {
    const Carrier& used = others.carriers[i];
    if (used.lane()) continue;
    Status status;
    if (sampled != nullptr) {
      device::Lane& observer = sampled->observer(i);
      status = join(used, observer);
      if (status.ok()) status = sampled->finished_on(observer, i);
    }
    if (status.ok()) status = join(used, lane);
    if (!status) return failed(others.carriers, std::move(status), lane);
  }
  if (sampled == nullptr || direct == split.shares.size()) return {};
  pair.sampled = sampled;
  pair.sampled_plan = plan;
  pair.sampled_split = split;
  pair.sampled_direct = direct;
  pair.sampled_feedback = &feedback;
  return {};
}

Result<bool> TransferEngine::begin(const Started& message, const Share& share, Carrier& carrier) {
  const End dst = message.dst + share.offset, src = message.src + share.offset;
  if (carrier.proxy_channel != nullptr) {
    const bool put = dst.rank >= 0;
    auto sent = carrier.proxy_channel->try_send({put ? dst : src, (put ? src : dst).at_owner, share.bytes,
                                                 share.candidate.blocks, share.candidate.chunk_bytes, &message.lane,
                                                 message.fork});
    if (!sent) return sent.status();
    carrier.arrived = std::move(*sent);
    return carrier.arrived != nullptr;
  }
  // A capture has channels of its own, and its events cannot be asked.
  StreamOwner& owner = carrier.kernel != nullptr ? carrier.kernel->stream_owner() : carrier.engine->stream_owner();
  auto open = message.captured ? Result<bool>(true) : owner.open_to(message.lane);
  if (!open.ok() || !*open) return open;
  // A fork that has been passed need not be waited for, which spares every lane a semaphore. Nothing is passed during
  // a capture.
  auto started = message.captured ? Result<bool>(false) : message.fork->done();
  if (!started) return started.status();
  device::Event* const fork = *started ? nullptr : message.fork.get();
  Status status;
  if (carrier.kernel != nullptr) {
    status = carrier.kernel->run(dst, src, share.bytes, share.candidate.blocks, share.candidate.chunk_bytes, fork);
  } else {
    const std::uint64_t chunk = share.candidate.route.direct() ? share.bytes : share.candidate.chunk_bytes;
    status = carrier.engine->start(dst, src, share.bytes, chunk, fork);
  }
  if (!status) return status;
  if (!message.captured) owner.take(message.lane, message.fork);
  return true;
}

}  // namespace sennit::path
