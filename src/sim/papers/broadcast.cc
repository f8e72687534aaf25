// Chu et al. 2018 (IEEE TPDS): broadcast by rings, k-nomial trees and the network's multicast, on RI2 and at CSCS.
// The paper's own equations stand in plan/broadcast_model.h; here its designs run over the machines' links. The
// file is long, as all designs of the paper stand in it.
//
// What the paper leaves open is read so, everywhere:
// - "Up to" is the largest gain over its sizes, 4 KB to 128 MB; at CSCS that at 128 MB, as the designs' start-ups
//   within a node, which hold them back below, are not given.
// - A ring's and a K-nomial tree's sends overlap within a broadcast by 20 % (section 8); a tree's steps are those of
// the
//   equations, ⌈log_k n⌉.
// - Rings read GPUs' memory as fast as the links allow, as figure 10 has it; MCAST-GDR, and the root of a tree, are
//   held to B_G.
// - Trees go on from host memory (equation 5); with one end in host memory rings do, too (equation 3).
// - MCAST-GDR-Pipeline is the proposed design without its zero-copy: receivers copy out of buffers behind arrival.
//
// It is longer than other files, as both machines are done by these readings, and each has many figures.
#include "sim/papers/broadcast.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "base/units.h"
#include "sim/costs.h"
#include "sim/papers/study.h"

namespace sennit::sim {

namespace {

using Id = Graph::Id;
using plan::BroadcastModel;

constexpr int kK = 8;
constexpr double kLongest = 128 << 20, kMiddle = 2 << 20;
/// Of one source's messages within a scheme that sends by several at a time (section 8).
constexpr double kWithin = 0.2;
const char* const kPaper = "Chu et al. 2018 (broadcast by multicast)";

std::vector<double> sizes() {
  std::vector<double> all;
  for (double bytes = 4096; bytes <= kLongest; bytes *= 2) all.push_back(bytes);
  return all;
}

double copy_us(double bytes, double gbps) {
  return bytes / (gbps * kPerGbps);
}

/// The paper's numbers are per cent of time saved; a part p of it is 1 / (1 - p) times as fast.
double times_as_fast(double per_cent) {
  return 1 / (1 - per_cent / 100);
}

/// The schemes' times; the first error is kept, and told at the end.
class Timed {
 public:
  Timed(const Fabric& fabric, int nodes, const BroadcastModel& model)
      : schemes_(fabric, {nodes, 1, 0}, model),
        ring_schemes_(fabric, {nodes, 1, 0}, ring_of(model)),
        nodes_(nodes),
        model_(model) {}

  const Status& failed() const { return failed_; }

  double proposed(double bytes, int sources = 1) { return us(schemes_.multicast(bytes, true, sources)); }
  double multicast_gdr(double bytes) { return us(schemes_.multicast(bytes, false, 1)); }
  double multicast_pipeline(double bytes) { return proposed(bytes) + out_of_buffers(bytes); }
  double ring(double bytes) { return us(ring_schemes_.ring(bytes)) * (1 - kWithin); }
  /// Equation 5, whose root reads its GPU's memory at B_G.
  double knomial(double bytes) const { return steps(bytes) + copy_us(bytes, model_.gpu_gbps); }

  double proposed(double bytes, const BroadcastSchemes::Ends& ends) {
    return us(schemes_.heterogeneous(bytes, ends));
  }
  double multicast_gdr(double bytes, const BroadcastSchemes::Ends& ends) const {
    BroadcastModel held = model_;
    if (ends.from_host) held.gpu_gbps = model_.host_gbps;
    return held.multicast_gdr(nodes_, bytes);
  }
  double multicast_pipeline(double bytes, const BroadcastSchemes::Ends& ends) {
    return proposed(bytes, ends) + out_of_buffers(bytes);
  }
  double ring(double bytes, const BroadcastSchemes::Ends&) const {
    const double chunk = std::min(bytes, model_.chunk_bytes);
    BroadcastModel between = model_;
    between.gpu_gbps = model_.host_gbps;
    between.chunk_bytes = chunk;
    return between.ring_gdr_pipeline(nodes_, bytes) * (1 - kWithin) + copy_us(chunk, model_.device_to_host_gbps);
  }
  double knomial(double bytes, const BroadcastSchemes::Ends&) const {
    return steps(bytes) + copy_us(bytes, model_.device_to_host_gbps);
  }

 private:
  static BroadcastModel ring_of(BroadcastModel model) {
    model.gpu_gbps = model.host_gbps;
    return model;
  }
  double us(const Result<double>& result) {
    if (!result) failed_ = result.status();
    return result ? *result : 1;
  }
  double out_of_buffers(double bytes) const { return copy_us(bytes, model_.device_to_host_gbps); }
  double steps(double bytes) const {
    BroadcastModel between = model_;
    between.gpu_gbps = model_.host_gbps;
    return between.knomial_gdr(kK, nodes_, bytes);
  }

  BroadcastSchemes schemes_, ring_schemes_;
  int nodes_;
  BroadcastModel model_;
  Status failed_;
};

double most_over_sizes(const std::function<double(double bytes)>& gain) {
  double most = 0;
  for (const double bytes : sizes()) most = std::max(most, gain(bytes));
  return most;
}

}  // namespace

BroadcastSchemes::BroadcastSchemes(const Fabric& fabric, const Ranks& ranks, const BroadcastModel& model)
    : fabric_(fabric), ranks_(ranks), model_(model) {
  for (int node = 0; node < ranks.all; ++node) gpus_.push_back(fabric.place(node, fabric.network().index("gpu0")));
  ranks_.network = ranks_.hosts = true;
}

Result<double> BroadcastSchemes::ring(double bytes) const {
  return us(jobs_of("chain", bytes, 1), chunks(bytes));
}

Result<double> BroadcastSchemes::multicast(double bytes, bool staged, int sources) const {
  return us(jobs_of(staged ? "multicast_streaming" : "multicast", bytes, sources), chunks(bytes));
}

Result<double> BroadcastSchemes::heterogeneous(double bytes, const Ends& ends) const {
  std::vector<Rounds> jobs = jobs_of("multicast_streaming", bytes, 1);
  Rounds& rounds = jobs.front();
  if (ends.from_host) rounds.erase(rounds.begin());
  for (Round& round : rounds)
    for (Message& each : round.messages) each.to_host = each.to_host || (each.multicast && ends.to_host);
  return us(jobs, chunks(bytes));
}

int BroadcastSchemes::chunks(double bytes) const {
  return static_cast<int>(std::ceil(bytes / model_.chunk_bytes));
}

std::vector<Rounds> BroadcastSchemes::jobs_of(std::string_view algorithm, double bytes, int sources) const {
  std::vector<Rounds> jobs;
  for (Ranks ranks = ranks_; ranks.root < sources; ++ranks.root)
    jobs.push_back(message_algorithm(coll::Operation::broadcast, algorithm)->rounds(ranks, bytes / chunks(bytes)));
  return jobs;
}

Result<double> BroadcastSchemes::us(const std::vector<Rounds>& jobs, int chunks) const {
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
  study.papers = {kPaper};
  const BroadcastModel model;
  study.fitted = {
      {"a card reading a GPU's memory (B_G)", model.gpu_gbps, "GB/s", "88 % less than MCAST-GDR, figures 5a and 5b"},
      {"a GPU to its host (B_H2D), and back", model.device_to_host_gbps, "GB/s",
       "\"8 Gbps\" in section 8, read as GB/s"},
      {"k of K-nomial trees", kK, "", "44 % less than K-nomial-GDR at CSCS, figures 6a and 6b"}};
  const auto fabric = Fabric::create(machine, kNodes, Costs{}.memory_gbps);
  if (!fabric) return fabric.status();
  Timed timed(*fabric, kNodes, model);
  const auto add = [&](const char* figure, const char* what, double saved, double ours, const char* why = "",
                       bool fitted = false) {
    study.numbers.push_back({figure, what, "x", times_as_fast(saved), ours, 0.25, false, why, fitted});
  };
  // Figure 5c.
  const auto gain = [&](const std::function<double(double)>& other) {
    return most_over_sizes([&](double bytes) { return other(bytes) / timed.proposed(bytes); });
  };
  const double over_tree = gain([&](double bytes) { return timed.knomial(bytes); }),
               over_ring = gain([&](double bytes) { return timed.ring(bytes); });
  add("broadcast, figure 5c", "multicast over K-nomial-GDR, 16 GPUs", 86, over_tree);
  add("broadcast, figure 5c", "multicast over Ring-GDR-Pipeline, 16 GPUs", 79, over_ring);
  add("broadcast, figure 5c", "multicast over MCAST-GDR, 16 GPUs", 88,
      gain([&](double bytes) { return timed.multicast_gdr(bytes); }));
  add("broadcast, figure 5c", "multicast over MCAST-GDR-Pipeline, 16 GPUs", 40,
      gain([&](double bytes) { return timed.multicast_pipeline(bytes); }));
  // Figures 5a and 5b, whose numbers are of both.
  using Scheme = std::function<double(double, const BroadcastSchemes::Ends&)>;
  const auto gain_of_both = [&](const Scheme& other) {
    double most = 0;
    for (const BroadcastSchemes::Ends& ends : {BroadcastSchemes::Ends{true, false}, {false, true}})
      most = std::max(
          most, most_over_sizes([&](double bytes) { return other(bytes, ends) / timed.proposed(bytes, ends); }));
    return most;
  };
  using Ends = const BroadcastSchemes::Ends&;
  add("broadcast, figures 5a and 5b", "host and GPU, multicast over K-nomial-GDR", 51,
      gain_of_both([&](double bytes, Ends ends) { return timed.knomial(bytes, ends); }));
  add("broadcast, figures 5a and 5b", "host and GPU, multicast over Ring-GDR-Pipeline", 82,
      gain_of_both([&](double bytes, Ends ends) { return timed.ring(bytes, ends); }));
  add("broadcast, figures 5a and 5b", "host and GPU, multicast over MCAST-GDR", 88,
      gain_of_both([&](double bytes, Ends ends) { return timed.multicast_gdr(bytes, ends); }), "", true);
  add("broadcast, figures 5a and 5b", "host and GPU, multicast over MCAST-GDR-Pipeline", 56,
      gain_of_both([&](double bytes, Ends ends) { return timed.multicast_pipeline(bytes, ends); }));
  // Figure 8, by equation 9 and the overlaps of section 8.
  const double all = plan::several_sources(1, kNodes, 0.20);
  add("broadcast, figure 8", "multicast over K-nomial-GDR, all to all", 87,
      over_tree * plan::several_sources(1, kNodes, 0) / all);
  add("broadcast, figure 8", "multicast over Ring-GDR-Pipeline, all to all", 78,
      over_ring * plan::several_sources(1, kNodes, 0.50) / all,
      "By equation 9, with the overlaps that section 8 measured at 2 MB, the gain is that of one source times "
      "0.5 / 0.8: figures 5c and 8 together would want a ring that overlaps by 24 %.");
  const double proposed = timed.proposed(kLongest);
  study.numbers.push_back(
      {"broadcast, figure 10", "throughput of the proposed scheme", "GB/s", 6, kLongest / proposed / kPerGbps, 0.25,
       false,
       fmt::format("By the receivers' links, 8 GB/s into a K80; equation 8, which leaves them out, gives {:.1f}.",
                   kLongest / model.multicast_staging_pipeline(kNodes, kLongest) / kPerGbps),
       false});
  // A window of broadcasts at its peak: chunk behind chunk.
  Timed two(*fabric, 2, model);
  study.numbers.push_back({"broadcast, figure 10", "throughput of a ring on two nodes", "GB/s", 9,
                           kLongest / two.ring(kLongest) * (1 - kWithin) / kPerGbps, 0.25, false,
                           "Into a K80 go 8 GB/s, as with all schemes here.", false});

  // The figures that are drawn. Of figure 13 the equations stand beside the simulator, as its experiments are drawn.
  const auto line = [&](const char* figure, const char* name, const char* unit, const char* over) -> Series& {
    study.series.push_back({figure, name, unit, {}, over});
    return study.series.back();
  };
  const auto over_sizes = [&](const char* figure, const char* name, const std::function<double(double)>& us) {
    Series& series = line(figure, name, "µs", "size");
    for (const double bytes : sizes()) series.points.emplace_back(bytes, us(bytes));
  };
  over_sizes("broadcast, figure 5c", "proposed", [&](double bytes) { return timed.proposed(bytes); });
  over_sizes("broadcast, figure 5c", "K-nomial-GDR", [&](double bytes) { return timed.knomial(bytes); });
  over_sizes("broadcast, figure 5c", "Ring-GDR-Pipeline", [&](double bytes) { return timed.ring(bytes); });
  over_sizes("broadcast, figure 5c", "MCAST-GDR", [&](double bytes) { return timed.multicast_gdr(bytes); });
  over_sizes("broadcast, figure 5c", "MCAST-GDR-Pipeline",
             [&](double bytes) { return timed.multicast_pipeline(bytes); });
  over_sizes("broadcast, figure 8", "proposed", [&](double bytes) { return all * timed.proposed(bytes); });
  over_sizes("broadcast, figure 8", "K-nomial-GDR", [&](double bytes) { return kNodes * timed.knomial(bytes); });
  over_sizes("broadcast, figure 8", "Ring-GDR-Pipeline",
             [&](double bytes) { return plan::several_sources(timed.ring(bytes), kNodes, 0.50); });
  std::vector<int> nodes;
  for (int n = 2; n <= kNodes; n *= 2) nodes.push_back(n);
  const auto over_nodes = [&](const char* figure, const char* name, const char* unit,
                              const std::function<double(Timed & few, int n)>& value) {
    Series& series = line(figure, name, unit, "nodes");
    for (const int n : nodes) {
      Timed few(*fabric, n, model);
      series.points.emplace_back(n, value(few, n));
    }
    return series;
  };
  const Series cast7 =
      over_nodes("broadcast, figure 7", "proposed", "µs", [](Timed& few, int) { return few.proposed(kMiddle); });
  const Series tree7 =
      over_nodes("broadcast, figure 7", "K-nomial-GDR", "µs", [](Timed& few, int) { return few.knomial(kMiddle); });
  const Series ring7 =
      over_nodes("broadcast, figure 7", "Ring-GDR-Pipeline", "µs", [](Timed& few, int) { return few.ring(kMiddle); });
  // Links alone: how the authors' processes take turns is not said.
  const Series cast9 = over_nodes("broadcast, figure 9", "proposed, all sources", "µs",
                                  [](Timed& few, int n) { return few.proposed(kMiddle, n); });
  const Series tree9 = over_nodes("broadcast, figure 9", "K-nomial-GDR, no overlap", "µs",
                                  [](Timed& few, int n) { return n * few.knomial(kMiddle); });
  over_nodes("broadcast, figure 9", "Ring-GDR-Pipeline, 50 % overlap", "µs",
             [](Timed& few, int n) { return plan::several_sources(few.ring(kMiddle), n, 0.50); });
  const auto rate = [](double us) { return kLongest / us / kPerGbps; };
  const Series cast10 = over_nodes("broadcast, figure 10", "proposed", "GB/s",
                                   [&](Timed& few, int) { return rate(few.proposed(kLongest)); });
  over_nodes("broadcast, figure 10", "K-nomial-GDR", "GB/s",
             [&](Timed& few, int) { return rate(few.knomial(kLongest)); });
  over_nodes("broadcast, figure 10", "Ring-GDR-Pipeline", "GB/s",
             [&](Timed& few, int) { return rate(few.ring(kLongest) / (1 - kWithin)); });
  for (const double bytes : {kMiddle, kLongest}) {
    const std::string size = format_bytes(static_cast<std::uint64_t>(bytes));
    over_nodes("broadcast, figure 13", ("proposed, " + size).c_str(), "µs",
               [&](Timed& few, int) { return few.proposed(bytes); });
    over_nodes("broadcast, figure 13", ("equation 8, " + size).c_str(), "µs",
               [&](Timed&, int n) { return model.multicast_staging_pipeline(n, bytes); });
    over_nodes("broadcast, figure 13", ("ring, " + size).c_str(), "µs",
               [&](Timed& few, int) { return few.ring(bytes); });
    over_nodes("broadcast, figure 13", ("equation 2 at 8 GB/s, " + size).c_str(), "µs", [&](Timed&, int n) {
      BroadcastModel held = model;
      held.gpu_gbps = model.device_to_host_gbps;
      return held.ring_gdr_pipeline(n, bytes) * (1 - kWithin);
    });
  }
  // As section 8 has it: each doubling of the sources overlaps by 5 % more than what was measured of 16.
  const auto of_many = [&](const char* name, double overlap, const std::function<double(int)>& once) -> double {
    Series& series = line("broadcast, figure 14", name, "µs", "nodes");
    for (int n = kNodes; n <= 1024; n *= 2)
      series.points.emplace_back(
          n, plan::several_sources(once(n), n, overlap + 0.05 * std::log2(static_cast<double>(n) / kNodes)));
    return series.points.back().second;
  };
  BroadcastModel links = model;
  links.gpu_gbps = model.device_to_host_gbps;
  const double far = of_many("proposed", 0.20, [&](int n) { return model.multicast_staging_pipeline(n, kMiddle); });
  const double far_tree = of_many("K-nomial-GDR", 0, [&](int n) {
    BroadcastModel staged = model;
    staged.device_to_host_gbps = model.gpu_gbps;
    return staged.knomial_staging(kK, n, kMiddle);
  });
  const double far_ring =
      of_many("Ring-GDR-Pipeline", 0.50, [&](int n) { return links.ring_gdr_pipeline(n, kMiddle) * (1 - kWithin); });

  // What is said without numbers.
  const auto at = [](const Series& series, std::size_t index) { return series.points[index].second; };
  const auto claim = [&](const char* figure, const char* what, bool holds, std::string ours, const char* why = "") {
    study.claims.push_back({figure, what, holds, std::move(ours), why});
  };
  claim("broadcast, figure 7", "the ring's time grows with the nodes, the multicast's hardly",
        at(ring7, 3) > 1.5 * at(ring7, 0) && at(cast7, 3) < 1.5 * at(cast7, 0),
        fmt::format("2 to 16 nodes, 2 MB: ring {:.0f} to {:.0f} µs, multicast {:.0f} to {:.0f}", at(ring7, 0),
                    at(ring7, 3), at(cast7, 0), at(cast7, 3)));
  claim("broadcast, figure 7", "the K-nomial tree's time grows as a logarithm",
        at(tree7, 3) - at(tree7, 0) < at(ring7, 3) - at(ring7, 0),
        fmt::format("2 to 16 nodes, 2 MB: {:.0f} to {:.0f} µs", at(tree7, 0), at(tree7, 3)));
  claim("broadcast, section 7.1.2", "of two nodes the ring is the fastest",
        at(ring7, 0) < at(cast7, 0) && at(ring7, 0) < at(tree7, 0),
        fmt::format("2 MB: ring {:.0f} µs, multicast {:.0f}, K-nomial {:.0f}", at(ring7, 0), at(cast7, 0),
                    at(tree7, 0)));
  claim("broadcast, figure 9", "of all sources the time grows as their number",
        at(cast9, 3) / at(cast9, 1) > 3 && at(cast9, 3) / at(cast9, 1) < 6,
        fmt::format("4 to 16 nodes, 2 MB: {:.1f} times", at(cast9, 3) / at(cast9, 1)));
  claim("broadcast, figure 9", "of all sources the multicast is ahead of the tree from four nodes on",
        at(cast9, 1) < at(tree9, 1) && at(cast9, 3) < at(tree9, 3),
        fmt::format("4 nodes, 2 MB: {:.0f} µs, K-nomial {:.0f}", at(cast9, 1), at(tree9, 1)));
  claim("broadcast, figure 10", "the multicast's throughput stays the same, however many nodes",
        at(cast10, 0) < 1.25 * at(cast10, 3),
        fmt::format("2 to 16 nodes: {:.1f} to {:.1f} GB/s", at(cast10, 0), at(cast10, 3)));
  claim("broadcast, figure 14", "of many sources the multicast is the fastest", far < far_tree && far < far_ring,
        fmt::format("1024 sources, 2 MB: multicast {:.0f} ms, K-nomial {:.0f}, ring {:.0f}", far / 1e3,
                    far_tree / 1e3, far_ring / 1e3));
  study.left_out = {
      {"broadcast, section 8", "overlaps of 4, 12, 13 and 20 % of 2, 4, 8 and 16 sources, and of 0 and 50 %",
       "Links allow 37 to 50 %; how the authors' processes take turns is not said. Figures 8, 9 and 14 use theirs."},
      {"broadcast, figure 13", "models within 10 % of experiments",
       "The experiments' times are only drawn: the equations stand beside the simulator."},
  };
  if (!timed.failed().ok()) return timed.failed();
  return study;
}

namespace {

/// Leaders, one for each card, get the multicast; three GPUs beside each have it from there: they read its memory at
/// the same time, or, through shared memory, it copies each chunk to the host, and they copy it up.
Result<double> over_leaders(const Fabric& fabric, const BroadcastModel& model, double bytes, bool shared_memory) {
  Graph graph;
  const double chunk = model.chunk_bytes;
  const int nodes = fabric.nodes();
  const auto gpu = [&](int node, int index) {
    return fabric.place(node, fabric.network().index(fmt::format("gpu{}", index)));
  };
  const auto moved = [&](int from, int to, std::uint32_t queue, std::initializer_list<Id> needs,
                         double gbps = Graph::kUncapped) {
    Graph::Task task;
    task.from = from;
    task.to = to;
    task.bytes = chunk;
    task.gbps = gbps;
    task.queue = queue;
    task.method = machine::Method::sm;
    return graph.add(task, needs);
  };
  // Of a node's 16 GPUs the experiments use 8: four of each socket.
  struct Leader {
    int place, node, first;
    std::uint32_t engine;
  };
  std::vector<Leader> leaders;
  std::vector<int> far;
  for (int node = 0; node < nodes; ++node)
    for (const int first : {0, 8}) {
      leaders.push_back({gpu(node, first), node, first, graph.add_queue()});
      if (node > 0) far.push_back(leaders.back().place);
    }
  const std::uint32_t card = graph.add_queue();
  const int host = fabric.place(0, fabric.network().index("host0"));
  for (int i = 0; i < static_cast<int>(bytes / chunk); ++i) {
    const Id down = moved(gpu(0, 0), host, leaders.front().engine, {}, model.device_to_host_gbps);
    Graph::Task cast;
    cast.from = host;
    cast.bytes = chunk;
    cast.us = chunk / model.mtu_bytes * model.multicast_overhead_us(nodes * 2);
    cast.gbps = model.host_gbps;
    cast.queue = card;
    const Id came = graph.add_multicast(cast, far, {down});
    for (const Leader& leader : leaders) {
      // The source's node has it from the source itself.
      Id here = leader.node > 0 ? came : down;
      int from = leader.place;
      if (leader.node == 0 && leader.first != 0) here = moved(host, from, Graph::kNone, {down});
      if (shared_memory) {
        from = fabric.host_of(leader.place);
        if (leader.place != gpu(0, 0))
          here = moved(leader.place, from, leader.engine, {here}, model.device_to_host_gbps);
      }
      for (int other = 1; other < 4; ++other)
        moved(from, gpu(leader.node, leader.first + other), Graph::kNone, {here});
    }
  }
  const auto played = play(graph, fabric);
  if (!played) return played.status();
  return played->us;
}

}  // namespace

Result<Study> study_cscs(machine::Machine machine) {
  constexpr int kNodes = 11, kGpus = 8;
  Study study;
  study.machine = machine.name;
  study.papers = {kPaper};
  BroadcastModel model;
  model.host_gbps = 6.3;  // the card's link in the machine's file
  study.fitted = {{"a card reading a GPU's memory (B_G), for rings, too", model.gpu_gbps, "GB/s",
                   "as on ri2, whose GPUs are the same"},
                  {"k of K-nomial trees", kK, "", "44 % less, figures 6a and 6b"}};
  const auto fabric = Fabric::create(machine, kNodes, Costs{}.memory_gbps);
  if (!fabric) return fabric.status();
  const auto proposed = over_leaders(*fabric, model, kLongest, false),
             shared = over_leaders(*fabric, model, kLongest, true);
  for (const auto* each : {&proposed, &shared})
    if (!*each) return each->status();
  const double ring = model.ring_gdr_pipeline(kNodes * kGpus, kLongest) * (1 - kWithin),
               tree = model.knomial_staging(kK, kNodes * kGpus, kLongest);
  const auto add = [&](const char* figure, const char* what, double saved, double ours, const char* why,
                       bool fitted = false) {
    study.numbers.push_back({figure, what, "x", times_as_fast(saved), ours / *proposed, 0.25, false, why, fitted});
  };
  constexpr const char *kTree = "Staged, by equation 5: with the data on a GPU or not, the paper's gain is the same.",
                       *kRing = "The ring by equation 2, with 20 % overlap as section 8 has it.",
                       *kShared = "Leaders copy to the host, others from there; copies' start-ups are not given.";
  add("broadcast, figures 6a and 6b", "multicast over K-nomial-GDR, 88 GPUs", 44, tree, kTree, true);
  add("broadcast, figures 6a and 6b", "multicast over Ring-GDR-Pipeline, 88 GPUs", 63, ring, kRing);
  add("broadcast, figures 6a and 6b", "multicast over shared memory, 88 GPUs", 18, *shared, kShared);
  add("broadcast, figure 6c", "multicast over K-nomial-GDR, 88 GPUs", 48, tree, kTree);
  add("broadcast, figure 6c", "multicast over Ring-GDR-Pipeline, 88 GPUs", 64, ring, kRing);
  add("broadcast, figure 6c", "multicast over shared memory, 88 GPUs", 16, *shared, kShared);
  study.claims.push_back({"broadcast, figure 11", "on 88 GPUs the throughput is higher than of both others",
                          *proposed < ring && *proposed < tree,
                          fmt::format("{:.1f} GB/s, K-nomial {:.1f}, ring {:.1f}", kLongest / *proposed / kPerGbps,
                                      kLongest / tree / kPerGbps, kLongest / ring / kPerGbps)});
  return study;
}

}  // namespace sennit::sim
