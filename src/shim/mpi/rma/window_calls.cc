// Holds the half of windows that moves data.
#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "shim/mpi/call/message_size.h"
#include "shim/mpi/rma/window_parts.h"
#include "shim/mpi/rma/windows.h"

namespace sennit::shim::mpi {

namespace {

bool is_get(Family family) {
  return family == Family::Get || family == Family::Rget;
}
bool is_put_or_get(Family family) {
  return is_get(family) || family == Family::Put || family == Family::Rput;
}

/// Returns false for types, counts and places that no MPI takes.
bool is_valid(const Call& call, const Remote& remote) {
  Elements there;
  there.type = remote.type;
  there.count = remote.count;
  const auto parts = call.all();
  return remote.place >= 0 && remote.count >= 0 && span_of(call.mpi, there) &&
         std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
           return !part.significant || (part.count() >= 0 && span_of(call.mpi, part.elements));
         });
}

/// Returns the program's own buffers, which stand for themselves.
StandIns own_memory(const Call& call) {
  StandIns memory;
  for (std::size_t i = 0; i < call.all().size(); ++i) memory.at[i] = const_cast<void*>(call.parts[i].address);
  return memory;
}
/// Returns host memory for a call that the MPI refuses before it touches any.
StandIns untouched_memory() {
  alignas(std::max_align_t) static std::array<std::byte, 64> untouched{};
  StandIns memory;
  memory.at.fill(untouched.data());
  return memory;
}

Status out_of_range(const Remote& remote, const Span& span, std::uint64_t bytes) {
  return Status(Code::invalid_argument,
                fmt::format("{} bytes from displacement {} on reach out of rank {}'s memory of {} bytes",
                            span.bytes(), remote.place, remote.rank, bytes));
}

}  // namespace

Windows::Outcome Windows::perform(Call& call, const Remote& remote, const RealCall& real, void* request) {
  // A buffer that is not read may be anything.
  if (remote.op != kNoHandle && tools_.windows.is_no_op(remote.op)) call.parts[0].significant = false;
  const auto is_refused = [&] {
    if (!is_valid(call, remote)) return true;
    return 0 != (remote.op == kNoHandle ? tools_.windows.check(remote.window, remote.rank)
                                        : tools_.windows.check(remote.window, remote.rank, remote.type, remote.op));
  };
  const auto window = find(remote.window);
  // The MPI says so itself, in its own way. A window that is not known here may have no memory at displacement 0
  // (MPI_Win_create_dynamic), where is_refused() looks.
  if (remote.rank >= 0 && (window != nullptr ? is_refused() : !is_valid(call, remote)))
    return {real(untouched_memory(), request)};
  const auto rank = static_cast<std::size_t>(remote.rank);
  if (window == nullptr || remote.rank < 0 || rank >= window->targets.size())
    return staged(call, remote, real, request);
  if (window->targets[rank].mirrored) {
    std::unique_lock lock(window->mutex);
    Outcome outcome = may_reach_mirror(remote, window->targets[rank]);
    lock.unlock();
    if (outcome.why.ok()) return staged(call, remote, real, request);
    outcome.code = tools_.windows.fail(remote.window, outcome.code);
    return outcome;
  }
  if (!window->targets[rank].gpu) return staged(call, remote, real, request);
  if (const int code = await_lock(remote, *window, window->targets[rank]); code != 0) return {code};
  std::unique_lock lock(window->mutex);
  Outcome outcome = direct(call, remote, request != nullptr, *window, window->targets[rank]);
  lock.unlock();  // an error handler may use the window
  if (outcome.why.ok() && request != nullptr)
    outcome.code = tools_.windows.begin_nothing(remote.window, remote.rank, request);
  if (!outcome.why.ok() && outcome.code == 0) outcome.code = tools_.mpi.err_other();
  if (!outcome.why.ok()) outcome.code = tools_.windows.fail(remote.window, outcome.code);
  return outcome;
}

Windows::Outcome Windows::may_reach_mirror(const Remote& remote, const Target& target) const {
  if (target.lock != Target::free)
    return {tools_.mpi.err_other(),
            0,
            {},
            Status(Code::unsupported,
                   fmt::format("rank {}'s GPU memory cannot be reached from all ranks of the window, as on another "
                               "node, and the rank takes no part in a passive epoch",
                               remote.rank),
                   {}, "Use MPI_Win_fence, or post and start, or memory of MPI_Win_allocate")};
  const auto there = Region::make(tools_.mpi, remote.count, remote.type);
  if (!there || there->bytes() == 0 || offset_of(remote.place, target.unit, there->span(), target.bytes)) return {};
  return {tools_.windows.err_range(), 0, {}, out_of_range(remote, there->span(), target.bytes)};
}

Windows::Outcome Windows::staged(Call& call, const Remote& remote, const RealCall& real, void* request) {
  if (remote.rank < 0 || tools_.gpus == nullptr) return {real(own_memory(call), request)};

  auto staged = std::make_shared<StagedBuffers>(*tools_.gpus, *tools_.host);
  if (auto status = staged->make(call, [&](const void* at) { return stage::MemInfo{tools_.holder(at)}; }); !status)
    return {tools_.windows.fail(remote.window, tools_.mpi.err_no_memory()), 0, {}, status};
  if (staged->bytes() == 0) return {real(own_memory(call), request)};
  const std::string_view how =
      is_mirrored(remote.window) ? "staged: ranks out of reach" : "staged: the target is in host memory";
  Outcome outcome{0, message_size(call), how, {}, staged->how()};
  Pending pending{remote.rank, staged};
  for (std::size_t i = 0; i < call.all().size(); ++i) {
    const Part& part = call.parts[i];
    if (part.access == Access::in || staged->memory()[i] == part.address) continue;
    pending.scattered = pending.scattered || staged->scattered(i);
    if (staged->scattered(i)) continue;
    auto region = region_of(tools_.mpi, part);
    if (!region) return {tools_.windows.fail(remote.window, tools_.mpi.err_other()), 0, {}, region.status()};
    pending.to = address_of(part);
    pending.image = static_cast<const std::byte*>(staged->memory()[i]) + region->span().first;
    pending.region = std::move(*region);
  }
  outcome.code = real(staged->memory(), request);
  if (outcome.code != 0) return outcome;
  if (request == nullptr) {
    const auto window = find_or_make(remote.window);
    const std::lock_guard lock(window->mutex);
    window->pending.push_back(std::move(pending));
    return outcome;
  }
  // The call is waited for to its end now: the request that the program gets is done.
  outcome.code = tools_.windows.wait(request);
  if (outcome.code == 0) outcome.why = bring(pending);
  if (!outcome.why.ok()) outcome.code = tools_.windows.fail(remote.window, tools_.mpi.err_other());
  if (outcome.code == 0) outcome.code = tools_.windows.begin_nothing(remote.window, remote.rank, request);
  return outcome;
}

int Windows::await_lock(const Remote& remote, Window& window, Target& target) {
  {
    const std::lock_guard lock(window.mutex);
    if (target.lock != Target::asked) return 0;
  }
  // The mutex is not held: a thread that has the lock may wait for what another thread does with this window.
  if (const int code = tools_.windows.hold(remote.window, remote.rank); code != 0) return code;
  const std::lock_guard lock(window.mutex);
  if (target.lock == Target::asked) target.lock = Target::held;
  return 0;
}

Windows::Outcome Windows::direct(const Call& call, const Remote& remote, bool wait, Window& window, Target& target) {
  Outcome outcome;
  auto there = Region::make(tools_.mpi, remote.count, remote.type);
  if (!there) return {0, 0, {}, there.status()};
  const auto offset = offset_of(remote.place, target.unit, there->span(), target.bytes);
  if (!offset && there->bytes() != 0)
    return {tools_.windows.err_range(), 0, {}, out_of_range(remote, there->span(), target.bytes)};
  // The GPU at this end copies; where that is host memory, the one at the other.
  int device = -1;
  for (const Part& part : call.all())
    if (part.used() && device < 0) device = tools_.holder(data_of(tools_.mpi, part));
  if (device < 0)
    device = target.own != nullptr ? tools_.holder(target.own) : tools_.gpus->executor().find(target.lent.device);
  device = std::max(device, 0);
  outcome.bytes = there->bytes();
  outcome.how = "direct copy";
  if (there->bytes() != 0) {
    auto base = reach(target, device);
    if (!base) return {0, 0, {}, base.status()};
    if (is_put_or_get(call.family)) {
      const auto detail = put_or_get(call, !is_get(call.family), window, *there, *base + *offset, device, wait);
      outcome.why = detail.status();
      if (detail.ok()) outcome.detail = *detail;
    } else {
      const auto how = accumulate({call, remote, window, target, *there, *base + *offset, device});
      outcome.why = how.status();
      if (how.ok()) outcome.how = how->how;
      if (how.ok()) outcome.detail = how->detail;
    }
  }
  return outcome;
}

Result<std::string_view> Windows::put_or_get(const Call& call, bool put, Window& window, const Region& there,
                                             std::byte* at, int device, bool wait) {
  const Part& part = call.parts[0];
  auto here = region_of(tools_.mpi, part);
  if (!here) return here.status();
  if (here->bytes() != there.bytes())
    return Status(Code::invalid_argument,
                  fmt::format("{} bytes here are {} bytes there", here->bytes(), there.bytes()));
  std::byte* const mine = address_of(part);
  if (here->dense() && there.dense()) {
    std::byte* const local = mine + here->span().first;
    std::byte* const remote = at + there.span().first;
    auto& lane = window.lanes[device];
    if (lane == nullptr) {
      auto made = tools_.gpus->executor().lane(device);
      if (!made) return made.status();
      lane = std::move(*made);
    }
    window.busy[device] = true;
    if (auto status = lane->copy(put ? remote : local, put ? local : remote, there.bytes()); !status) return status;
    if (!wait) return std::string_view();
    window.busy[device] = false;
    if (auto status = lane->synchronize(); !status) return status;
    return std::string_view();
  }
  const Copy gpu = copy_by(device);
  StagedBuffers pieces(*tools_.gpus, *tools_.host);
  if (!here->dense()) {
    // The data alone, if it lies in several allocations.
    const auto holder = [&](const void* pointer) { return stage::MemInfo{tools_.holder(pointer)}; };
    if (auto status = pieces.make(call, holder); !status) return status;
    if (pieces.scattered(0) && pieces.memory().types[0] != kNoHandle) {
      auto* const data = static_cast<std::byte*>(pieces.memory()[0]);
      auto status = put ? there.write(gpu, at, data) : there.read(gpu, at, data);
      if (status.ok() && !put) status = pieces.copy_out(-1);
      if (!status) return status;
      return std::string_view(", packed in host memory: in several allocations");
    }
  }
  auto packed = tools_.host->acquire(there.bytes());
  if (!packed) return packed.status();
  const Copy local = tools_.holder(data_of(tools_.mpi, part)) >= 0 ? gpu : Copy(plain);
  auto status = put ? here->read(local, mine, packed->data()) : there.read(gpu, at, packed->data());
  if (status.ok()) status = put ? there.write(gpu, at, packed->data()) : here->write(local, mine, packed->data());
  tools_.host->release(std::move(*packed));
  if (!status) return status;
  return std::string_view(", packed in host memory: a type has gaps");
}

}  // namespace sennit::shim::mpi
