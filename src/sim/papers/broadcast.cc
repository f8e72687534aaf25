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

/// Of k-nomial trees: what MVAPICH2 took is not said.
constexpr int kK = 4;
constexpr double kLongest = 128 << 20;
/// Of one source's messages within a scheme that sends by several at a time (section 8).
constexpr double kWithin = 0.2;

}  // namespace

BroadcastSchemes::BroadcastSchemes(const Fabric& fabric, const Ranks& ranks, const BroadcastModel& model)
    : fabric_(fabric), ranks_(ranks), model_(model) {
  for (int node = 0; node < ranks.all; ++node) gpus_.push_back(fabric.place(node, fabric.network().index("gpu0")));
  ranks_.network = ranks_.hosts = true;
}

Result<double> BroadcastSchemes::ring(double bytes) const {
  return us("chain", bytes, 1);
}

Result<double> BroadcastSchemes::multicast(double bytes, bool staged, int sources) const {
  return us(staged ? "multicast_streaming" : "multicast", bytes, sources);
}

Result<double> BroadcastSchemes::us(std::string_view algorithm, double bytes, int sources) const {
  const int chunks = static_cast<int>(std::ceil(bytes / model_.chunk_bytes));
  std::vector<Rounds> jobs;
  for (Ranks ranks = ranks_; ranks.root < sources; ++ranks.root)
    jobs.push_back(message_algorithm(coll::Operation::broadcast, algorithm)->rounds(ranks, bytes / chunks));
  MessageCosts costs;
  costs.message_us = 0;
  costs.network_us = model_.start_us;
  costs.gpu_read_gbps = model_.gpu_gbps;
  costs.to_host_gbps = model_.device_to_host_gbps;
  costs.mtu_bytes = model_.mtu_bytes;
  costs.multicast_a = model_.multicast_a;
  const auto played = play(unroll(jobs, chunks, gpus_, costs, fabric_), fabric_);
  if (!played) return played.status();
  return played->us;
}

Result<Study> study_ri2(machine::Machine machine) {
  constexpr int kNodes = 16;
  Study study;
  study.machine = machine.name;
  study.papers = {"Chu et al. 2018 (broadcast by multicast)"};
  const BroadcastModel model;
  study.fitted = {
      {"a card reading a GPU's memory (B_G)", model.gpu_gbps, "GB/s", "79 % less than the ring, figure 5c"},
      {"a GPU to its host (B_H2D), and back", 8, "GB/s", "\"8 Gbps\" in section 8, read as GB/s"},
      {"a of equation 10", model.multicast_a, "", "\"15 to 20\", section 8"}};
  const auto fabric = Fabric::create(machine, kNodes, Costs{}.memory_gbps);
  if (!fabric) return fabric.status();
  const BroadcastSchemes schemes(*fabric, {kNodes, 1, 0}, model);
  Status failed;
  const auto us = [&](const Result<double>& result) {
    if (!result) failed = result.status();
    return result ? *result : 1;
  };
  // The paper's numbers are per cent of time saved; a part p of it is 1 / (1 - p) times as fast.
  const auto add = [&](const char* figure, const std::string& what, double saved, double ours, const char* why = "",
                       bool fitted = false) {
    study.numbers.push_back({figure, what, "x", 1 / (1 - saved), ours, 0.25, false, why, fitted});
  };
  const double proposed = us(schemes.multicast(kLongest, true, 1)), ring = us(schemes.ring(kLongest)) * (1 - kWithin),
               tree = model.knomial_gdr_pipeline(kK, kNodes, kLongest) * (1 - kWithin),
               gdr = us(schemes.multicast(kLongest, false, 1));
  constexpr const char* kTree =
      "Equation 6 with k = 4. The paper does not say what k was, nor the size at which it gained most.";
  add("broadcast, figure 5c", "multicast over K-nomial-GDR, 16 GPUs", 0.86, tree / proposed, kTree);
  add("broadcast, figure 5c", "multicast over Ring-GDR-Pipeline, 16 GPUs", 0.79, ring / proposed, "", true);
  add("broadcast, figure 5c", "multicast over MCAST-GDR, 16 GPUs", 0.88, gdr / proposed,
      "A card that reads a GPU's memory for packets of 4 KiB, one by one, is slower than for a ring's messages: no "
      "one B_G "
      "gives both.");
  // Figure 8, by equation 9 and the overlaps of section 8.
  const double all = plan::several_sources(proposed, kNodes, 0.20), all_tree = plan::several_sources(tree, kNodes, 0),
               all_ring = plan::several_sources(ring, kNodes, 0.50);
  add("broadcast, figure 8", "multicast over K-nomial-GDR, all to all", 0.87, all_tree / all, kTree);
  add("broadcast, figure 8", "multicast over Ring-GDR-Pipeline, all to all", 0.78, all_ring / all,
      "Both by equation 9, with the overlaps that section 8 measured at 2 MB.");
  constexpr double kMiddle = 2 << 20;
  study.numbers.push_back(
      {"broadcast, figure 10", "throughput of the proposed scheme", "GB/s", 6, kLongest / proposed / kPerGbps, 0.25,
       false,
       fmt::format("By the receivers' links, 8 GB/s into a K80; equation 8, which leaves them out, "
                   "gives {:.1f}.",
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
  study.claims.push_back(
      {"broadcast, section 7.1.2", "of two nodes the ring is the fastest", ring2 < cast2,
       fmt::format("2 MB: ring {:.0f} µs, multicast {:.0f}", ring2, cast2),
       "With a card that reads a GPU's memory as fast as figure 10's 9 GB/s it is; then it is on 16 "
       "nodes, too, which figure 5c denies. One B_G cannot say both."});
  // As section 8 has it: each doubling of the sources overlaps by 5 % more than what was measured of 16.
  constexpr int kMany = 1024;
  const double more = 0.05 * std::log2(kMany / kNodes);
  const double far = plan::several_sources(model.multicast_staging_pipeline(kMany, kMiddle), kMany, 0.20 + more),
               far_ring = plan::several_sources(model.ring_gdr_pipeline(kMany, kMiddle), kMany, 0.50 + more),
               far_tree = plan::several_sources(model.knomial_gdr_pipeline(kK, kMany, kMiddle), kMany, more);
  study.claims.push_back({"broadcast, figure 14", "of many sources the multicast is the fastest",
                          far < far_tree && far < far_ring,
                          fmt::format("1024 sources, 2 MB: multicast {:.0f} ms, k-nomial {:.0f}, ring {:.0f}",
                                      far / 1e3, far_tree / 1e3, far_ring / 1e3)});
  study.left_out = {
      {"broadcast, figures 5a and 5b", "51, 82, 88 and 56 % from or to host memory",
       "The paper does not say which schemes then read or write a GPU's memory by GPUDirect."},
      {"broadcast, figure 5c", "40 % less than MCAST-GDR-Pipeline",
       "The two differ by copies out of buffers in between, whose rate is not given."},
      {"broadcast, section 8", "overlaps of 4, 12, 13 and 20 % of 2, 4, 8 and 16 sources",
       "Links allow 50, 39, 37 and 38 %; how the authors' processes take turns is not said. Figure 8 and 14 use "
       "theirs."},
      {"broadcast, figure 13", "models within 10 % of experiments", "The experiments' times are only drawn."},
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
    // The source's node has it from the source itself.
    Graph::Task across;
    across.from = copy.to;
    across.to = gpu(0, 8);
    across.bytes = chunk;
    across.method = machine::Method::sm;
    const Id here = graph.add(across, {came});
    for (const auto& [from, to] : reads) {
      Graph::Task read;
      read.from = from;
      read.to = to;
      read.bytes = chunk;
      read.method = machine::Method::sm;
      graph.add(read, {from == gpu(0, 8) ? here : came});
    }
  }
  const auto played = play(graph, *fabric);
  if (!played) return played.status();
  const double ring = model.ring_gdr_pipeline(kNodes * kGpus, bytes) * (1 - kWithin);
  for (const auto& [figure, percent] :
       {std::pair("broadcast, figures 6a and 6b", 63.0), std::pair("broadcast, figure 6c", 64.0)})
    study.numbers.push_back({figure, "multicast over Ring-GDR-Pipeline, 88 GPUs", "x", 1 / (1 - percent / 100),
                             ring / played->us, 0.25, false,
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
