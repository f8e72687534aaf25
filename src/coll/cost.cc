#include "coll/cost.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "coll/allreduce_copy_engines.h"

namespace sennit::coll {

namespace {

/// s bytes of a message on n ranks, as docs/algorithms/ writes it.
struct Formula {
  double s, n;
  double peers() const { return n - 1; }
  double most() const { return s * (n - 1) / n; }  ///< all but the own slice
  double rounds() const { return std::ceil(std::log2(n)); }
  double folds() const { return std::has_single_bit(static_cast<unsigned>(n)) ? 0 : 2; }  ///< of pairs, before and after

  Work one_shot_packets() const {
    return {.packets = true, .crossings = 1, .sent = peers() * s, .reduced = n * s, .part = s};
  }
  Work two_shot_packets() const {
    return {.packets = true, .crossings = 2, .sent = 2 * most(), .copied = most(), .reduced = s, .part = s / n};
  }
  Work two_shot() const {
    return {.crossings = 2, .handovers = 1, .sent = 2 * most(), .copied = most(), .reduced = s, .part = s / n};
  }
  Work linear_reduce() const {
    return {.apart = true, .crossings = 1, .sent = peers() * s, .reduced = n * s, .part = s};
  }

  Work allreduce(Algorithm algorithm) const {
    switch (algorithm) {
      case Algorithm::one_shot_packets: return one_shot_packets();
      case Algorithm::two_shot_packets: return two_shot_packets();
      case Algorithm::two_shot: return two_shot();
      case Algorithm::linear:
        return {.crossings = 2, .handovers = 1, .sent = 2 * peers() * s, .copied = s, .reduced = n * s, .part = s};
      case Algorithm::recursive_doubling: {
        const double steps = rounds() + folds();
        return {.crossings = steps,
                .handovers = steps,
                .sent = 2 * s * steps,
                .copied = s * steps,
                .reduced = 2 * s * steps,
                .part = s};
      }
      case Algorithm::ring:
      case Algorithm::segmented_ring:
        return {.crossings = 2 * peers(),
                .handovers = peers(),
                .sent = 2 * most(),
                .copied = most(),
                .reduced = 2 * most(),
                .part = s / n};
      case Algorithm::reduce_scatter_allgather:
        return {.crossings = 2 * rounds() + folds(),
                .handovers = 2 * rounds(),
                .sent = 2 * most() + folds() * s,
                .copied = 2 * most(),
                .reduced = 2 * most(),
                .part = s / n};
      case Algorithm::hierarchical:
        return {.crossings = 4, .handovers = 1, .sent = 2 * peers() * s, .copied = s, .reduced = n * s, .part = s};
      case Algorithm::copy_engines:
        return {.engines = true,
                .apart = true,
                .crossings = 2,
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
      default: return {};
    }
  }
  Work reduce_scatter(Algorithm algorithm) const {
    switch (algorithm) {
      case Algorithm::packets: return one_shot_packets();
      case Algorithm::direct:
        return {.crossings = 1, .handovers = 1, .sent = peers() * s, .reduced = n * s, .part = s};
      case Algorithm::ring:
        return {.crossings = peers(),
                .handovers = peers(),
                .sent = peers() * s,
                .reduced = 2 * peers() * s,
                .part = s};
      default: return {};
    }
  }
  /// Every rank sends as much as it takes: allgather, all-to-all.
  Work everyone(Algorithm algorithm) const {
    switch (algorithm) {
      case Algorithm::packets:
        return {.packets = true, .crossings = 1, .sent = peers() * s, .copied = peers() * s, .part = s};
      case Algorithm::direct:
        return {.crossings = 1, .handovers = 1, .sent = peers() * s, .copied = peers() * s, .part = s};
      case Algorithm::ring:
        return {.crossings = peers(), .handovers = peers(), .sent = peers() * s, .copied = peers() * s, .part = s};
      default: return {};
    }
  }
  /// The root sends or takes everything.
  Work rooted(Algorithm algorithm) const {
    switch (algorithm) {
      case Algorithm::packets: return {.packets = true, .apart = true, .crossings = 1, .sent = peers() * s, .part = s};
      case Algorithm::direct: return {.apart = true, .crossings = 1, .sent = peers() * s, .copied = s, .part = s};
      case Algorithm::chain: return {.apart = true, .crossings = peers(), .sent = s, .copied = s, .part = s};
      case Algorithm::tree:
        return {.apart = true,
                .crossings = std::floor(std::log2(n)),
                .sent = n > 2 ? 2 * s : s,
                .copied = s,
                .part = s};
      case Algorithm::scatter_allgather:
        return {.apart = true, .crossings = 2, .sent = s, .copied = s, .part = s / peers()};
      default: return {};
    }
  }
};

}  // namespace

Work work_of(const Case& which, Algorithm algorithm, int ranks) {
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
    case Operation::barrier:
      return {.crossings = algorithm == Algorithm::dissemination ? formula.rounds() : 1, .handovers = 0};
  }
  return {};
}

double predict_us(const Case& which, const Plan& plan, const Team& team, const Figures& figures) {
  const Work work = work_of(which, plan.algorithm, team.size);
  const auto time = [](double bytes, double gbps) { return bytes / gbps / 1e3; };
  const double blocks = plan.blocks;
  const double reduced = work.reduced * (which.arithmetic == Arithmetic::general ? figures.general_factor : 1);
  double us = figures.launch_us + (plan.threads > 256 ? figures.wide_us : 0);
  double sending = 0, taking = 0;
  if (work.packets) {
    us += figures.packet_block_us * blocks + work.crossings * figures.packet_crossing_us;
    sending = time(2 * work.sent, figures.packet_gbps);
    taking = time(reduced + work.copied, figures.packet_read_gbps * blocks);
  } else {
    const auto chunks = [&](double part, std::uint64_t chunk) {
      return std::ceil(part / static_cast<double>(std::max<std::uint64_t>(chunk, 1)));
    };
    if (work.engines) {
      us += figures.engine_us + chunks(work.part, EngineShape::of(team).room) * figures.engine_chunk_us;
    } else {
      const double crowd = std::max(0.0, blocks - figures.sms) * figures.crowd_us;
      us += work.crossings * (figures.crossing_us + crowd) + work.handovers * figures.handover_us;
      if (work.reduced > 0) us += figures.reduction_us;
      if (work.part > 0) us += (chunks(work.part / blocks, team.shape.slot_bytes) - 1) * figures.chunk_us;
    }
    sending = time(work.sent, work.engines ? figures.engine_gbps : figures.link_gbps);
    taking = time(reduced, figures.block_reduce_gbps * blocks) + time(work.copied, figures.block_copy_gbps * blocks);
  }
  return us + (work.apart ? std::max(sending, taking) : sending + taking);
}

}  // namespace sennit::coll
