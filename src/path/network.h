// Describes the machine as flows see it: numbered devices, and every limit that a flow can run into as a numbered
// resource. It is built from the document for one question, so that planning compares integers and not names.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.h"
#include "path/flow.h"

namespace sennit::path {

/// The capacity of what limits nothing.
inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

/// One direction of one link. Arc 2i is link i of the document from → to, arc 2i + 1 the way back; an arc's number
/// is also the number of its resource.
struct Arc {
  int from = 0, to = 0;
  double gbps = 0;  ///< as in the document; capacity() may have been corrected by a measurement
  machine::LinkKind kind = machine::LinkKind::pcie;
  machine::Source source = machine::Source::assumed;
  bool peer_access = true;
  double latency_us = 0;  ///< 0 where the document gives none
};

/// The way one copy takes between two memories, resting in no memory on the way.
struct Hop {
  int from = 0, to = 0;
  std::vector<int> arcs;                  ///< in order of travel; empty where there is no way, and within one device
  double gbps = 0;                        ///< of the narrowest arc; 0 where there is no way
  const machine::Curve* curve = nullptr;  ///< measured by copy engine, one way; nullptr where there is none
  double curve_gbps = 0;                  ///< what the curve tends to

  bool exists() const { return gbps > 0; }
  /// Returns the rate of one copy over this hop: measured where it was, else that of the narrowest arc.
  double rate() const { return curve != nullptr ? curve_gbps : gbps; }
};

class Network {
 public:
  explicit Network(const machine::Machine& machine);

  const machine::Machine& machine() const { return machine_; }
  const machine::Device& device(int index) const { return machine_.devices[index]; }
  int devices() const { return int(machine_.devices.size()); }
  /// Returns the number of the device with exactly this id; -1 when there is none.
  int index(std::string_view id) const;
  bool is(int device, machine::DeviceKind kind) const { return machine_.devices[device].kind == kind; }
  /// Returns the numbers of all GPUs, in the machine's order.
  std::vector<int> gpus() const;

  const std::vector<Arc>& arcs() const { return arcs_; }
  const std::vector<double>& capacity() const { return capacity_; }
  /// "gpu0>nvswitch0", "gpu0<>nvswitch0" (both directions together), "host0:write", "gpu0:engines".
  std::string resource_name(int resource) const;
  /// Describes a resource's capacity: GB/s with the unit, or "3 copy engines".
  std::string resource_capacity(int resource) const;
  /// Returns the resource of what leaves a device over all its links; write_limit(): of what arrives there.
  int read_limit(int device) const { return limit(device, kRead); }
  int write_limit(int device) const { return limit(device, kWrite); }

  /// Finds the way that a copy takes between two memories: the widest one, with the fewest links among equally wide
  /// ones. Between GPUs that NVLink joins, directly or by NVSwitches, it takes NVLink alone, as GPUs do however fast
  /// PCIe is. Between others it passes switches, and host root complexes only over links with peer_access; to and
  /// from host memory it passes those freely. It never passes a GPU or a NIC.
  Hop find_hop(int from, int to) const;

  /// Returns the resources that a byte travelling over `hop` uses: the arcs and their sums of both directions, the
  /// source's read and the destination's write limit (a GPU's only towards another GPU), and for `engine` the time of
  /// a copy engine of the GPU that drives it (the source, or the destination when the source is host memory).
  /// `reverse` asks for the same copy the other way.
  std::vector<Usage> usage(const Hop& hop, machine::Method method, bool reverse) const;

  /// Returns the capacity of one direction of a link; with `both_ways`, when as much travels the other way.
  double arc_capacity(int arc, bool both_ways) const;
  /// Returns the rates at which host memory can send, receive, and pass on (write and read again); with `both_ways`,
  /// when as much is sent, received or passed on the other way. Infinite where nothing is known, and for GPUs, whose
  /// links limit them.
  double out_of_memory(int device, bool both_ways) const;
  double into_memory(int device, bool both_ways) const;
  double through_memory(int device, bool both_ways) const;

  /// Fair rates of flows that run together. Host memory gives way softly: a limit measured with all GPUs reading (or
  /// writing) is not quite reached by fewer, since each is slowed a little by each other one.
  std::vector<double> rates(std::span<const Flow* const> flows) const;

  /// Lets measured copies correct what the links claim: a figure that was not measured and is the narrowest of a
  /// hop becomes what the best copy over it delivered, and no limit stays below what a copy delivered.
  void calibrate(const std::vector<const Hop*>& hops);

 private:
  enum Limit { kRead, kWrite, kReadWrite, kEngines, kLimits };
  int limit(int device, Limit which) const { return first_limit_ + device * kLimits + which; }
  /// Sets the widest way over usable arcs, with the fewest of them; false: there is none.
  template <class Usable>
  bool find_widest(Hop& hop, const Usable& usable) const;
  std::vector<char> passable(int from, int to) const;
  double demand_on(int host, Limit which) const;

  const machine::Machine& machine_;
  std::vector<Arc> arcs_;
  std::vector<std::vector<int>> out_;  ///< arcs leaving each device, in the document's order
  std::vector<double> capacity_;       ///< arcs, then sums of both directions, then the devices' limits
  int first_both_ = 0, first_limit_ = 0;
};

/// Adds one use, or several, so that each resource stays listed once. They are few: a search beats any table.
void add(std::vector<Usage>& uses, const Usage& use);
void merge(std::vector<Usage>& uses, const std::vector<Usage>& more);

}  // namespace sennit::path
