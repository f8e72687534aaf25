// Does the accumulating calls of windows.
#include <algorithm>

#include <fmt/format.h>

#include "coll/reduce_rows.h"
#include "shim/mpi/rma/accumulation.h"
#include "shim/mpi/rma/target_lock.h"
#include "shim/mpi/rma/window_parts.h"
#include "shim/mpi/rma/windows.h"

namespace sennit::shim::mpi {

namespace {

/// Bytes of an origin in host memory that are brought to a GPU at a time: a default. A window keeps so much memory of
/// the GPU from then on.
constexpr std::uint64_t kBrought = std::uint64_t{8} << 20;

Status of_other_length(const Region& here, std::uint64_t bytes) {
  return Status(Code::invalid_argument, fmt::format("{} bytes here are {} bytes there", here.bytes(), bytes));
}

}  // namespace

Result<Windows::How> Windows::accumulate(const Reaching& reaching) {
  std::string_view why;
  if (const auto whole = on_gpu(reaching, why)) {
    if (auto status = accumulate_on_gpu(reaching, *whole); !status) return status;
    return How{"by a GPU, under a lock", {}};
  }
  if (auto status = accumulate_on_host(reaching); !status) return status;
  return How{"under a lock", why};
}

std::optional<Accumulation> Windows::on_gpu(const Reaching& reaching, std::string_view& why) const {
  const auto& [call, remote, window, target, there, at, device] = reaching;
  why = ", by the host: GPUs do not compare and swap";
  if (call.family == Family::Compare_and_swap) return std::nullopt;
  why = ", by the host: a type has gaps";
  if (!there.dense()) return std::nullopt;
  Accumulation whole;
  whole.target = at + there.span().first;
  whole.bytes = there.bytes();
  for (const Part& part : call.all()) {
    if (part.access == Access::in && !part.significant) continue;
    const auto here = region_of(tools_.mpi, part);
    if (!here || !here->dense() || here->bytes() != whole.bytes) return std::nullopt;
    std::byte* const first = address_of(part) + here->span().first;
    if (part.access == Access::in)
      whole.origin = first;
    else
      whole.result = first;
  }
  why = ", by the host: its buffers overlap";
  if (whole.overlaps()) return std::nullopt;
  // Copies alone: fewer than by way of the host, whatever the length.
  if (whole.origin == nullptr || tools_.windows.is_replace(remote.op)) return whole;
  whole.reduction = reduction_of(tools_.mpi, tools_.windows.element_of(remote.type), remote.op);
  const bool brings = tools_.holder(whole.origin) != device;
  why = ", by the host: GPUs do not have this operation on this type";
  if (!whole.reduction) return std::nullopt;
  why = ", by the host: SENNIT_ACCUMULATE";
  if (whole.bytes < tools_.sums_from) return std::nullopt;
  why = ", by the host: elements lie at no multiple of their length";
  if (!whole.aligned(brings ? nullptr : whole.origin)) return std::nullopt;
  why = ", by the host: the GPU has no memory to bring it to";
  if (brings && room_to_bring(reaching) == nullptr) return std::nullopt;
  why = ", by the host: the GPU does not reach the target's";
  // Kernels of the device reach memory that is mapped for its lanes, too.
  const int holder = target.own != nullptr ? tools_.holder(target.own) : device;
  if (holder != device && !tools_.gpus->executor().reaches(device, holder)) return std::nullopt;
  return whole;
}

std::byte* Windows::room_to_bring(const Reaching& reaching) const {
  auto& memory = reaching.window.brought[reaching.device];
  if (memory.data() == nullptr)
    if (auto made = tools_.gpus->executor().allocate(reaching.device, kBrought)) memory = std::move(*made);
  return memory.data();
}

Status Windows::accumulate_on_gpu(const Reaching& reaching, const Accumulation& whole) {
  const int device = reaching.device;
  device::Executor& executor = tools_.gpus->executor();
  std::byte* brought = nullptr;
  if (whole.reduction) {
    if (auto status = coll::load_reduce_rows(executor, device); !status) return status;
    if (tools_.holder(whole.origin) != device) brought = room_to_bring(reaching);
  }
  return tools_.gpus->on_lane(device, [&](device::Lane& lane) -> Status {
    const std::uint64_t most = brought != nullptr ? kBrought : whole.bytes;
    for (std::uint64_t done = 0; done < whole.bytes; done += most) {
      Accumulation piece = whole.piece(done, std::min(most, whole.bytes - done));
      if (brought != nullptr) {
        // The origin is copied before the lock is taken, so that others need not wait for it.
        if (auto status = lane.copy(brought, piece.origin, piece.bytes); !status) return status;
        if (auto status = lane.synchronize(); !status) return status;
        piece.origin = brought;
      }
      const auto lock = TargetLock::take(*tools_.group, reaching.target.world);
      if (!lock) return lock.status();
      if (auto status = piece.enqueue(lane); !status) return status;
      if (auto status = lane.synchronize(); !status) return status;
    }
    return {};
  });
}

Status Windows::accumulate_on_host(const Reaching& reaching) {
  const auto& [call, remote, window, target, there, at, device] = reaching;
  const Copy copy = copy_by(device);
  const auto bytes = static_cast<std::size_t>(there.bytes());
  const bool swaps = call.family == Family::Compare_and_swap;
  const Handle element = tools_.windows.element_of(remote.type);
  Shape shape;
  if (tools_.mpi.shape(element, shape) != 0 || shape.size <= 0)
    return Status(Code::invalid_argument, "its type is none of one predefined type");
  const auto count = static_cast<std::int64_t>(bytes) / shape.size;
  auto elements = Region::make(tools_.mpi, count, element);
  if (!elements) return elements.status();

  std::vector<std::byte> packed(bytes), compared(bytes), found(bytes);
  for (const Part& part : call.all()) {
    if (part.access != Access::in || !part.significant) continue;
    auto here = region_of(tools_.mpi, part);
    if (!here) return here.status();
    if (here->bytes() != bytes) return of_other_length(*here, bytes);
    std::byte* const to = swaps && &part == &call.parts[1] ? compared.data() : packed.data();
    if (auto status = here->read(tools_.holder(part.address) >= 0 ? copy : Copy(plain), address_of(part), to);
        !status)
      return status;
  }
  // The images have elements as the operation wants them: some predefined types have gaps.
  std::vector<std::byte> in(static_cast<std::size_t>(count * shape.extent)), out(in.size());
  if (auto status = elements->write(plain, in.data(), packed.data()); !status) return status;
  {
    auto lock = TargetLock::take(*tools_.group, target.world);
    if (!lock) return lock.status();
    if (auto status = there.read(copy, at, found.data()); !status) return status;
    bool writes = true;
    if (swaps) {
      writes = found == compared;
    } else if (tools_.windows.is_no_op(remote.op)) {
      writes = false;
    } else {
      if (auto status = elements->write(plain, out.data(), found.data()); !status) return status;
      if (tools_.windows.reduce(in.data(), out.data(), count, element, remote.op) != 0)
        return Status(Code::invalid_argument, "MPI does not do this operation on this type");
      if (auto status = elements->read(plain, out.data(), packed.data()); !status) return status;
    }
    if (writes)
      if (auto status = there.write(copy, at, packed.data()); !status) return status;
  }
  for (const Part& part : call.all()) {
    if (part.access == Access::in) continue;
    auto here = region_of(tools_.mpi, part);
    if (!here) return here.status();
    if (here->bytes() != bytes) return of_other_length(*here, bytes);
    if (auto status =
            here->write(tools_.holder(part.address) >= 0 ? copy : Copy(plain), address_of(part), found.data());
        !status)
      return status;
  }
  return {};
}

}  // namespace sennit::shim::mpi
