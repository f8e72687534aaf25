#include "bench/put/rig.h"

#include <fmt/format.h>

#include "base/units.h"
#include "comm/exchange.h"

namespace sennit::bench::put {

namespace {

constexpr std::uint64_t kLargePage = 2 * MiB;

}  // namespace

Result<std::unique_ptr<Rig>> Rig::open(node::Node& node, const Job& job, std::uint64_t room) {
  std::unique_ptr<Rig> rig(new Rig(node));
  rig->room_ = room;
  Status ready = job.in_one_process() ? rig->one_sided_.prepare() : Status();
  if (ready.ok()) ready = rig->allocate(job);
  auto agreed = comm::agree(node.group().exchange(), ready, {});
  if (!agreed) return agreed.status();
  if (job.in_one_process()) return rig;
  device::Memory* destination = node.rank() < 2 ? &rig->side(node.rank()).destination : nullptr;
  auto window = rig->one_sided_.open(destination != nullptr ? destination->data() : nullptr,
                                     destination != nullptr ? destination->bytes() : 0);
  if (!window) return window.status();
  rig->window_ = *window;
  return rig;
}

Status Rig::allocate(const Job& job) {
  device::Executor& executor = node_.executor();
  // Whole pages of 2 MiB, as PyTorch allocates: memory of other sizes CUDA maps in small pages, and copy engines that
  // push into it both ways reach 240 to 310 instead of 390 GB/s (H200).
  const std::uint64_t bytes = (room_ + 2 * kMargin + kLargePage - 1) / kLargePage * kLargePage;
  const int gpu = job.from.is_host() ? job.to.device : job.from.device;
  for (int number = 0; number < 2; ++number) {
    if (!job.in_one_process() && number != node_.rank()) continue;
    Side side;
    side.device = (number == 0 ? job.from : job.to).device;
    for (device::Memory* memory : {&side.source, &side.destination}) {
      auto made =
          side.device == path::kHost ? executor.allocate_pinned(bytes) : executor.allocate(side.device, bytes);
      if (!made) return std::move(made).status().in(fmt::format("buffers for messages of {}", format_bytes(room_)));
      *memory = std::move(*made);
    }
    // The communicator's own lane, as a program without streams would use.
    const int lane_device = side.device == path::kHost ? gpu : side.device;
    if (lane_device == node_.device() && (number == 0 || !job.in_one_process())) {
      side.lane = &node_.lane();
    } else {
      auto lane = executor.lane(lane_device);
      if (!lane) return lane.status();
      side.own_lane = std::move(*lane);
      side.lane = side.own_lane.get();
    }
    sides_[std::size_t(number)] = std::move(side);
  }
  return {};
}

Status Rig::close() {
  if (window_ == nullptr) return {};
  return one_sided_.close(window_);
}

Result<path::End> Rig::target(int number, std::uint64_t offset, std::uint64_t bytes) {
  if (!in_one_process()) return window_->end(1 - number, offset, bytes);
  Side& other = side(1 - number);
  return path::End::local(other.destination.data() + offset, other.device);
}

}  // namespace sennit::bench::put
