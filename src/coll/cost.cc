#include "coll/cost.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "coll/allreduce_copy_engines.h"

namespace sennit::coll {

namespace {

constexpr double kToMany = 0.4;  ///< handovers a chunk to several ranks waits for the slowest; fitted to direct

/// s bytes of a message on n ranks, as docs/tune/algorithms/ writes it.
struct Formula {
  double s, n;
  double peers() const { return n - 1; }
  double most() const { return s * (n - 1) / n; }  ///< all but the own slice
  double rounds() const { return std::ceil(std::log2(n)); }
  double folds() const {
    return std::has_single_bit(static_cast<unsigned>(n)) ? 0 : 2;
  }  ///< of pairs, before and after

  /// Counts the rounds of a k-nomial tree, and what the root sends in them.
  Work knomial(int k) const {
    const int ranks = static_cast<int>(n);
    int rounds = 0, children = 0;
    for (int distance = 1; distance < ranks; distance *= k, ++rounds)
      children += std::min(k - 1, (ranks - 1) / distance);
    return {.apart = true,
            .crossings = overlapped(rounds),
            .fan = static_cast<double>(children),
            .handovers = children > 2 ? kToMany : 0,
            .sent = children * s,
            .copied = s,
            .part = s,
            .layout = Layout::single};
  }

  static Work by_loads(Work work) {
    work.way = Way::pull;
    return work;
  }
  /// Describes work sent in one chunk a block, with meetings instead of counts.
  static Work at_once(Work work) {
    work.meets = true;
    work.handovers = work.crossings;
    return work;
  }
  Work one_shot_packets() const {
    return {.packets = true, .crossings = 1, .fan = peers(), .sent = peers() * s, .reduced = n * s, .part = s};
  }
  Work two_shot_packets() const {
    return {.packets = true,
            .crossings = 2,
            .fan = peers(),
            .sent = 2 * most(),
            .copied = most(),
            .reduced = s,
            .part = s / n};
  }
  Work two_shot() const {
    return {.crossings = 2,
            .fan = peers(),
            .handovers = 1,
            .sent = 2 * most(),
            .copied = most(),
            .reduced = s,
            .part = s / n};
  }
  Work two_shot_windows() const {
    return {.crossings = 2,
            .fan = peers(),
            .handovers = 1,
            .sent = 2 * most(),
            .reduced = s,
            .part = s / n,
            .way = Way::pull,
            .meets = true};
  }
  /// Every rank has `bytes` for each.
  Work reduce_direct(double bytes) const {
    return {.crossings = 1,
            .fan = peers(),
            .handovers = 1,
            .sent = peers() * bytes,
            .reduced = n * bytes,
            .part = bytes,
            .layout = Layout::direct};
  }
  Work one_shot(double pauses = 1.08) const {
    Work work = reduce_direct(s);
    work.pauses = pauses;
    return work;
  }
  /// The ranks meet, or do `first`, which makes them meet too.
  static Work then_by_engines(double bytes, Work first = {.crossings = 1, .meets = true}) {
    first.by_engines = bytes;
    return first;
  }
  /// One rank reduces for all and sends to all.
  Work by_a_root(double crossings) const {
    return {.crossings = crossings,
            .fan = peers(),
            .handovers = 1,
            .sent = 2 * peers() * s,
            .copied = s,
            .reduced = n * s,
            .part = s};
  }
  Work linear_reduce() const {
    return {
        .apart = true, .crossings = 1, .sent = peers() * s, .reduced = n * s, .part = s, .layout = Layout::direct};
  }

  Work allreduce(Algorithm algorithm) const {
    switch (algorithm) {
      case Algorithm::one_shot_packets: return one_shot_packets();
      case Algorithm::two_shot_packets: return two_shot_packets();
      case Algorithm::two_shot: return two_shot();
      case Algorithm::two_shot_loads: return by_loads(two_shot());
      case Algorithm::two_shot_windows: return two_shot_windows();
      case Algorithm::two_shot_whole: return at_once(two_shot());
      case Algorithm::copy_engines_windows: return then_by_engines(most(), reduce_direct(s / n));
      case Algorithm::one_shot: return one_shot();
      case Algorithm::one_shot_loads: return by_loads(one_shot());
      case Algorithm::one_shot_whole: return at_once(one_shot(1.19));
      case Algorithm::linear: return by_a_root(2);
      case Algorithm::recursive_doubling: {
        const double steps = rounds() + folds();
        return {.crossings = steps,
                .handovers = steps,
                .sent = s * steps,
                .pauses = 1.5,
                .copied = s * steps,
                .reduced = 2 * s * steps,
                .part = s};
      }
      case Algorithm::ring:
      case Algorithm::segmented_ring:
        return {.crossings = 2 * peers(),
                .handovers = peers(),  // of twice as many: while one chunk is handed over, another one is sent
                .sent = 2 * most(),
                .copied = most(),
                .reduced = 2 * most(),
                .part = s / n,
                .layout = Layout::single};
      case Algorithm::reduce_scatter_allgather:
        return {.crossings = 2 * rounds() + folds(),
                .handovers = 2 * rounds(),
                .sent = 2 * most() + folds() * s,
                .pauses = 1.5,
                .copied = 2 * most(),
                .reduced = 2 * most(),
                .part = s / n};
      case Algorithm::hierarchical: return by_a_root(4);
      case Algorithm::copy_engines:
        return {.engines = true,
                .apart = true,
                .crossings = 2,
                .fan = peers(),
                .sent = 2 * most(),
                .copied = most(),
                .reduced = s,
                .part = s / n};
      default: return {};
    }
  }
  Work reduce(Algorithm algorithm) const {
    switch (algorithm) {
      case Algorithm::packets: return one_shot_packets();
      case Algorithm::two_shot: return two_shot();
      case Algorithm::linear: return linear_reduce();
      case Algorithm::chain:
        return {.apart = true,
                .crossings = overlapped(peers()),
                .sent = s,
                .reduced = 2 * s,
                .part = s,
                .layout = Layout::single};
      default: return {};
    }
  }
  Work reduce_scatter(Algorithm algorithm) const {
    switch (algorithm) {
      case Algorithm::packets: return one_shot_packets();
      case Algorithm::direct_loads: return by_loads(reduce_scatter(Algorithm::direct));
      case Algorithm::direct: return reduce_direct(s);
      case Algorithm::direct_whole: return at_once(reduce_direct(s));
      case Algorithm::ring:
        return {.crossings = peers(),
                .handovers = peers(),
                .sent = peers() * s,
                .pauses = 1.04,
                .reduced = 2 * peers() * s,
                .part = s,
                .layout = Layout::single};
      default: return {};
    }
  }
  /// Every rank sends as much as it takes: allgather, all-to-all.
  Work everyone(Algorithm algorithm) const {
    switch (algorithm) {
      case Algorithm::packets:
        return {
            .packets = true, .crossings = 1, .fan = peers(), .sent = peers() * s, .copied = peers() * s, .part = s};
      case Algorithm::copy_engines_windows: return then_by_engines(peers() * s);
      case Algorithm::direct_whole: return at_once(everyone(Algorithm::direct));
      case Algorithm::direct_windows:
        // Nothing is taken, but few blocks do not fill the links: half is fitted.
        return {.crossings = 2,
                .fan = peers(),
                .sent = peers() * s,
                .copied = 0.5 * peers() * s,
                .part = s,
                .meets = true};
      case Algorithm::direct_loads: return by_loads(everyone(Algorithm::direct));
      case Algorithm::direct:
        return {.crossings = 1,
                .fan = peers(),
                .handovers = 1,
                .sent = peers() * s,
                .copied = peers() * s,
                .part = s,
                .layout = Layout::direct};
      case Algorithm::ring:
        return {.crossings = peers(),
                .handovers = peers(),
                .sent = peers() * s,
                .copied = peers() * s,
                .part = s,
                .layout = Layout::single};
      default: return {};
    }
  }
  /// The root sends or takes everything.
  Work rooted(Algorithm algorithm) const {
    switch (algorithm) {
      case Algorithm::packets:
        return {.packets = true,
                .apart = true,
                .crossings = 1,
                .fan = peers(),
                .sent = peers() * s,
                .copied = peers() * s,  // by the root of a gather; of others too little to count
                .part = s};
      case Algorithm::direct:
        return {.apart = true,
                .crossings = 1,
                .fan = peers(),
                .handovers = n > 2 ? kToMany : 0.1,  // fitted
                .sent = peers() * s,
                .copied = peers() * s,
                .part = s,
                .layout = Layout::direct};
      case Algorithm::chain:
        return {.apart = true,
                .crossings = overlapped(peers()),
                .sent = s,
                .copied = s,
                .part = s,
                .layout = Layout::single};
      case Algorithm::tree:
        return {.apart = true,
                .crossings = overlapped(std::floor(std::log2(n))),
                .fan = std::min(2.0, peers()),
                .sent = n > 2 ? 2 * s : s,
                .copied = s,
                .part = s,
                .layout = Layout::single};
      case Algorithm::knomial_2: return knomial(2);
      case Algorithm::knomial_4: return knomial(4);
      case Algorithm::knomial_8: return knomial(8);
      case Algorithm::scatter_allgather:
        return {.apart = true,
                .crossings = 2,
                .fan = peers(),
                .handovers = n > 2 ? 1.0 : 0.0,
                .sent = s,
                .copied = s,
                .part = s / peers(),
                .layout = Layout::direct};
      default: return {};
    }
  }
  static double overlapped(double crossings) { return 1 + 0.25 * (crossings - 1); }
};

}  // namespace

Work work_of(const CallKey& which, Algorithm algorithm, int ranks) {
  const Formula formula{static_cast<double>(which.bytes), static_cast<double>(ranks)};
  switch (which.operation) {
    case Operation::allreduce: return formula.allreduce(algorithm);
    case Operation::reduce: return formula.reduce(algorithm);
    case Operation::reduce_scatter: return formula.reduce_scatter(algorithm);
    case Operation::allgather:
    case Operation::all_to_all:
    case Operation::all_to_all_v: return formula.everyone(algorithm);
    case Operation::broadcast:
    case Operation::gather:
    case Operation::scatter: return formula.rooted(algorithm);
    case Operation::sendrecv:
      return {.crossings = 1,
              .handovers = 1,
              .sent = formula.s,
              .copied = formula.s,
              .part = formula.s,
              .layout = Layout::direct};
    case Operation::barrier: return {.crossings = algorithm == Algorithm::dissemination ? formula.rounds() : 1};
  }
  return {};
}

Cost cost_of(const CallKey& which, const Plan& plan, const Team& team, const Figures& figures) {
  const Work work = work_of(which, plan.algorithm, team.size);
  const auto time = [](double bytes, double gbps) { return bytes / gbps / 1e3; };
  const double blocks = plan.blocks, further = work.fan - 1;
  const double reduced = work.reduced * (which.arithmetic == Arithmetic::general ? figures.general_factor : 1);
  Cost cost;
  const bool can_be_early = work.packets || (work.meets && work.by_engines == 0);
  const bool early =
      can_be_early && plan.blocks * plan.threads <= static_cast<unsigned>(figures.sms) * device::kMostEarlyThreads;
  cost.launch_us = figures.launch_us + (early ? 0 : figures.late_us) + (plan.threads > 256 ? figures.wide_us : 0);
  double sending = 0, taking = 0;
  if (work.packets) {
    cost.crossing_us = work.crossings * (figures.packet_crossing_us + figures.packet_peer_us * further);
    sending = time(2 * work.sent, figures.packet_gbps) * (1 + figures.packet_contention * further);
    const double rounds = std::ceil(work.part / static_cast<double>(device::kPacketBytes) / (blocks * plan.threads));
    taking = rounds * figures.packet_round_us + time(reduced + work.copied, figures.packet_read_gbps);
  } else {
    const auto chunks = [&](double part, std::uint64_t chunk) {
      return std::ceil(part / static_cast<double>(std::max<std::uint64_t>(chunk, 1)));
    };
    if (work.engines) {
      cost.launch_us += figures.engine_us;
      cost.crossing_us = chunks(work.part, EngineShape::of(team).room) * work.fan * figures.engine_chunk_us;
      sending = time(work.sent, figures.engine_gbps);
    } else {
      const double crowd = std::max(0.0, blocks - figures.sms) * figures.crowd_us;
      const Shape shape = team.shape.of_launch(plan.blocks, team.size);
      const double more_chunks =
          work.meets ? 0 : std::max(0.0, chunks(work.part / blocks, shape.slot(work.layout)) - 1);
      const double crossing = work.meets ? figures.meeting_us : figures.crossing_us + figures.peer_us * further;
      const double handover = work.meets ? figures.meeting_handover_us : figures.handover_us;
      cost.crossing_us =
          work.crossings * (crossing + crowd) + work.handovers * handover + more_chunks * figures.chunk_us;
      // Blocks that begin together turn from peer to peer together; with every further chunk they keep step less.
      const bool pull = work.way == Way::pull;
      const double drift = work.layout == Layout::direct ? figures.direct_drift : figures.mesh_drift;
      const double contention = more_chunks == 0 ? figures.contention : drift;
      sending =
          time(work.sent, pull ? figures.pull_gbps : figures.link_gbps) * work.pauses * (1 + contention * further);
    }
    taking = time(reduced, figures.block_reduce_gbps * blocks) + time(work.copied, figures.block_copy_gbps * blocks);
  }
  cost.moving_us = work.apart ? std::max(sending, taking) : sending + taking;
  if (work.by_engines > 0) {
    cost.launch_us += figures.engine_call_us;
    cost.crossing_us += figures.engine_flow_us * (team.size - 1);
    cost.moving_us += time(work.by_engines, figures.engine_gbps);
  }
  return cost;
}

}  // namespace sennit::coll
