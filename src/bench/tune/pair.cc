#include "bench/tune/pair.h"

#include <algorithm>
#include <bit>
#include <chrono>

#include <fmt/format.h>

#include "base/units.h"
#include "bench/measure/timing.h"
#include "bench/tune/search.h"
#include "comm/wait.h"
#include "path/split.h"

namespace sennit::bench::tune {

namespace {

using Clock = std::chrono::steady_clock;

/// Shares with `share` of the message off the direct path, in equal parts over `others`.
path::NamedShares spread(const std::vector<std::string>& others, double share) {
  path::NamedShares shares{{"direct", 1 - share}};
  for (const std::string& other : others) shares.emplace_back(other, share / double(others.size()));
  return shares;
}

/// Alternatives to the direct path, each a set of routes used together: every staged route alone, all relays
/// together.
std::vector<std::vector<std::string>> alternatives(node::Node& node, const std::string& from, const std::string& to,
                                                   std::uint64_t bytes) {
  std::vector<std::vector<std::string>> sets;
  std::vector<std::string> relays;
  const auto found = path::candidates(node.machine(), from, to, bytes);
  if (!found.ok()) return sets;
  for (const path::Candidate& candidate : *found) {
    if (candidate.route.direct()) continue;
    const bool by_gpu = candidate.route.stops[1].starts_with("gpu");
    if (by_gpu && candidate.route.stops.size() == 3) relays.push_back(candidate.route.name());
    if (!by_gpu) sets.push_back({candidate.route.name()});
  }
  // All relays together, or all but one where their common end is the limit.
  for (std::size_t used = relays.size(); used >= 1 && used + 1 >= relays.size(); --used)
    sets.emplace_back(relays.begin(), relays.begin() + static_cast<std::ptrdiff_t>(used));
  return sets;
}

/// Says what rank 1 is to do next; rank 0 writes it in its own slot of the control segment.
enum class Order : std::uint64_t { put = 1, stand_by = 2, finish = 3 };

class Pair {
 public:
  Pair(node::Node& node, path::OneSided& messages, path::Window& window, std::byte* source, int peer_device)
      : node_(node),
        messages_(messages),
        window_(window),
        source_(source),
        peer_device_(peer_device),
        order_(node.group().slots(0).order) {}

  /// Rank 0: one message with these shares, the peer sending as much back when both_ways.
  Status once(std::uint64_t bytes, bool both_ways, int set, double share, double& us) {
    order_.order.store(static_cast<std::uint64_t>(both_ways ? Order::put : Order::stand_by));
    order_.bytes.store(bytes);
    order_.set.store(static_cast<std::uint64_t>(set) + 1);  // 0: the single path
    order_.share.store(std::bit_cast<std::uint64_t>(share));
    use(bytes, set, share);
    if (auto status = barrier(); !status) return status;
    const auto start = Clock::now();
    if (auto status = messages_.put(window_, 1, 0, source_, bytes, node_.lane()); !status) return status;
    if (auto status = node_.synchronize(node_.lane()); !status) return status;
    if (auto status = both_ways ? barrier() : Status(); !status) return status;
    us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    return both_ways ? Status() : barrier();
  }

  void dismiss() {
    order_.order.store(static_cast<std::uint64_t>(Order::finish));
    (void)barrier();
  }

  /// Rank 1: does as it is told until dismissed.
  Status follow() {
    for (;;) {
      // The order is complete once rank 0 stands at the barrier with us; shares are prepared just before.
      if (auto status = wait_for_order(); !status) return status;
      const auto order = static_cast<Order>(order_.order.load());
      const std::uint64_t bytes = order_.bytes.load();
      use(bytes, static_cast<int>(order_.set.load()) - 1, std::bit_cast<double>(order_.share.load()));
      if (auto status = barrier(); !status) return status;
      if (order == Order::finish) return {};
      if (order == Order::put) {
        if (auto status = messages_.put(window_, 0, 0, source_, bytes, node_.lane()); !status) return status;
        if (auto status = node_.synchronize(node_.lane()); !status) return status;
      }
      if (auto status = barrier(); !status) return status;
    }
  }

  void prepare(std::vector<std::vector<std::string>> sets) { sets_ = std::move(sets); }

 private:
  std::atomic<std::uint64_t>& arrivals(int rank) { return node_.group().slots(rank).order.arrivals; }

  Status wait_for_order() {
    comm::Waiting what{"wait for the next measurement", meetings_, 1, 0, 0};
    return comm::wait_until([&] { return arrivals(0).load() > meetings_; }, &node_.group(), what);
  }

  Status barrier() {
    const int me = node_.rank();
    arrivals(me).store(++meetings_);
    comm::Waiting what{"meet for a measurement", meetings_, me, 1 - me, 0};
    return comm::wait_until([&] { return arrivals(1 - me).load() >= meetings_; }, &node_.group(), what);
  }

  void use(std::uint64_t bytes, int set, double share) {
    if (set == set_ && share == share_ && bytes == bytes_) return;
    set_ = set;
    share_ = share;
    bytes_ = bytes;
    messages_.transfer_engine().plans().force(set < 0 ? path::NamedShares{{"direct", 1.0}}
                                                      : spread(sets_[static_cast<std::size_t>(set)], share));
    messages_.transfer_engine().plans().prepare(peer_device_, node_.device(),
                                                bytes);  // planning is no part of what is measured
  }

  node::Node& node_;
  path::OneSided& messages_;
  path::Window& window_;
  std::byte* source_;
  const int peer_device_;
  comm::OrderSlot& order_;
  std::vector<std::vector<std::string>> sets_;
  std::uint64_t meetings_ = 0;
  int set_ = -2;
  double share_ = -1;
  std::uint64_t bytes_ = 0;
};

/// Measures one message with shares of a set (-1: the single path); µs.
using Once = std::function<Status(int set, double share, double& us)>;

/// Medians of the single path and of the split, taken in turns so that drift hits both alike.
struct Compared {
  measure::Summary single, split;
};

Result<Compared> compare(const Once& once, int set, double share, int repetitions) {
  std::vector<double> single, split;
  for (int i = -2; i < repetitions; ++i) {
    double a = 0, b = 0;
    if (auto status = once(-1, 0, a); !status) return status;
    // Twice: the first after a change of plan sets up what it needs.
    if (auto status = once(set, share, b); !status) return status;
    if (i < 0) continue;
    single.push_back(a);
    split.push_back(b);
  }
  return Compared{measure::summarise(std::move(single)), measure::summarise(std::move(split))};
}

Result<path::TunedPut> tune_size(const std::vector<std::vector<std::string>>& sets, std::uint64_t bytes, double seed,
                                 int repetitions, const Once& once) {
  path::TunedPut best;
  best.bytes = bytes;
  best.shares = {{"direct", 1.0}};
  double best_ratio = 1;
  for (std::size_t set = 0; set < sets.size(); ++set) {
    const int number = static_cast<int>(set);
    const double start = sets[set].size() > 1 ? double(sets[set].size()) / double(sets[set].size() + 1) : seed;
    const auto found = search(start, [&](double share) -> Result<double> {
      const auto compared = compare(once, number, share, repetitions);
      if (!compared) return compared.status();
      return compared->single.median_us / compared->split.median_us;
    });
    if (!found) return found.status();
    if (found->share == 0) continue;
    // Once more, with more repetitions: the search keeps the luckiest of its measurements.
    const auto sure = compare(once, number, found->share, 2 * repetitions);
    if (!sure) return sure.status();
    const double ratio = sure->single.median_us / sure->split.median_us;
    if (!pays(sure->single, sure->split) || ratio <= best_ratio) continue;
    best_ratio = ratio;
    best.shares = spread(sets[set], found->share);
    best.us = sure->split.median_us;
    best.spread_us = sure->split.spread_us;
    best.single_us = sure->single.median_us;
  }
  if (best.us != 0) return best;
  const auto alone = compare(once, -1, 0, repetitions);
  if (!alone) return alone.status();
  best.us = best.single_us = alone->single.median_us;
  best.spread_us = alone->single.spread_us;
  return best;
}

}  // namespace

Result<std::vector<path::TunedPut>> tune_pair(node::Node& node, const PairOptions& options,
                                              const std::function<void(const std::string&)>& report) {
  const std::uint64_t most = std::ranges::max(options.sizes);
  auto source = node.executor().allocate(node.device(), most);
  if (!source) return source.status();
  auto target = node.executor().allocate(node.device(), most);
  if (!target) return target.status();
  path::OneSided messages(node);
  auto window = messages.open(target->data(), most);
  if (!window) return window.status();
  const std::string mine = node.device_id();
  const auto there = (*window)->end(1 - node.rank(), 0, 0);
  if (!there) return there.status();
  const std::string other = messages.transfer_engine().plans().id_of(there->device);
  const std::string from = node.rank() == 0 ? mine : other, to = node.rank() == 0 ? other : mine;

  Pair pair(node, messages, **window, source->data(), there->device);
  // Routes by the same names in both directions: the sets are numbered alike on both ranks.
  auto sets = alternatives(node, from, to, most);
  pair.prepare(sets);
  std::vector<path::TunedPut> entries;
  Status status;
  if (node.rank() == 1) {
    status = pair.follow();
  } else {
    // The peer's service opens our ring while the first messages go direct.
    for (std::size_t set = 0; set < sets.size(); ++set)
      for (int i = 0; i < 10 && status.ok(); ++i) {
        double us = 0;
        status = pair.once(std::min<std::uint64_t>(most, 16 * MiB), true, static_cast<int>(set), 0.1, us);
      }
    for (const bool both_ways : {false, true}) {
      double seed = 0.05;
      for (const std::uint64_t bytes : options.sizes) {
        if (!status.ok() || (both_ways && !options.both_ways)) break;
        report(fmt::format("{} → {}{}, {}", from, to, both_ways ? " and back" : "", format_bytes(bytes)));
        auto entry = tune_size(sets, bytes, seed, options.repetitions, [&](int set, double share, double& us) {
          return pair.once(bytes, both_ways, set, share, us);
        });
        status = entry.status();
        if (!status.ok()) break;
        entry->from = from;
        entry->to = to;
        entry->both_ways = both_ways;
        if (entry->shares.size() > 1) seed = 1 - entry->shares.front().second;
        entries.push_back(std::move(*entry));
      }
    }
    pair.dismiss();
  }
  messages.transfer_engine().plans().force({});
  if (auto closed = messages.close(*window); status.ok()) status = closed;
  if (!status.ok()) return status;
  return entries;
}

Result<std::vector<path::TunedPut>> tune_host(node::Node& node, bool to_host, const PairOptions& options,
                                              const std::function<void(const std::string&)>& report) {
  const std::uint64_t most = std::ranges::max(options.sizes);
  auto on_device = node.executor().allocate(node.device(), most);
  if (!on_device) return on_device.status();
  auto pinned = node.executor().allocate_pinned(most);
  if (!pinned) return pinned.status();
  path::OneSided messages(node);
  if (auto status = messages.prepare(); !status) return status;
  const std::string gpu = node.device_id(), host = messages.transfer_engine().plans().id_of(path::kHost);
  const std::string from = to_host ? gpu : host, to = to_host ? host : gpu;
  const auto sets = alternatives(node, from, to, most);
  std::byte* const dst = to_host ? pinned->data() : on_device->data();
  const std::byte* const src = to_host ? on_device->data() : pinned->data();
  std::vector<path::TunedPut> entries;
  for (const std::uint64_t bytes : options.sizes) {
    report(fmt::format("{} → {}, {}", from, to, format_bytes(bytes)));
    auto entry = tune_size(sets, bytes, 0.5, options.repetitions, [&](int set, double share, double& us) -> Status {
      messages.transfer_engine().plans().force(set < 0 ? path::NamedShares{{"direct", 1.0}}
                                                       : spread(sets[static_cast<std::size_t>(set)], share));
      messages.transfer_engine().plans().prepare(to_host ? path::kHost : node.device(),
                                                 to_host ? node.device() : path::kHost, bytes);
      const auto start = Clock::now();
      if (auto status = messages.copy(dst, src, bytes, node.lane()); !status) return status;
      if (auto status = node.synchronize(node.lane()); !status) return status;
      us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
      return {};
    });
    if (!entry) return entry.status();
    entry->from = from;
    entry->to = to;
    entries.push_back(std::move(*entry));
  }
  messages.transfer_engine().plans().force({});
  return entries;
}

}  // namespace sennit::bench::tune
