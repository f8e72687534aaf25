#include "bench/measure/rig.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "bench/measure/on_node.h"

namespace sennit::bench::measure {

namespace {

int index_of(const device::Executor& executor, const machine::Device& gpu) {
  if (!gpu.uuid.empty())
    if (const int found = executor.find(gpu.uuid); found >= 0) return found;
  const auto& all = executor.devices();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!gpu.pci.empty() && all[i].pci == gpu.pci) return int(i);
  return -1;
}

}  // namespace

int driver_of(const Stop& from, const Stop& to) {
  return from.is_host() ? to.device : from.device;
}

Result<std::unique_ptr<Rig>> Rig::open(std::shared_ptr<device::Executor> executor, const machine::Machine& machine,
                                       std::uint64_t room) {
  std::unique_ptr<Rig> rig(new Rig());
  rig->executor_ = std::move(executor);
  for (const machine::Device& one : machine.devices) {
    Stop stop;
    stop.id = one.id;
    stop.numa = one.numa;
    if (one.kind == machine::DeviceKind::host) {
      rig->hosts_.push_back(std::move(stop));
    } else if (one.kind == machine::DeviceKind::gpu) {
      stop.device = index_of(*rig->executor_, one);
      if (stop.device >= 0)
        rig->gpus_.push_back(std::move(stop));
      else
        rig->hidden_.push_back(one.id);
    }
  }
  if (rig->gpus_.empty() || rig->hosts_.empty())
    return Status(Code::unsupported, "there is nothing to measure: no GPU of this machine is visible to this process",
                  {}, "Check CUDA_VISIBLE_DEVICES and `sennit doctor`, or use --executor host");
  for (std::uint64_t bytes = std::max(room, kLeastRoom);; bytes /= 2) {
    Status status = rig->allocate(bytes);
    if (status) return rig;
    if (status.code() != Code::out_of_memory || bytes / 2 < kLeastRoom) return std::move(status).in("buffers");
  }
}

Status Rig::allocate(std::uint64_t room) {
  const auto fill = [&](Stop& stop) -> Status {
    const OnNode bound(stop.is_host() ? stop.numa : -1);
    for (device::Memory* memory : {&stop.source, &stop.destination}) {
      auto made = stop.is_host() ? executor_->allocate_pinned(room) : executor_->allocate(stop.device, room);
      if (!made) return std::move(made).status().in(stop.id);
      // Pages come from the node of the thread that touches them first.
      if (stop.is_host()) std::memset(made->data(), 0, room);
      *memory = std::move(*made);
    }
    return {};
  };
  for (auto* stops : {&gpus_, &hosts_})
    for (Stop& stop : *stops) stop.source = {}, stop.destination = {};
  for (auto* stops : {&gpus_, &hosts_})
    for (Stop& stop : *stops)
      if (auto status = fill(stop); !status) return status;
  room_ = room;
  return {};
}

const Stop& Rig::host_of(const Stop& gpu) const {
  const auto near = std::ranges::find(hosts_, gpu.numa, &Stop::numa);
  return near != hosts_.end() ? *near : hosts_.front();
}

Result<device::Lane*> Rig::lane(int device, int number) {
  auto& kept = lanes_[{device, number}];
  if (kept == nullptr) {
    auto made = executor_->lane(device);
    if (!made) return std::move(made).status().in(fmt::format("lane of device {}", device));
    kept = std::move(*made);
  }
  return kept.get();
}

}  // namespace sennit::bench::measure
