// Faraji, Mirsadeghi and Afsahi 2016: which process should use which of sixteen GPUs, for four patterns of
// neighbours.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "sim/costs.h"
#include "sim/papers/study.h"
#include "sim/play.h"

namespace sennit::sim {

namespace {

using Id = Graph::Id;

/// Processes in a grid, the last dimension the fastest, as MPI_Cart_create numbers them.
struct Pattern {
  const char* name;
  std::vector<int> extents;
  bool wraps;
  int heavy;  ///< dimension along which three times as much is sent, in the weighted case: the slowest
};
const Pattern kPatterns[] = {{"2D stencil", {4, 4}, false, 0},
                             {"2D torus", {4, 4}, true, 0},
                             {"3D torus", {4, 2, 2}, true, 0},
                             {"4D hypercube", {2, 2, 2, 2}, true, 0}};

struct Talk {
  int from, to;
  double weight;
};

std::vector<Talk> talks_of(const Pattern& pattern, double heavy_weight) {
  const int ranks = std::accumulate(pattern.extents.begin(), pattern.extents.end(), 1, std::multiplies<>());
  std::vector<Talk> talks;
  for (int rank = 0; rank < ranks; ++rank) {
    int stride = ranks;
    for (std::size_t d = 0; d < pattern.extents.size(); ++d) {
      const int extent = pattern.extents[d];
      stride /= extent;
      const int at = rank / stride % extent;
      std::vector<int> others;
      for (const int step : {-1, 1}) {
        int other = at + step;
        if (pattern.wraps) other = (other + extent) % extent;
        if (other >= 0 && other < extent) others.push_back(rank + (other - at) * stride);
      }
      // Of two that wrap, both neighbours are the same one.
      std::ranges::sort(others);
      others.erase(std::unique(others.begin(), others.end()), others.end());
      for (const int other : others)
        talks.push_back({rank, other, static_cast<int>(d) == pattern.heavy ? heavy_weight : 1});
    }
  }
  return talks;
}

/// µs until all have sent to all their neighbours: a process's copies one after the other. Between sockets, where
/// GPUs do not reach each other, through host memory in four chunks.
Result<double> exchange(const Fabric& fabric, const std::vector<Talk>& talks, double bytes,
                        const std::array<int, 16>& gpu_of) {
  constexpr int kChunks = 4;
  constexpr double kMessageUs = 20;
  const path::Network& network = fabric.network();
  Graph graph;
  std::vector<std::uint32_t> out, in;
  for (int i = 0; i < 16; ++i) out.push_back(graph.add_queue()), in.push_back(graph.add_queue());
  const auto gpu = [&](int rank) {
    return network.index(fmt::format("gpu{}", gpu_of[static_cast<std::size_t>(rank)]));
  };
  for (const Talk& talk : talks) {
    const int from = gpu(talk.from), to = gpu(talk.to);
    const auto copy = [&](int source, int destination, double n, std::uint32_t queue, double us, Id need) {
      Graph::Task task;
      task.from = source;
      task.to = destination;
      task.bytes = n;
      task.us = us;
      task.queue = queue;
      task.method = machine::Method::sm;
      return graph.add(task, {need});
    };
    const double n = bytes * talk.weight;
    const auto sender = out[static_cast<std::size_t>(talk.from)], receiver = in[static_cast<std::size_t>(talk.to)];
    if (network.find_hop(from, to).exists()) {
      copy(from, to, n, sender, kMessageUs, Graph::kNone);
      continue;
    }
    const int host = fabric.host_of(from);
    for (int chunk = 0; chunk < kChunks; ++chunk)
      copy(host, to, n / kChunks, receiver, kMessageUs / kChunks,
           copy(from, host, n / kChunks, sender, kMessageUs / kChunks, Graph::kNone));
  }
  const auto played = play(graph, fabric);
  if (!played) return played.status();
  return played->us;
}

/// Links between two GPUs, and much more through host memory: what the distance map of the paper is made of.
std::array<std::array<double, 16>, 16> distances(const path::Network& network) {
  std::array<std::array<double, 16>, 16> all{};
  for (int a = 0; a < 16; ++a)
    for (int b = 0; b < 16; ++b) {
      const path::Hop hop =
          network.find_hop(network.index(fmt::format("gpu{}", a)), network.index(fmt::format("gpu{}", b)));
      all[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)] = a == b ? 0
                                                                      : hop.exists()
                                                                          ? static_cast<double>(hop.arcs.size())
                                                                          : 12;
    }
  return all;
}

/// Swaps of two as long as one helps: the paper leaves this to a library.
std::array<int, 16> map(const std::vector<Talk>& talks, const std::array<std::array<double, 16>, 16>& distance) {
  std::array<int, 16> best{};
  double least = -1;
  // From each of a few orders: as they are, and with the halves and quarters of the numbers exchanged.
  for (const int rotation : {0, 1, 2, 3}) {
    std::array<int, 16> gpu{};
    for (int rank = 0; rank < 16; ++rank)
      gpu[static_cast<std::size_t>(rank)] = ((rank << rotation) | (rank >> (4 - rotation))) & 15;
    const auto cost = [&] {
      double sum = 0;
      for (const Talk& talk : talks)
        sum += talk.weight * distance[static_cast<std::size_t>(gpu[static_cast<std::size_t>(talk.from)])]
                                     [static_cast<std::size_t>(gpu[static_cast<std::size_t>(talk.to)])];
      return sum;
    };
    double now = cost();
    for (bool better = true; better;) {
      better = false;
      for (std::size_t a = 0; a < 16; ++a)
        for (std::size_t b = a + 1; b < 16; ++b) {
          std::swap(gpu[a], gpu[b]);
          const double then = cost();
          if (then < now) {
            now = then;
            better = true;
          } else {
            std::swap(gpu[a], gpu[b]);
          }
        }
    }
    if (least < 0 || now < least) least = now, best = gpu;
  }
  return best;
}

}  // namespace

Result<Study> study_helios(machine::Machine machine) {
  Study study;
  study.machine = machine.name;
  study.fitted = {{"a message", 20, "µs", "assumed"},
                  {"distance between sockets", 12, "links", "assumed: GPUs do not reach each other there"}};
  study.papers = {"Faraji, Mirsadeghi and Afsahi 2016 (GPU selection)"};
  const auto fabric = Fabric::create(machine, 1, Costs{}.memory_gbps);
  if (!fabric) return fabric.status();
  const auto distance = distances(fabric->network());
  std::array<int, 16> plain{};
  std::iota(plain.begin(), plain.end(), 0);
  constexpr double kBytes = 1 << 20;
  double most = 0;
  std::array<std::array<double, 4>, 2> gains{};
  for (const bool weighted : {false, true})
    for (std::size_t i = 0; i < std::size(kPatterns); ++i) {
      const auto talks = talks_of(kPatterns[i], weighted ? 3 : 1);
      const auto before = exchange(*fabric, talks, kBytes, plain);
      if (!before) return before.status();
      const auto after = exchange(*fabric, talks, kBytes, map(talks, distance));
      if (!after) return after.status();
      gains[weighted ? 1 : 0][i] = std::max(0.0, 1 - *after / *before) * 100;
      most = std::max(most, gains[weighted ? 1 : 0][i]);
    }
  study.numbers.push_back({"GPU selection, abstract", "most that a mapping gains, weighted", "%", 59, most, 0.25,
                           false, "Of four patterns, messages of 1 MiB.", false});
  const auto told = [&](std::size_t i) {
    return fmt::format("{}: {:.0f} %, weighted {:.0f} %", kPatterns[i].name, gains[0][i], gains[1][i]);
  };
  for (std::size_t i = 0; i < 4; ++i) {
    study.claims.push_back(
        {"GPU selection, figure 4", fmt::format("weighted, {} gains", kPatterns[i].name), gains[1][i] > 5, told(i)});
    const bool symmetric = i == 1 || i == 3;
    study.claims.push_back(
        {"GPU selection, figure 3",
         fmt::format("not weighted, {} gains {}", kPatterns[i].name, symmetric ? "little or nothing" : "something"),
         symmetric ? gains[0][i] < 15 : gains[0][i] > 2, told(i),
         "The paper does not say how ranks lie in the grid; here the last dimension is the fastest, as MPI numbers "
         "them, "
         "and the heavy one the slowest."});
  }
  return study;
}

}  // namespace sennit::sim
