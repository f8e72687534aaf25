#include "path/node.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/units.h"
#include "machine/document.h"

namespace sennit::path {

namespace {

/// Below, memory here is taken for the GPU's own where the two have different plans: a default. A look at it takes
/// 0.3 µs, a hundredth of a 4 MiB put (H200).
constexpr std::uint64_t kLeastGlance = 16 * MiB;

/// One basis for the whole node: the leader's, so that all ranks decide from the same documents.
Result<Basis> agree_on_basis(comm::Group& group, const device::Executor& executor,
                             const std::optional<machine::Machine>& given) {
  std::string text;
  Status status;
  if (group.rank() == group.leader()) {
    auto found = find_basis(executor, given);
    status = found.status();
    if (found.ok())
      text = Json{{"machine", machine::to_json(found->machine)},
                  {"tuned", found->tuned != nullptr ? to_json(*found->tuned) : Json()}}
                 .dump();
  }
  auto texts = comm::agree(group.exchange(), status, std::as_bytes(std::span(text.data(), text.size())));
  if (!texts) return texts.status();
  const comm::Bytes& chosen = (*texts)[static_cast<std::size_t>(group.leader())];
  const char* const origin = "the leader's documents";
  auto document = parse_json({reinterpret_cast<const char*>(chosen.data()), chosen.size()}, origin);
  if (!document) return document.status();
  auto machine = machine::from_json(document->value("machine", Json()), origin);
  if (!machine) return machine.status();
  Basis basis{std::move(*machine), nullptr};
  if (const Json tuned = document->value("tuned", Json()); !tuned.is_null()) {
    auto table = put_table_from_json(tuned, origin);
    if (!table) return table.status();
    basis.tuned = std::make_shared<PutTable>(std::move(*table));
  }
  return basis;
}

}  // namespace

Result<std::unique_ptr<Node>> Node::create(std::unique_ptr<comm::Exchange> exchange,
                                           std::shared_ptr<device::Executor> executor, Options options) {
  std::unique_ptr<Node> node(new Node());
  node->executor_ = std::move(executor);
  node->mappings_ = std::make_unique<Mappings>(*node->executor_);
  auto group = comm::Group::create(std::move(exchange), options.timeout);
  if (!group) return group.status();
  node->group_ = std::move(*group);
  comm::Group& members = *node->group_;
  device::Executor& devices = *node->executor_;
  devices.set_timeout(std::chrono::duration_cast<std::chrono::nanoseconds>(members.limit()));

  const auto count = static_cast<int>(devices.devices().size());
  node->device_ = options.device >= 0 ? options.device : members.node_index(members.rank()) % count;
  Status status;
  if (node->device_ >= count)
    status = Status(Code::invalid_argument, fmt::format("there is no device {}", node->device_), {},
                    fmt::format("Use 0 to {}", count - 1));
  auto lane = status.ok() ? devices.lane(node->device_) : Result<std::unique_ptr<device::Lane>>(status);
  auto agreed = comm::agree(members.exchange(), lane.status(), {});
  if (!agreed) return agreed.status();
  node->lane_ = std::move(*lane);

  auto basis = agree_on_basis(members, devices, options.machine);
  if (!basis) return basis.status();
  auto transport =
      Transport::create(node->executor_, members, node->device_, std::move(*basis), options.machine.has_value(),
                        [self = node.get()](std::uint32_t window, std::uint64_t offset, std::uint64_t bytes) {
                          return self->resolve(window, offset, bytes);
                        });
  // Each rank has an environment of its own: one that cannot work must not leave the others to a node of fewer.
  if (auto alike = comm::agree(members.exchange(), transport.status(), {}); !alike) return alike.status();
  node->transport_ = std::move(*transport);
  // Whatever ends the group must also end kernels that wait for it.
  node->outlasts_failure_ = options.outlast_failure;
  if (!options.outlast_failure) members.on_abort([executor = node->executor_](const Status&) { executor->abort(); });
  return node;
}

Node::~Node() {
  transport_.reset();
  windows_.clear();
  lane_.reset();
  group_.reset();  // before the executor: its thread may still raise the abort
}

Result<std::shared_ptr<Window>> Node::open(void* data, std::uint64_t bytes) {
  std::uint32_t number = 0;
  {
    const std::lock_guard lock(windows_mutex_);
    number = next_window_++;
  }
  auto window = Window::create(*group_, *executor_, *mappings_, device_, number, data, bytes);
  if (!window) return window.status();
  const std::shared_ptr<Window> opened = std::move(*window);
  {
    const std::lock_guard lock(windows_mutex_);
    windows_[number] = opened;
  }
  // No peer may put before this rank's service knows the window.
  if (auto status = group_->exchange().barrier(); !status) return status;
  return opened;
}

Status Node::close(const std::shared_ptr<Window>& window) {
  Status status = group_->exchange().barrier();
  {
    const std::lock_guard lock(windows_mutex_);
    windows_.erase(window->number());
  }
  window->unmap();
  // Whose memory it is may free it now, and not while a peer has it mapped.
  if (status.ok()) status = group_->exchange().barrier();
  return std::move(status).in("deregister memory");
}

void Node::forget(const std::shared_ptr<Window>& window) {
  {
    const std::lock_guard lock(windows_mutex_);
    windows_.erase(window->number());
  }
  window->unmap();
}

Result<std::byte*> Node::resolve(std::uint32_t window, std::uint64_t offset, std::uint64_t bytes) {
  const std::lock_guard lock(windows_mutex_);
  const auto found = windows_.find(window);
  if (found == windows_.end())
    return Status(Code::not_found, fmt::format("window {} is not open on rank {}", window, rank()), {},
                  "Close a window only after all transfers to it are done");
  const std::uint64_t size = found->second->bytes(rank());
  if (offset > size || bytes > size - offset)
    return Status(Code::invalid_argument, "a peer's message reaches beyond the window");
  return found->second->data() + offset;
}

Result<End> Node::local_end(const void* data, std::uint64_t bytes, device::Access access) {
  auto location = executor_->describe(data, bytes);
  if (!location) return location.status();
  if (location->bytes != 0) {
    const auto before = static_cast<std::uint64_t>(static_cast<const std::byte*>(data) - location->base);
    if (bytes > location->bytes - before)
      return Status(Code::invalid_argument,
                    fmt::format("{} from {} reach beyond the allocation, which has {} left", format_bytes(bytes),
                                data, format_bytes(location->bytes - before)),
                    {}, "Check the size of the message");
  } else if (!device::is_usable(data, bytes, access)) {
    // Nobody knows the extent of pageable memory; a byte that is not there would fault on a lane's thread.
    return Status(Code::invalid_argument,
                  fmt::format("a part of the {} from {} cannot be {}", format_bytes(bytes), data,
                              access == device::Access::read ? "read" : "written"),
                  {}, "Check the size of the message, and that the memory is neither freed nor protected");
  }
  End end = End::local(const_cast<void*>(data), location->device);
  end.pageable = location->place == device::Place::pageable;
  return end;
}

bool Node::single(const End& there, const void* data, std::uint64_t bytes, bool put) {
  // Only where the driver itself refuses addresses that are not memory: threads of the host executor would crash.
  if (there.rank < 0 || there.data == nullptr || executor_->kind() != device::Kind::cuda) return false;
  const auto least = [&](int here) {
    return put ? mover().least_split(there.device, here) : mover().least_split(here, there.device);
  };
  const std::uint64_t own = least(device_), pinned = least(kHost);
  const bool alike = (bytes < own) == (bytes < pinned);
  if (alike || bytes < kLeastGlance) return bytes < own;
  const auto here = executor_->holder(data);
  return here && bytes < least(*here);
}

bool Node::single(const void* dst, const void* src, std::uint64_t bytes) {
  if (executor_->kind() != device::Kind::cuda) return false;
  const auto to = executor_->holder(dst), from = executor_->holder(src);
  return to && from && bytes < mover().least_split(*to, *from);
}

Status Node::copy_single(void* dst, const void* src, std::uint64_t bytes, Ours ours, device::Lane& lane) {
  auto status = lane.copy(dst, src, bytes);
  if (status.ok()) return status;
  // The driver only says that something is wrong; the address tells what.
  if (ours.dst)
    if (auto end = local_end(dst, bytes, device::Access::write); !end) return end.status();
  if (ours.src)
    if (auto end = local_end(src, bytes, device::Access::read); !end) return end.status();
  return status;
}

Status Node::put(Window& window, int peer, std::uint64_t offset, const void* src, std::uint64_t bytes,
                 device::Lane& lane) {
  if (auto status = check(); !status) return status;
  auto to = window.end(peer, offset, bytes);
  if (!to) return to.status();
  if (bytes == 0) return {};
  if (single(*to, src, bytes, true)) return copy_single(to->data, src, bytes, {false, true}, lane);
  auto from = local_end(src, bytes, device::Access::read);
  if (!from) return from.status();
  return transport_->move(*to, *from, bytes, lane);
}

Status Node::get(Window& window, int peer, std::uint64_t offset, void* dst, std::uint64_t bytes, device::Lane& lane) {
  if (auto status = check(); !status) return status;
  auto from = window.end(peer, offset, bytes);
  if (!from) return from.status();
  if (bytes == 0) return {};
  if (single(*from, dst, bytes, false)) return copy_single(dst, from->data, bytes, {true, false}, lane);
  auto to = local_end(dst, bytes, device::Access::write);
  if (!to) return to.status();
  return transport_->move(*to, *from, bytes, lane);
}

Status Node::copy(void* dst, const void* src, std::uint64_t bytes, device::Lane& lane) {
  if (auto status = check(); !status) return status;
  if (bytes == 0) return {};
  if (auto status = check_apart(dst, src, bytes); !status) return status;
  if (single(dst, src, bytes)) return copy_single(dst, src, bytes, {true, true}, lane);
  auto to = local_end(dst, bytes, device::Access::write);
  if (!to) return to.status();
  auto from = local_end(src, bytes, device::Access::read);
  if (!from) return from.status();
  return transport_->move(*to, *from, bytes, lane);
}

Status Node::check() const {
  if (group_->failed()) return group_->check();
  return executor_->fault();
}

Status Node::admits() const {
  return outlasts_failure_ ? executor_->fault() : check();
}

Status Node::synchronize(device::Lane& lane) {
  auto status = lane.synchronize();
  // A transfer that gave up because a peer died: the peer is the news.
  if (group_->failed()) return group_->check();
  return status;
}

}  // namespace sennit::path
