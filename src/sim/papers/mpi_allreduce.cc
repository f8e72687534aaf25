#include "sim/papers/mpi_allreduce.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sennit::sim {

namespace {

using coll::Operation;
using Id = Graph::Id;

Rounds rounds_of(std::string_view algorithm, const Ranks& ranks, double bytes) {
  return message_algorithm(Operation::allreduce, algorithm)->rounds(ranks, bytes);
}

/// Open MPI's: each segment of a part goes round alone and is added up, then whole parts go round.
Rounds segmented_ring(const Ranks& ranks, double bytes, double segment) {
  const double part = bytes / ranks.all;
  const double phases = std::max(1.0, std::ceil(part / segment));
  Rounds first = rounds_of("ring", ranks, bytes / phases), second = rounds_of("ring", ranks, bytes);
  first.front().times *= static_cast<std::uint64_t>(phases);
  return {first.front(), second.back()};
}

Result<double> time_of(const Graph& graph, const Fabric& fabric) {
  const auto played = play(graph, fabric);
  if (!played) return played.status();
  return played->us;
}

}  // namespace

MpiAllreduce::MpiAllreduce(const Fabric& fabric, const MpiCosts& costs) : fabric_(fabric), costs_(costs) {
  const path::Network& network = fabric.network();
  int gpus = 0;
  for (int device = 0; device < network.devices(); ++device) gpus += network.is(device, machine::DeviceKind::gpu);
  ranks_ = {fabric.nodes() * gpus, gpus, 0};
  gpus_ = places_of(fabric, ranks_.all);
  for (const int gpu : gpus_) hosts_.push_back(fabric.host_of(gpu));
}

Result<double> MpiAllreduce::on_hosts(double bytes) const {
  Graph graph;
  std::vector<std::uint32_t> processes;
  for (std::size_t rank = 0; rank < gpus_.size(); ++rank) processes.push_back(graph.add_queue());
  const std::uint32_t copies = graph.name("copies by processors"), sums = graph.name("sums by processors");
  const auto work = [&](std::size_t rank, int from, int to, double n, double us, std::uint32_t what,
                        std::span<const Id> needs) {
    Graph::Task task;
    task.from = from;
    task.to = to;
    task.bytes = n;
    task.us = us;
    task.gbps = costs_.host_gbps;
    task.queue = processes[rank];
    task.method = machine::Method::sm;
    task.what = what;
    return graph.add(task, needs);
  };
  std::vector<Id> down;
  for (std::size_t rank = 0; rank < gpus_.size(); ++rank)
    down.push_back(work(rank, gpus_[rank], hosts_[rank], bytes, costs_.host_copy_us, copies, {}));
  std::vector<Id> latest = down;
  const auto send = [&](std::span<const Message> one, std::span<const Id> needs) -> Sent {
    const Message& each = one.front();
    const auto from = static_cast<std::size_t>(each.from), to = static_cast<std::size_t>(each.to);
    std::vector<Id> all(needs.begin(), needs.end());
    all.push_back(down[from]);
    all.push_back(down[to]);
    const bool near = fabric_.node_of(hosts_[from]) == fabric_.node_of(hosts_[to]);
    const double us = near ? costs_.host_message_us : costs_.network_us;
    const Id gone = work(to, hosts_[from], hosts_[to], each.bytes, us, copies, all);
    latest[to] = each.reduced ? work(to, hosts_[to], hosts_[to], each.bytes, 0, sums, std::span(&gone, 1)) : gone;
    return {gone, latest[to]};
  };
  unroll(graph, rounds_of("ring", ranks_, bytes), 1, gpus_.size(), send);
  for (std::size_t rank = 0; rank < gpus_.size(); ++rank)
    work(rank, hosts_[rank], gpus_[rank], bytes, costs_.host_copy_us, copies, std::span(&latest[rank], 1));
  return time_of(graph, fabric_);
}

Result<double> MpiAllreduce::messages(const Rounds& rounds, int chunks) const {
  const MessageCosts costs{costs_.message_us, costs_.network_us, costs_.kernel_us, costs_.kernel_gbps};
  return time_of(unroll(rounds, chunks, gpus_, costs, fabric_), fabric_);
}

Result<double> MpiAllreduce::by_kernels(double bytes) const {
  if (bytes < 10000) return messages(rounds_of("recursive_doubling", ranks_, bytes), 1);
  if (bytes <= ranks_.all * kMiB) return messages(rounds_of("ring", ranks_, bytes), 1);
  return messages(segmented_ring(ranks_, bytes, kMiB), 1);
}

Result<double> MpiAllreduce::tuned(double bytes) const {
  double best = kNever;
  for (const char* algorithm : {"recursive_doubling", "ring", "linear", "reduce_scatter_allgather"}) {
    const auto us = messages(rounds_of(algorithm, ranks_, bytes), 1);
    if (!us) return us.status();
    best = std::min(best, *us);
  }
  return best;
}

// A leader's process waits for its kernels, and meanwhile sees to no message: its exchanges and its kernels come one
// after the other.
Result<double> MpiAllreduce::hierarchical(double bytes, int chunks, double host_share, int streams) const {
  Graph graph;
  constexpr std::array<std::size_t, 2> kLeaders = {1, 2}, kOthers = {0, 3};
  const std::array<std::uint32_t, 2> progress = {graph.add_queue(), graph.add_queue()};
  const std::array<Engines, 4> engines = {engines_of(graph), engines_of(graph), engines_of(graph), engines_of(graph)};
  const std::uint32_t messages = graph.name("messages"), kernels = graph.name("kernels");
  const double chunk = bytes / chunks;
  // The links to the host carry the exchange, too: only what has no company takes several paths.
  const auto put = [&](std::size_t from, std::size_t to, Id need, bool alone) {
    MultiPathPut one{gpus_[from], gpus_[to], chunk, alone ? host_share : 0, streams, 1, false, costs_.put};
    one.costs.start_us = costs_.message_us - one.costs.call_us;
    return add_put(graph, fabric_, one, engines[from], std::span(&need, 1));
  };
  const auto add_up = [&](std::size_t side, Id need) {
    Graph::Task task;
    task.from = task.to = gpus_[kLeaders[side]];
    task.bytes = chunk;
    task.us = costs_.kernel_us;
    task.gbps = costs_.kernel_gbps;
    task.queue = progress[side];
    task.what = kernels;
    return graph.add(task, {need});
  };
  for (int i = 0; i < chunks; ++i) {
    std::array<Id, 2> own{};
    for (std::size_t side = 0; side < 2; ++side)
      own[side] = add_up(side, put(kOthers[side], kLeaders[side], Graph::kNone, i == 0));
    for (std::size_t side = 0; side < 2; ++side) {
      Graph::Task task;
      task.from = gpus_[kLeaders[1 - side]];
      task.to = gpus_[kLeaders[side]];
      task.bytes = chunk;
      task.us = costs_.message_us;
      task.queue = progress[side];
      task.method = machine::Method::sm;
      task.what = messages;
      const Id came = graph.add(task, {own[0], own[1]});
      put(kLeaders[side], kOthers[side], add_up(side, came), i == chunks - 1);
    }
  }
  return time_of(graph, fabric_);
}

Result<double> MpiAllreduce::flat(double bytes, int chunks) const {
  Round all_to_all;
  for (int from = 0; from < ranks_.all; ++from)
    for (int to = 0; to < ranks_.all; ++to)
      if (from != to) all_to_all.messages.push_back({from, to, bytes / chunks / ranks_.all, true});
  Round back = all_to_all;
  for (Message& each : back.messages) each.reduced = false;
  return messages({all_to_all, back}, chunks);
}

Result<double> MpiAllreduce::over_nodes(double bytes) const {
  const auto every_node = [&](std::initializer_list<std::pair<int, int>> pairs, double n, bool reduced) {
    Round round;
    for (int first = 0; first < ranks_.all; first += ranks_.a_node)
      for (const auto& [from, to] : pairs) round.messages.push_back({first + from, first + to, n, reduced});
    return round;
  };
  Rounds rounds{every_node({{0, 1}, {3, 2}}, bytes, true), every_node({{1, 2}, {2, 1}}, bytes / 2, true)};
  for (const Round& of_one : rounds_of("ring", {fabric_.nodes(), 1, 0}, bytes / 2)) {
    Round both{{}, of_one.times};
    for (const int leader : {1, 2})
      for (const Message& each : of_one.messages)
        both.messages.push_back(
            {each.from * ranks_.a_node + leader, each.to * ranks_.a_node + leader, each.bytes, each.reduced});
    rounds.push_back(std::move(both));
  }
  rounds.push_back(every_node({{1, 2}, {2, 1}}, bytes / 2, false));
  rounds.push_back(every_node({{1, 0}, {2, 3}}, bytes, false));
  return messages(rounds, 1);
}

// Its base and hop latencies: 8.4 and 3.4 µs for a ring over NVLink by the protocol for long messages (tuning.cc).
double MpiAllreduce::nccl_ring(double bytes, double ring_gbps, int ranks) {
  constexpr double kBase = 8.4, kHop = 3.4;
  const double steps = 2.0 * (ranks - 1);
  return kBase + steps * kHop + steps / ranks * bytes / ring_gbps / kPerGbps;
}

}  // namespace sennit::sim
