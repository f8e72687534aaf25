// Shows Fluid a machine, or many alike whose NICs a network joins: each direction of a link, each limit and each
// memory a numbered resource, and what a byte takes of them on its way.
//
// The network itself is taken to have room for all: what leaves a node is held up by its NICs and by those of the
// node that it goes to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "path/network.h"
#include "sim/fluid.h"
#include "sim/outcome.h"

namespace sennit::sim {

class Fabric {
 public:
  /// `memory_gbps`: of each device's own memory. The machine outlives the fabric. Errors: invalid_argument (several
  /// nodes of a machine some of whose GPUs reach no NIC).
  static Result<Fabric> create(const machine::Machine& machine, int nodes, double memory_gbps);

  /// Of one node.
  const path::Network& network() const { return network_; }
  int nodes() const { return nodes_; }
  /// A device of a node, as a number.
  int place(int node, int device) const { return node * network_.devices() + device; }
  int node_of(int place) const { return place / network_.devices(); }
  int device_of(int place) const { return place % network_.devices(); }
  /// "gpu0"; "gpu0 of node 3" where there are several.
  std::string place_name(int place) const;

  /// For Fluid: bytes/µs. Of copy engines the capacity is how many there are, and a use the time it takes one.
  std::vector<double> capacity() const;
  /// "gpu0>nvswitch0", "gpu0:memory": of whichever node.
  std::string resource_name(int resource) const;
  /// In words what holds a flow up: "gpu0>nvswitch0 is full", "gpu0:memory is busy".
  std::string full(int resource) const;
  /// The host memory of the socket that a device hangs off, or else any of its node; -1: there is none.
  int host_of(int place) const;
  /// The NIC by which a GPU or a host of a node sends and receives; -1: none.
  int nic_of(int device) const { return nic_[static_cast<std::size_t>(device)]; }
  int memory(int place) const { return node_of(place) * each_ + first_memory_ + device_of(place); }
  int node_of_resource(int resource) const { return resource / each_; }
  bool is_memory(int resource) const { return resource % each_ >= first_memory_; }

  /// Adds what a byte from one place to another takes, each `weight` times; nothing within a place. False: no link
  /// leads there.
  bool add_way(int from, int to, machine::Method method, double weight, std::vector<path::Usage>& uses) const;
  /// One message of a network that copies it on its way to several places on other nodes (multicast).
  bool add_multicast(int from, std::vector<int> to, std::vector<path::Usage>& uses) const;
  /// How fast a flow that is alone moves over these, in GB/s.
  double alone_gbps(const std::vector<path::Usage>& uses) const;

  /// Loads of a run that ended at `us`, the busiest first. Of several nodes their bytes together, and how busy the
  /// busiest was.
  std::vector<Load> loads(const Fluid& fluid, double us) const;

 private:
  /// Within a node, from device to device.
  struct Way {
    bool exists = false;
    std::vector<path::Usage> uses;
  };
  Fabric(const machine::Machine& machine, int nodes, double memory_gbps);
  const Way& local(int from, int to, machine::Method method) const;
  bool add_local(int node, int from, int to, machine::Method method, double weight,
                 std::vector<path::Usage>& uses) const;
  bool add_nic(int node, int device, bool leaves, double weight, std::vector<path::Usage>& uses) const;

  path::Network network_;
  int nodes_ = 1;
  double memory_gbps_ = 0;
  int each_ = 0, first_memory_ = 0;  // resources of a node
  std::vector<int> nic_;             // of each device, its nearest; -1: none
  mutable std::vector<std::optional<Way>> ways_;
  mutable std::vector<std::optional<std::vector<path::Usage>>> nic_ways_;  // of each device, in and out
};

}  // namespace sennit::sim
