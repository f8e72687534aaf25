#include "shim/mpi/rma/windows.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/backoff.h"
#include "base/log.h"
#include "coll/reduce_rows.h"

namespace sennit::shim::mpi {

std::optional<std::int64_t> offset_of(std::int64_t place, std::int64_t unit, const Span& span, std::uint64_t bytes) {
  std::int64_t at = 0, first = 0, last = 0;
  if (__builtin_mul_overflow(place, unit, &at) || __builtin_add_overflow(at, span.first, &first) ||
      __builtin_add_overflow(at, span.last, &last))
    return std::nullopt;
  if (first < 0 || last < first || static_cast<std::uint64_t>(last) > bytes) return std::nullopt;
  return at;
}

/// Holds what ranks tell each other of their memory.
struct Windows::Description {
  std::uint32_t gpu, wrong;
  std::int64_t unit;
  std::uint64_t bytes;
  msg::IpcHandle lent;
};

Windows::Shared Windows::find(Handle window) const {
  const std::shared_lock lock(mutex_);
  const auto found = all_.find(window);
  return found != all_.end() ? found->second : nullptr;
}

Windows::Shared Windows::find_or_make(Handle window) {
  if (auto known = find(window)) return known;
  const std::lock_guard lock(mutex_);
  auto& made = all_[window];
  if (made == nullptr) {
    made = std::make_shared<Window>();
    count_.store(static_cast<int>(all_.size()), std::memory_order_release);
  }
  return made;
}

std::string Windows::prepare(Handle comm, WindowMemory memory, std::int64_t unit, bool gpu, Window& window) {
  CommShape shape;
  if (tools_.mpi.shape(comm, shape) != 0) return "no such communicator";
  std::string why;
  Description mine{};
  mine.gpu = gpu ? 1 : 0;
  mine.unit = unit;
  mine.bytes = static_cast<std::uint64_t>(memory.bytes);
  if (tools_.ipc_cache == nullptr) {
    why = "the job's ranks could not meet";
  } else if (gpu) {
    if (auto lent = tools_.ipc_cache->export_memory(memory.base, mine.bytes))
      mine.lent = *lent;
    else
      why = lent.status().text();
  }
  mine.wrong = why.empty() ? 0 : 1;
  std::vector<Description> descriptions(static_cast<std::size_t>(shape.size));
  if (tools_.mpi.all_gather(comm, &mine, descriptions.data(), sizeof mine) != 0) return "its ranks could not meet";
  for (int rank = 0; rank < shape.size; ++rank) {
    const Description& description = descriptions[static_cast<std::size_t>(rank)];
    Target target;
    target.gpu = description.gpu != 0;
    target.unit = description.unit;
    target.bytes = description.bytes;
    target.lent = description.lent;
    target.world = tools_.world(comm, rank);
    if (rank == shape.rank) target.own = static_cast<std::byte*>(memory.base);
    if (why.empty() && description.wrong != 0) why = fmt::format("rank {} cannot share its memory", rank);
    if (why.empty() && (target.world < 0 || !tools_.group->same_node(target.world)))
      why = fmt::format("rank {} is on another node", rank);
    window.targets.push_back(std::move(target));
  }
  if (why.empty())
    if (auto status = borrow_all(window); !status) why = status.text();
  std::vector<std::uint32_t> wrong(descriptions.size());
  const std::uint32_t my_wrong = why.empty() ? 0 : 1;
  if (tools_.mpi.all_gather(comm, &my_wrong, wrong.data(), sizeof my_wrong) != 0) return "its ranks could not meet";
  const auto failed = std::ranges::find(wrong, 1U);
  if (why.empty() && failed != wrong.end())
    why = fmt::format("rank {} cannot reach the memory of another one", failed - wrong.begin());
  return why;
}

Status Windows::borrow_all(Window& window) {
  for (Target& target : window.targets) {
    if (!target.gpu) continue;
    const int device =
        target.own != nullptr ? tools_.holder(target.own) : tools_.gpus->executor().find(target.lent.device);
    if (auto reached = reach(target, std::max(device, 0)); !reached) return reached.status();
  }
  return {};
}

Result<std::byte*> Windows::reach(Target& target, int device) {
  if (target.own != nullptr) return target.own;
  auto& mapping = target.mappings[device];
  if (mapping == nullptr) {
    auto borrowed = tools_.ipc_cache->import_memory(target.world, target.lent, device);
    if (!borrowed) return borrowed.status();
    mapping = std::move(borrowed->mapping);
  }
  return mapping->base + target.lent.offset;
}

int Windows::any_gpu(const Mpi& mpi, Handle comm, bool mine, bool& any) {
  any = false;
  CommShape shape;
  if (mpi.shape(comm, shape) != 0 || shape.inter) return 0;  // the real function says so
  const std::uint8_t gpu = mine ? 1 : 0;
  std::vector<std::uint8_t> gpus(static_cast<std::size_t>(shape.size));
  const int code = mpi.all_gather(comm, &gpu, gpus.data(), 1);
  any = std::ranges::find(gpus, 1) != gpus.end();
  return code == 0 ? 0 : mpi.fail(comm, code);
}

int Windows::create(Handle comm, WindowMemory memory, std::int64_t unit, const Make& make, Status& why) {
  Handle made = kNoHandle;
  const bool gpu = memory.bytes > 0 && tools_.holder(memory.base) >= 0;
  auto window = std::make_shared<Window>();
  window->memory = memory;
  const std::string out_of_reach = prepare(comm, memory, unit, gpu, *window);
  tools_.tell(static_cast<std::uint64_t>(memory.bytes),
              out_of_reach.empty() ? "its ranks reach each other's GPU memory"
                                   : fmt::format("mirrored in host memory: {}", out_of_reach));
  if (!out_of_reach.empty()) {
    log(LogLevel::info, fmt::format("a window goes through host memory: {}", out_of_reach));
    why = mirror(comm, gpu, *window);
    if (!why.ok()) {
      let_go(*window);
      return tools_.mpi.err_other();
    }
  }
  // The kernels that GPUs accumulate with are loaded before anything waits for them: see Executor::load.
  if (gpu && tools_.gpus != nullptr && !window->mirrored)
    (void)coll::load_reduce_rows(tools_.gpus->executor(), tools_.holder(memory.base));
  // No duplicate, whose making calls what the program has for its attributes.
  if (const int code = tools_.mpi.split(comm, 0, 0, window->comm); code != 0) {
    let_go(*window);
    return tools_.mpi.fail(comm, code);
  }
  // MPI gets memory for this rank: the program's own memory of the host, what stands for a GPU's, or a placeholder.
  WindowMemory shown = memory;
  if (window->mirror != nullptr)
    shown.base = window->mirror->data();
  else if (gpu)
    shown = {window->anchor.data(), sizeof(std::uint64_t)};
  if (const int code = make(shown.base, shown.bytes, made); code != 0) {
    let_go(*window);
    return code;
  }
  const std::lock_guard lock(mutex_);
  all_[made] = std::move(window);
  count_.store(static_cast<int>(all_.size()), std::memory_order_release);
  return 0;
}

Status Windows::mirror(Handle comm, bool gpu, Window& window) {
  window.mirrored = true;
  for (Target& target : window.targets) target.mirrored = std::exchange(target.gpu, false);
  Status status;
  if (gpu && tools_.gpus == nullptr) {
    status = Status(Code::unsupported, "no GPU answers here");
  } else if (gpu) {
    auto made = PublicCopy::make(*tools_.gpus, *tools_.host, static_cast<std::byte*>(window.memory.base),
                                 static_cast<std::uint64_t>(window.memory.bytes), tools_.holder(window.memory.base));
    if (made.ok())
      window.mirror = std::move(*made);
    else
      status = made.status();
  }
  CommShape shape;
  if (tools_.mpi.shape(comm, shape) != 0) return Status(Code::invalid_argument, "no such communicator");
  const std::uint8_t mine = status.ok() ? 1 : 0;
  std::vector<std::uint8_t> all(static_cast<std::size_t>(shape.size));
  if (tools_.mpi.all_gather(comm, &mine, all.data(), 1) != 0)
    return Status(Code::peer_lost, "the ranks of a window could not meet");
  if (!status.ok()) return std::move(status).in("mirror a window's GPU memory in host memory");
  const auto failed = std::ranges::find(all, 0);
  return failed == all.end() ? Status()
                             : Status(Code::out_of_memory, fmt::format("rank {} has no host memory to mirror its "
                                                                       "window's GPU memory in",
                                                                       failed - all.begin()));
}

int Windows::settle(Window& window) {
  const std::lock_guard lock(window.mutex);
  if (window.mirror == nullptr) return 0;
  const auto status = window.mirror->settle();
  if (status.ok()) return 0;
  log(LogLevel::error, fmt::format("a window's GPU memory and its mirror: {}", status.text()));
  return tools_.mpi.err_other();
}

int Windows::settle(Handle handle) {
  const auto window = find(handle);
  const int code = window != nullptr ? settle(*window) : 0;
  return code == 0 ? 0 : tools_.windows.fail(handle, code);
}

int Windows::settle_all(Handle handle) {
  if (!is_mirrored(handle)) return 0;
  // No rank begins to use a mirror that is not settled.
  const int code = settle(handle);
  return code == 0 ? meet(handle) : code;
}

bool Windows::is_mirrored(Handle handle) const {
  const auto window = find(handle);
  return window != nullptr && window->mirrored;
}

Windows::Shared Windows::begin_free(Handle handle) {
  (void)finish(handle);
  // Data that others put there is there once they are here.
  if (is_mirrored(handle) && meet(handle) == 0) (void)settle(handle);
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(handle);
  if (found == all_.end()) return nullptr;
  Shared known = std::move(found->second);
  all_.erase(found);
  count_.store(static_cast<int>(all_.size()), std::memory_order_release);
  return known;
}

void Windows::stay(Handle handle, Shared known) {
  if (known == nullptr) return;
  const std::lock_guard lock(mutex_);
  all_[handle] = std::move(known);
  count_.store(static_cast<int>(all_.size()), std::memory_order_release);
}

void Windows::end_free(const Shared& window) {
  if (window == nullptr) return;
  if (copy_out(std::exchange(window->pending, {})) != 0)
    log(LogLevel::error, "MPI_Win_free: what came from other ranks is not in GPU memory");
  let_go(*window);
}

void Windows::let_go(Window& window) {
  for (Target& target : window.targets) {
    target.mappings.clear();
    if (tools_.ipc_cache == nullptr || target.lent.identity == 0) continue;
    if (target.own != nullptr)
      tools_.ipc_cache->release(target.lent.identity);
    else
      tools_.ipc_cache->unmap(target.world, target.lent.identity);
  }
  if (window.comm != kNoHandle) (void)tools_.mpi.free(window.comm);
}

const WindowMemory* Windows::memory_of(Handle handle) const {
  const auto window = find(handle);
  return window != nullptr && window->comm != kNoHandle ? &window->memory : nullptr;
}

int Windows::finish(Window& window) {
  int code = 0;
  for (auto& [device, busy] : window.busy)
    if (std::exchange(busy, false) && !window.lanes[device]->synchronize()) code = tools_.mpi.err_other();
  return code;
}

int Windows::finish(Handle handle) {
  const auto window = find(handle);
  if (window == nullptr) return 0;
  std::unique_lock lock(window->mutex);
  const int code = finish(*window);
  lock.unlock();  // an error handler may use the window
  return code == 0 ? 0 : tools_.windows.fail(handle, code);
}

Windows::Brought Windows::take_pending(Handle handle, int rank) {
  const auto window = find(handle);
  if (window == nullptr) return {};
  const std::lock_guard lock(window->mutex);
  Brought taken, left;
  for (Pending& one : window->pending)
    (rank == kEveryRank || one.rank == rank ? taken : left).push_back(std::move(one));
  window->pending = std::move(left);
  return taken;
}

void Windows::keep_pending(Handle handle, Brought brought) {
  const auto window = find(handle);
  if (window == nullptr) return;
  const std::lock_guard lock(window->mutex);
  window->pending.insert(window->pending.begin(), std::make_move_iterator(brought.begin()),
                         std::make_move_iterator(brought.end()));
}

Status Windows::bring(const Pending& one) {
  if (one.scattered) return one.staged->copy_out(-1);
  if (one.to == nullptr) return {};
  return one.region->write_image(copy_by(tools_.holder(one.to + one.region->span().first)), one.to, one.image);
}

int Windows::copy_out(const Brought& brought) {
  int code = 0;
  for (const Pending& one : brought)
    if (!bring(one)) code = tools_.mpi.err_other();
  return code;
}

int Windows::copy_out(Handle handle, const Brought& brought) {
  const int code = copy_out(brought);
  return code == 0 ? 0 : tools_.windows.fail(handle, code);
}

Status Windows::check(Handle handle) const {
  if (tools_.group == nullptr || !tools_.group->failed()) return {};
  const auto window = find(handle);
  std::vector<int> ranks;
  if (window != nullptr)
    for (const Target& target : window->targets) ranks.push_back(target.world);
  return tools_.group->check(ranks);
}

int Windows::wait_for(Handle window, Handle request) {
  bool done = false;
  for (Backoff backoff;; backoff.wait()) {
    if (const int code = tools_.mpi.done(request, done); code != 0) return tools_.windows.fail(window, code);
    if (done) return 0;
    if (auto lost = check(window); !lost.ok()) {
      log(LogLevel::error, fmt::format("rank {}: MPI_Win_...: {}", tools_.group->rank(), lost.text()));
      return tools_.windows.fail(window, tools_.mpi.err_lost());
    }
    tools_.progress();
  }
}

int Windows::meet(Handle handle) {
  const auto window = find(handle);
  if (window == nullptr || window->comm == kNoHandle) return 0;
  Handle request = kNoHandle;
  const int code = tools_.mpi.begin_barrier(window->comm, request);
  return code == 0 ? wait_for(handle, request) : tools_.windows.fail(handle, code);
}

void Windows::hold(Handle handle, int rank, bool held) {
  const auto window = find(handle);
  if (window == nullptr) return;
  const std::lock_guard lock(window->mutex);
  for (std::size_t i = 0; i < window->targets.size(); ++i)
    if (rank < 0 || static_cast<std::size_t>(rank) == i)
      window->targets[i].lock = held ? Target::asked : Target::free;
}

int Windows::post(Handle handle, Handle group) {
  const auto window = find(handle);
  std::vector<int> ranks;
  if (window == nullptr || window->comm == kNoHandle) return 0;
  int code = tools_.windows.ranks(group, window->comm, ranks);
  for (const int rank : ranks)
    if (code == 0) code = tools_.windows.post(window->comm, rank);
  return code == 0 ? 0 : tools_.windows.fail(handle, code);
}

int Windows::await_posts(Handle handle, Handle group) {
  const auto window = find(handle);
  std::vector<int> ranks;
  if (window == nullptr || window->comm == kNoHandle) return 0;
  int code = tools_.windows.ranks(group, window->comm, ranks);
  if (code != 0) ranks.clear();
  for (const int rank : ranks) {
    Handle request = kNoHandle;
    code = tools_.windows.begin_await(window->comm, rank, request);
    if (code != 0) break;
    if (const int waited = wait_for(handle, request); waited != 0) return waited;
  }
  return code == 0 ? 0 : tools_.windows.fail(handle, code);
}

Copy Windows::copy_by(int device) {
  return [this, device](void* to, const void* from, std::uint64_t bytes) {
    return tools_.gpus->copy(to, from, bytes, std::max(device, 0));
  };
}

}  // namespace sennit::shim::mpi
