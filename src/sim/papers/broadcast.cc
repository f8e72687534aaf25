// Chu et al. 2018 (IEEE TPDS): broadcast by rings, k-nomial trees and the network's multicast, on RI2 and at CSCS.
// The paper's own equations stand in plan/broadcast_model.h; here their schemes run over the machines' links, and
// both are held against what was measured.
#include <cmath>

#include <fmt/format.h>

#include "base/units.h"
#include "plan/broadcast_model.h"
#include "sim/costs.h"
#include "sim/papers/broadcast.h"
#include "sim/papers/study.h"

namespace sennit::sim {

namespace {

using Id = Graph::Id;
using plan::BroadcastModel;

/// A tree of so many children sends to half of them twice as long as it takes a chunk: the paper does not say what k
/// MVAPICH2 took.
constexpr int kK = 4;
constexpr double kLongest = 128 << 20;
/// Of one source's messages within a scheme that sends by several at a time (section 8).
constexpr double kWithin = 0.2;

}  // namespace

Result<double> BroadcastSchemes::ring(double bytes) const {
  const Rounds rounds = message_algorithm(coll::Operation::broadcast, "chain")->rounds(ranks_, model_.chunk_bytes);
  return sent(rounds, bytes);
}

Result<double> BroadcastSchemes::tree(double bytes) const {
  const Rounds rounds = message_algorithm(coll::Operation::broadcast, "tree")->rounds(ranks_, model_.chunk_bytes);
  return sent(rounds, bytes);
}

Result<double> BroadcastSchemes::sent(const Rounds& rounds, double bytes) const {
  Graph graph;
  // A card reads a GPU's memory for one message at a time.
  std::vector<std::uint32_t> cards;
  for (int rank = 0; rank < ranks_.all; ++rank) cards.push_back(graph.add_queue());
  const auto send = [&](const Message& each, std::span<const Id> needs) -> Sent {
    Graph::Task task;
    task.from = gpus_[static_cast<std::size_t>(each.from)];
    task.to = gpus_[static_cast<std::size_t>(each.to)];
    task.bytes = each.bytes;
    task.us = model_.start_us;
    task.gbps = model_.gpu_gbps;
    task.queue = cards[static_cast<std::size_t>(each.from)];
    const Id id = graph.add(task, needs);
    return {id, id};
  };
  unroll(graph, rounds, static_cast<int>(std::ceil(bytes / model_.chunk_bytes)), gpus_.size(), send);
  return time_of(graph);
}

Result<double> BroadcastSchemes::multicast(double bytes, bool staged, int sources) const {
  Graph graph;
  const std::uint32_t packets = graph.name("packets of multicasts"), copies = graph.name("copies to the host");
  const int chunks = static_cast<int>(std::ceil(bytes / model_.chunk_bytes));
  const double chunk = bytes / chunks;
  for (int source = 0; source < sources; ++source) {
    const std::uint32_t card = graph.add_queue(), engine = graph.add_queue();
    std::vector<int> others;
    for (int rank = 0; rank < ranks_.all; ++rank)
      if (rank != source) others.push_back(gpus_[static_cast<std::size_t>(rank)]);
    for (int i = 0; i < chunks; ++i) {
      Id ready = Graph::kNone;
      const auto at = static_cast<std::size_t>(source);
      if (staged) {
        Graph::Task copy;
        copy.from = gpus_[at];
        copy.to = hosts_[at];
        copy.bytes = chunk;
        copy.gbps = model_.device_to_host_gbps;
        copy.queue = engine;
        copy.what = copies;
        copy.method = machine::Method::sm;
        ready = graph.add(copy);
      }
      Graph::Task cast;
      cast.from = staged ? hosts_[at] : gpus_[at];
      cast.bytes = chunk;
      cast.us = chunk / model_.mtu_bytes * (model_.start_us + model_.multicast_overhead_us(ranks_.all));
      cast.gbps = staged ? model_.host_gbps : model_.gpu_gbps;
      cast.queue = card;
      cast.what = packets;
      graph.add_multicast(cast, others, {ready});
    }
  }
  return time_of(graph);
}

Result<double> BroadcastSchemes::time_of(const Graph& graph) const {
  const auto played = play(graph, fabric_);
  if (!played) return played.status();
  return played->us;
}

BroadcastSchemes::BroadcastSchemes(const Fabric& fabric, const Ranks& ranks, const BroadcastModel& model)
    : fabric_(fabric), ranks_(ranks), model_(model) {
  for (int node = 0; node < ranks.all; ++node) {
    gpus_.push_back(fabric.place(node, fabric.network().index("gpu0")));
    hosts_.push_back(fabric.place(node, fabric.network().index("host0")));
  }
}

Result<Study> study_ri2(machine::Machine machine) {
  constexpr int kNodes = 16;
  Study study;
  study.machine = machine.name;
  study.papers = {"Chu et al. 2018 (broadcast by multicast)"};
  const BroadcastModel model;
  study.fitted = {
      {"a card reading a GPU's memory (B_G)", model.gpu_gbps, "GB/s", "88 % less than MCAST-GDR, figure 5c"},
      {"a of equation 10", model.multicast_a, "", "\"15 to 20\", section 8"}};
  const auto fabric = Fabric::create(machine, kNodes, Costs{}.memory_gbps);
  if (!fabric) return fabric.status();
  const BroadcastSchemes schemes(*fabric, {kNodes, 1, 0}, model);
  Status failed;
  const auto us = [&](const Result<double>& result) {
    if (!result) failed = result.status();
    return result ? *result : 1;
  };
  const auto less = [](double ours, double others) { return (1 - ours / others) * 100; };
  const auto add = [&](const char* figure, const std::string& what, double paper, double ours, const char* why = "",
                       bool fitted = false) {
    study.numbers.push_back({figure, what, "%", paper, ours, 0.25, false, why, fitted});
  };
  const double proposed = us(schemes.multicast(kLongest, true, 1)), ring = us(schemes.ring(kLongest)) * (1 - kWithin),
               tree = model.knomial_gdr_pipeline(kK, kNodes, kLongest) * (1 - kWithin),
               gdr = us(schemes.multicast(kLongest, false, 1));
  constexpr const char* kUpTo = "The paper's is the most of 4 KB to 128 MB; ours at 128 MB.";
  add("broadcast, figure 5c", "less time than K-nomial-GDR, GPU to 15 GPUs", 86, less(proposed, tree),
      "Equation 6, k = 4: the paper does not say what k was.");
  add("broadcast, figure 5c", "less time than Ring-GDR-Pipeline, GPU to 15 GPUs", 79, less(proposed, ring), kUpTo);
  add("broadcast, figure 5c", "less time than MCAST-GDR, GPU to 15 GPUs", 88, less(proposed, gdr), kUpTo, true);
  // Figure 8, by equation 9 and the overlaps of section 8.
  const double all = plan::several_sources(proposed, kNodes, 0.20), all_tree = plan::several_sources(tree, kNodes, 0),
               all_ring = plan::several_sources(us(schemes.ring(kLongest)), kNodes, 0.50);
  add("broadcast, figure 8", "less time than K-nomial-GDR, all to all", 87, less(all, all_tree), kUpTo);
  add("broadcast, figure 8", "less time than Ring-GDR-Pipeline, all to all", 78, less(all, all_ring), kUpTo);
  // Overlaps: several sources are in nobody's way but where they arrive.
  constexpr double kMiddle = 2 << 20;
  for (const auto& [n, percent] : {std::pair(2, 4), std::pair(4, 12), std::pair(8, 13), std::pair(16, 20)}) {
    const BroadcastSchemes few(*fabric, {n, 1, 0}, model);
    const double single = us(few.multicast(kMiddle, true, 1)), several = us(few.multicast(kMiddle, true, n));
    const double most = 100 * plan::overlap(single, several, n);
    study.claims.push_back(
        {"broadcast, section 8",
         fmt::format("{} sources overlap by {} %, of 2 MB: no more than the links allow", n, percent),
         percent <= most, fmt::format("they allow {:.0f} %", most)});
  }
  // The models against the schemes on the links: the paper finds its models within 10 % of experiments (figure 13).
  const auto model_error = [&](const char* scheme, double modelled, double simulated, const char* why = "") {
    study.numbers.push_back({"broadcast, figure 13",
                             fmt::format("simulated over modelled, {}, 2 MB, 16 nodes", scheme), "x", 1,
                             simulated / modelled, 0.10, false, why, false});
  };
  model_error("equation 2", model.ring_gdr_pipeline(kNodes, kMiddle), us(schemes.ring(kMiddle)));
  model_error("equation 7", model.multicast_gdr(kNodes, kMiddle), us(schemes.multicast(kMiddle, false, 1)));
  model_error("equation 8", model.multicast_staging_pipeline(kNodes, kMiddle),
              us(schemes.multicast(kMiddle, true, 1)), "The equation leaves out the receivers: 8 GB/s into a K80.");
  study.numbers.push_back({"broadcast, figure 10", "throughput of the proposed scheme", "GB/s", 6,
                           kLongest / proposed / kPerGbps, 0.25, false,
                           fmt::format("Equation 8, which leaves out the receivers' links, gives {:.1f}.",
                                       kLongest / model.multicast_staging_pipeline(kNodes, kLongest) / kPerGbps),
                           false});
  // Figures 7, 9 and 14.
  const auto at = [&](int n, double bytes) {
    const BroadcastSchemes few(*fabric, {n, 1, 0}, model);
    return std::pair(us(few.ring(bytes)), us(few.multicast(bytes, true, 1)));
  };
  const auto [ring2, cast2] = at(2, kMiddle);
  const auto [ring16, cast16] = at(16, kMiddle);
  study.claims.push_back({"broadcast, figure 7", "the ring's time grows with the nodes, the multicast's hardly",
                          ring16 > 1.5 * ring2 && cast16 < 1.5 * cast2,
                          fmt::format("2 to 16 nodes, 2 MB: ring {:.0f} to {:.0f} µs, multicast {:.0f} to {:.0f}",
                                      ring2, ring16, cast2, cast16)});
  const double all4 = us(BroadcastSchemes(*fabric, {4, 1, 0}, model).multicast(kMiddle, true, 4)),
               all16 = us(schemes.multicast(kMiddle, true, 16));
  study.claims.push_back({"broadcast, figure 9", "of all sources the time grows as their number",
                          all16 / all4 > 3 && all16 / all4 < 6,
                          fmt::format("4 to 16 nodes, 2 MB: {:.1f} times", all16 / all4)});
  const int many = 1024;
  const double far = model.multicast_staging_pipeline(many, kMiddle),
               far_ring = model.ring_gdr_pipeline(many, kMiddle),
               far_tree = model.knomial_gdr_pipeline(kK, many, kMiddle);
  study.claims.push_back(
      {"broadcast, figure 14", "on many nodes the multicast is the fastest by far", far < far_tree && far < far_ring,
       fmt::format("1024 nodes, 2 MB: multicast {:.0f} µs, k-nomial {:.0f}, ring {:.0f}", far, far_tree, far_ring)});
  study.left_out = {
      {"broadcast, figures 5a and 5b", "51, 82, 88 and 56 % from or to host memory",
       "The paper does not say which schemes then read or write a GPU's memory by GPUDirect."},
      {"broadcast, figure 5c", "40 % less than MCAST-GDR-Pipeline",
       "The two differ by copies out of buffers in between, whose rate is not given."},
  };
  if (!failed.ok()) return failed;
  return study;
}

Result<Study> study_cscs(machine::Machine machine) {
  constexpr int kNodes = 11, kGpus = 8;
  Study study;
  study.machine = machine.name;
  study.papers = {"Chu et al. 2018 (broadcast by multicast)"};
  BroadcastModel model;
  model.host_gbps = 6.3;  // the card's link in the machine's file
  study.fitted = {
      {"a card reading a GPU's memory (B_G)", model.gpu_gbps, "GB/s", "as on ri2, whose GPUs are the same"}};
  const auto fabric = Fabric::create(machine, kNodes, Costs{}.memory_gbps);
  if (!fabric) return fabric.status();
  // Leaders, one for each card, get the multicast; three GPUs beside each read its memory at the same time.
  const double chunk = model.chunk_bytes, bytes = kLongest;
  Graph graph;
  const std::uint32_t card = graph.add_queue(), engine = graph.add_queue();
  std::vector<int> leaders;
  std::vector<std::pair<int, int>> reads;
  const auto gpu = [&](int node, int index) {
    return fabric->place(node, fabric->network().index(fmt::format("gpu{}", index)));
  };
  // Of the node's 16 GPUs the experiments use 8: four of each socket.
  for (int node = 0; node < kNodes; ++node)
    for (const int leader : {0, 8}) {
      if (node > 0 || leader > 0) leaders.push_back(gpu(node, leader));
      for (int i = 1; i < 4; ++i) reads.emplace_back(gpu(node, leader), gpu(node, leader + i));
    }
  std::vector<int> far;
  for (const int leader : leaders)
    if (fabric->node_of(leader) != 0) far.push_back(leader);
  for (int i = 0; i < static_cast<int>(bytes / chunk); ++i) {
    Graph::Task copy;
    copy.from = gpu(0, 0);
    copy.to = fabric->place(0, fabric->network().index("host0"));
    copy.bytes = chunk;
    copy.gbps = model.device_to_host_gbps;
    copy.queue = engine;
    copy.method = machine::Method::sm;
    Graph::Task cast;
    cast.from = copy.to;
    cast.bytes = chunk;
    cast.us = chunk / model.mtu_bytes * model.multicast_overhead_us(kNodes * 2);
    cast.gbps = model.host_gbps;
    cast.queue = card;
    const Id came = graph.add_multicast(cast, far, {graph.add(copy)});
    for (const auto& [from, to] : reads) {
      Graph::Task read;
      read.from = from;
      read.to = to;
      read.bytes = chunk;
      read.method = machine::Method::sm;
      graph.add(read, {came});
    }
  }
  const auto played = play(graph, *fabric);
  if (!played) return played.status();
  const double ring = model.ring_gdr_pipeline(kNodes * kGpus, bytes) * (1 - kWithin);
  for (const auto& [figure, percent] :
       {std::pair("broadcast, figures 6a and 6b", 63.0), std::pair("broadcast, figure 6c", 64.0)})
    study.numbers.push_back({figure, "less time than Ring-GDR-Pipeline, 88 GPUs", "%", percent,
                             (1 - played->us / ring) * 100, 0.25, false,
                             "The ring by equation 2, with 20 % overlap as section 8 has it.", false});
  study.left_out = {
      {"broadcast, figures 6a to 6c", "44 and 48 % less than K-nomial-GDR",
       "What this library's tree does within a node, where it need not read through the card, is not said."},
      {"broadcast, figures 6a to 6c", "18 and 16 % less than through shared memory",
       "Rates of copies through pageable shared memory are not given."},
  };
  return study;
}

}  // namespace sennit::sim
