#include "sim/placement.h"

#include <algorithm>

#include <fmt/format.h>

namespace sennit::sim {

using device::Recording;
using device::Step;
using device::Strand;
using machine::DeviceKind;
using machine::Method;

Result<Placement> Placement::create(const Recording& recording, const Fabric& fabric, const Costs& costs,
                                    const std::vector<std::string>& gpus) {
  const machine::Machine& machine = fabric.network().machine();
  if (gpus.size() != static_cast<std::size_t>(recording.ranks))
    return Status(Code::invalid_argument, fmt::format("{} GPUs for {} ranks", gpus.size(), recording.ranks), {},
                  "Name a GPU of the machine for each rank");
  Placement placement(recording, fabric, costs);
  for (const std::string& id : gpus) {
    const machine::Device* const device = machine.find(id);
    if (device == nullptr || device->kind != DeviceKind::gpu)
      return Status(Code::invalid_argument, fmt::format("machine '{}' has no GPU '{}'", machine.name, id), {},
                    "Use the ids that `sennit topo --machine` shows");
    placement.gpus_.push_back(static_cast<int>(device - machine.devices.data()));
  }
  if (auto status = placement.place_regions(); !status) return status;
  placement.folds_.assign(recording.strands.size(), 1);
  placement.shares_.assign(recording.strands.size(), 1);
  for (const device::Launch& launch : recording.launches)
    for (std::uint32_t i = 0; i < launch.recorded; ++i) {
      placement.folds_[launch.first + i] = launch.fold;
      placement.shares_[launch.first + i] = launch.blocks;
    }
  return placement;
}

/// Where some GPU cannot reach another one, scratch lies in host memory: each rank's in its own socket's.
Status Placement::place_regions() {
  const path::Network& network = fabric_->network();
  bool all_reach = true;
  for (const int from : gpus_)
    for (const int to : gpus_) all_reach = all_reach && (from == to || network.find_hop(from, to).exists());
  for (const device::Region& region : recording_->regions) {
    const int gpu = gpus_[static_cast<std::size_t>(region.rank)];
    places_.push_back(region.name == "scratch" && !all_reach ? fabric_->host_of(gpu) : gpu);
  }
  if (!all_reach && fabric_->host_of(gpus_.front()) < 0)
    return Status(Code::unsupported, "the GPUs do not reach each other, and there is no host memory", {},
                  "Add the missing links to the machine's file");
  return {};
}

/// Returns the SMs of a GPU; those of an H200 where the machine does not say.
int Placement::sms_of(int gpu) const {
  const int known = fabric_->network().device(gpu).sm_count;
  return known > 0 ? known : 132;
}

Result<Demand> Placement::demand(std::uint32_t index, const Step& step, double moves, bool packets) const {
  const Strand& strand = recording_->strands[index];
  const bool lane = strand.block < 0;
  const int self = gpu_of(index);
  std::vector<int> places;
  for (unsigned k = 0; k < step.sources + step.destinations; ++k) {
    const std::uint32_t region = strand.ends[step.ends + k].region;
    if (region >= places_.size())
      return Status(Code::invalid_argument, "a step refers to memory of no region",
                    device::describe(*recording_, index), "Check the recording: sennit check");
    places.push_back(places_[region]);
  }
  Demand demand;
  Status failed;
  const auto take = [&](int from, int to, double weight) {
    // Stores cross a link without waiting for an answer; loads do not.
    const double efficiency = lane         ? 1
                              : packets    ? costs_->packet_efficiency
                              : to == self ? costs_->load_efficiency
                                           : costs_->link_efficiency;
    if (!fabric_->add_way(from, to, lane ? Method::engine : Method::sm, weight * folds_[index] / efficiency,
                          demand.uses))
      failed = Status(Code::unsupported,
                      fmt::format("no links lead from {} to {}", fabric_->place_name(from), fabric_->place_name(to)),
                      "machine '" + fabric_->network().machine().name + "'", "Add the missing links to its file");
  };
  if (lane) {  // by an engine, straight
    take(places[0], places[1], 1);
    if (demand.uses.empty()) path::add(demand.uses, {fabric_->memory(self), 1});
  } else {  // by way of the block
    for (unsigned k = 0; k < places.size(); ++k) {
      const double weight = strand.ends[step.ends + k].packets ? 2 : 1;  // tags
      k < step.sources ? take(places[k], self, weight) : take(self, places[k], weight);
    }
    path::add(demand.uses, {fabric_->memory(self), folds_[index]});
    const double gbps = packets            ? costs_->packet_gbps
                        : step.sources > 1 ? costs_->block_reduce_gbps / step.sources
                                           : costs_->block_gbps;
    demand.gbps = gbps * std::min(1.0, costs_->blocks_per_sm * sms_of(self) / shares_[index]) / moves;
  }
  if (!failed.ok()) return failed;
  return demand;
}

}  // namespace sennit::sim
