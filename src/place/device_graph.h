// A machine's GPUs as the host graph of a mapping: how near they are to each other, by four metrics, and which links
// each pair takes.
//
// Close or cheap: the paper's metrics are *closeness*, where more is better. Solvers want *cost*, where less is
// better. cost_of() turns the one into the other, here and nowhere else.
//
// Faraji, Mirsadeghi and Afsahi 2016, section IV, defines the first three metrics by the pair's level l of L levels,
// 0 the nearest, averaged over sizes above 2 KiB:
//   latency    mean of  time at level L - 1 / time at level l
//   bandwidth  mean of  rate at level l / rate at level L - 1, both ways at once
//   distance   L - l
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "path/network.h"

namespace sennit::place {

enum class Metric { latency, bandwidth, distance, contention };
std::string_view name(Metric metric);
/// Errors: invalid_argument, listing those there are.
Result<Metric> parse_metric(std::string_view text);

/// How two GPUs are joined by PCIe, as NVML's common ancestor says it (nvmlGpuTopologyLevel_t); NVLink does not
/// count.
enum class Joined { board, one_switch, switches, host_bridge, socket, nothing };
std::string_view name(Joined joined);

/// What a byte takes of one resource of path::Network on its way.
struct Use {
  int resource = 0;
  double weight = 1;       ///< bytes of the resource for each byte sent
  double us_per_byte = 0;  ///< weight over the resource's capacity
};

class DeviceGraph {
 public:
  /// The GPUs of `network` with these numbers of devices, in that order; empty: all of them. The network outlives
  /// the graph. Errors: invalid_argument (no GPU), unsupported (two GPUs that no links join, with no host memory).
  static Result<DeviceGraph> create(const path::Network& network, std::vector<int> gpus = {});

  const path::Network& network() const { return *network_; }
  int gpus() const { return int(gpus_.size()); }
  /// Number of the device in the network.
  int device(int gpu) const { return gpus_[gpu]; }

  Joined joined(int a, int b) const { return at(a, b).joined; }
  /// From 0, the nearest, to levels() - 1: the kinds of Joined that this machine has, in order.
  int level(int a, int b) const { return at(a, b).level; }
  int levels() const { return levels_; }
  /// How many links a byte passes; through host memory, those of both copies.
  int hops(int a, int b) const { return at(a, b).hops; }
  /// The host whose memory bytes pass where the GPUs do not reach each other; -1: they do.
  int staged_by(int a, int b) const { return at(a, b).host; }
  /// In order of travel; each resource once.
  const std::vector<Use>& uses(int a, int b) const { return at(a, b).uses; }
  /// Of a byte that leaves the node from a GPU, by its NIC; of one that arrives there. Empty: it reaches no NIC.
  const std::vector<Use>& uses_out(int gpu) const { return out_[std::size_t(gpu)]; }
  const std::vector<Use>& uses_in(int gpu) const { return in_[std::size_t(gpu)]; }

  /// The paper's; of contention as of distance. 0 of a GPU and itself.
  double closeness(Metric metric, int a, int b) const;
  /// What a byte costs: of latency and bandwidth 1 / closeness (1 at the last level, less nearer), of distance the
  /// level + 1, of contention the hops. 0 within a GPU.
  double cost(Metric metric, int a, int b) const;

  /// How much the pairs differ: 1 - least / most over all pairs, of the time of `bytes` by measured curves where
  /// there are some, else by the links. `measured`: each pair was, not one for all that have the same links. Below a
  /// few per cent any order is as good.
  struct Difference {
    double part = 0;
    bool measured = false;
  };
  Difference difference(double bytes) const;

  /// µs of a copy of `bytes` between two GPUs alone: measured where it was, else start-up and links.
  double copy_us(int a, int b, double bytes, bool both_ways) const;

 private:
  struct Pair {
    Joined joined = Joined::nothing;
    int level = 0, hops = 0, host = -1;
    double gbps = 0;           ///< of the narrowest link, one way
    bool is_measured = false;  ///< a curve is its own
    const machine::Curve *one_way = nullptr, *both_ways = nullptr;
    std::vector<Use> uses;
  };
  explicit DeviceGraph(const path::Network& network) : network_(&network) {}
  const Pair& at(int a, int b) const { return pairs_[std::size_t(a) * gpus_.size() + std::size_t(b)]; }
  Status find_way(int a, int b, Pair& pair) const;
  std::vector<Use> timed(const std::vector<path::Usage>& uses) const;
  Joined find_joined(int from, int to) const;
  void share_curves();
  void set_levels();
  void set_closeness();

  const path::Network* network_;
  std::vector<int> gpus_;
  std::vector<Pair> pairs_;
  std::vector<std::vector<Use>> out_, in_;  // of each GPU
  int levels_ = 0;
  std::vector<double> latency_, bandwidth_;  // closeness of each level
};

/// The host memory of the socket that a device hangs off, or else any; -1: there is none.
int host_of(const path::Network& network, int device);

}  // namespace sennit::place
