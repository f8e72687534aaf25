#include "path/node.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/log.h"
#include "base/units.h"
#include "machine/document.h"
#include "machine/known.h"
#include "path/bell.h"
#include "path/extras.h"
#include "path/forced.h"

namespace sennit::path {

namespace {

/// A peer that put to us within this time is taken to go on doing so: its messages and ours share the links. A
/// default: some times the longest message that takes a noticeable part of a second's bandwidth, far below a training
/// step.
constexpr std::uint64_t kExchangeNs = 20'000'000;
/// Messages below never travel on several paths where a GPU takes part; a limit that spares them the looking.
constexpr std::uint64_t kLeastSplit = 1 * MiB;

Status check_apart(const void* dst, const void* src, std::uint64_t bytes) {
  const auto to = reinterpret_cast<std::uintptr_t>(dst), from = reinterpret_cast<std::uintptr_t>(src);
  if (to >= from + bytes || from >= to + bytes) return {};
  return Status(Code::invalid_argument, "source and destination overlap", {}, "Copy by way of another buffer");
}

/// Below, memory here is taken for the GPU's own where the two have different plans: a default. A look at it takes
/// 0.3 µs, a hundredth of a 4 MiB put (H200).
constexpr std::uint64_t kLeastGlance = 16 * MiB;

/// What the ranks of a node decide from.
struct Ground {
  machine::Machine machine;
  std::shared_ptr<const PutTable> tuned;  // null where puts were never tuned
};

Result<Ground> find_ground(const device::Executor& executor, const std::optional<machine::Machine>& given) {
  auto known = given ? Result<machine::Known>({*given, false})
                     : machine::known_machine({}, device::name(executor.kind()), extras_of(executor));
  if (!known) return known.status();
  Ground ground{std::move(known->machine), nullptr};
  if (ground.machine.fingerprint.empty()) return ground;
  auto table = load_put_table(ground.machine.fingerprint);
  if (table.ok())
    ground.tuned = std::make_shared<PutTable>(std::move(*table));
  else if (table.status().code() != Code::not_found)
    log(LogLevel::warning, fmt::format("messages take the direct path alone: {}", table.status().text()));
  return ground;
}

/// One ground for the whole node: the leader's, so that all ranks decide from the same documents.
Result<Ground> agree_on_ground(comm::Group& group, const device::Executor& executor,
                               const std::optional<machine::Machine>& given) {
  std::string text;
  Status status;
  if (group.rank() == group.leader()) {
    auto found = find_ground(executor, given);
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
  Ground ground{std::move(*machine), nullptr};
  if (const Json tuned = document->value("tuned", Json()); !tuned.is_null()) {
    auto table = put_table_from_json(tuned, origin);
    if (!table) return table.status();
    ground.tuned = std::make_shared<PutTable>(std::move(*table));
  }
  return ground;
}

Result<Mover::Options> options_from_environment(bool tuned, bool given) {
  Mover::Options options;
  auto staging = parse_bytes(environment("SENNIT_STAGING"));
  if (!staging) return std::move(staging).status().in("SENNIT_STAGING");
  options.staging_bytes = staging_one_way(*staging);
  // The others are read where they apply, and there a value that means nothing could only be passed over.
  for (const char* name : {"SENNIT_IPC", "SENNIT_PEER"})
    if (auto known = environment_switch(name); !known) return known.status();
  auto adapt = environment_switch("SENNIT_ADAPT");
  if (!adapt) return adapt.status();
  options.adapt = *adapt;
  if (auto level = parse_log_level(environment("SENNIT_LOG")); !level) return level.status();
  if (const std::string shares = environment("SENNIT_SPLIT"); !shares.empty()) {
    auto forced = parse_forced(shares);
    if (!forced) return std::move(forced).status().in("SENNIT_SPLIT");
    options.forced = std::move(*forced);
  }
  // Several paths only where they measured faster here, or where somebody named the machine to plan from.
  options.single = !tuned && !given && environment("SENNIT_MACHINE").empty() && options.forced.empty();
  return options;
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

  auto ground = agree_on_ground(members, devices, options.machine);
  if (!ground) return ground.status();
  Node* self = node.get();
  auto mover = [&]() -> Result<std::unique_ptr<Mover>> {
    auto chosen = options_from_environment(ground->tuned != nullptr, options.machine.has_value());
    if (!chosen) return chosen.status();
    chosen->tuned = ground->tuned;
    chosen->courier_device = self->device_;
    if (members.node_ranks().size() > 1)
      chosen->courier = [self](int peer, Errand errand, RingShape shape) {
        return self->courier(peer, errand, shape);
      };
    return Mover::create(node->executor_, std::move(ground->machine), std::move(*chosen));
  }();
  // Each rank has an environment of its own: one that cannot work must not leave the others to a node of fewer.
  if (auto alike = comm::agree(members.exchange(), mover.status(), {}); !alike) return alike.status();
  node->mover_ = std::move(*mover);
  if (members.node_ranks().size() > 1)
    node->service_ = std::make_unique<CourierService>(
        devices, members, node->device_,
        [self](std::uint32_t number, std::uint64_t offset, std::uint64_t bytes) -> Result<std::byte*> {
          const std::lock_guard lock(self->windows_mutex_);
          const auto found = self->windows_.find(number);
          if (found == self->windows_.end())
            return Status(Code::not_found, fmt::format("window {} is not open on rank {}", number, self->rank()), {},
                          "Close a window only after all transfers to it are done");
          const std::uint64_t size = found->second->bytes(self->rank());
          if (offset > size || bytes > size - offset)
            return Status(Code::invalid_argument, "a peer's message reaches beyond the window");
          return found->second->data() + offset;
        });
  // Whatever ends the group must also end kernels that wait for it.
  if (!options.outlast_failure) members.on_abort([executor = node->executor_](const Status&) { executor->abort(); });
  return node;
}

Node::~Node() {
  service_.reset();
  mover_.reset();
  couriers_.clear();
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

Result<Courier*> Node::courier(int peer, Errand errand, RingShape shape) {
  const std::lock_guard lock(couriers_mutex_);
  auto& made = couriers_[{peer, errand}];
  if (made == nullptr) {
    // One ring for all messages to the peer: as wide as any plan of this machine asks for.
    for (const auto& staged : mover_->machine().staged)
      if (staged.method == machine::Method::sm && staged.blocks > 0)
        shape.blocks = std::max(shape.blocks, static_cast<unsigned>(staged.blocks));
    auto courier = Courier::create(*executor_, *group_, device_, peer, errand, shape);
    if (!courier) return courier.status();
    made = std::move(*courier);
  }
  return made.get();
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
    return put ? mover_->least_split(there.device, here) : mover_->least_split(here, there.device);
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
  return to && from && bytes < mover_->least_split(*to, *from);
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

bool Node::both_ways(int peer) {
  // Word 2 of this rank's slot for the peer says when it last put there or fetched from there. Both write their own
  // and read the other's; a reading that is a little old only costs a split that is a little off.
  comm::Group& members = *group_;
  const auto slot_of = [&](int mine, int other) -> std::atomic<std::uint64_t>& {
    return members.control().slot(members.node_index(mine), kOfferSlot + members.node_index(other)).words[2];
  };
  const auto now = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
  slot_of(members.rank(), peer).store(now, std::memory_order_relaxed);
  const std::uint64_t theirs = slot_of(peer, members.rank()).load(std::memory_order_relaxed);
  return theirs != 0 && now - std::min(now, theirs) < kExchangeNs;
}

Status Node::move(End dst, End src, std::uint64_t bytes, device::Lane& lane) {
  if (dst.rank < 0 && src.rank < 0)
    if (auto status = check_apart(dst.data, src.data, bytes); !status) return status;
  const int peer = std::max(dst.rank, src.rank);
  const bool exchange = peer >= 0 && bytes >= kLeastSplit && both_ways(peer);
  return mover_->copy(dst, src, bytes, lane, exchange);
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
  return move(*to, *from, bytes, lane);
}

Status Node::get(Window& window, int peer, std::uint64_t offset, void* dst, std::uint64_t bytes, device::Lane& lane) {
  if (auto status = check(); !status) return status;
  auto from = window.end(peer, offset, bytes);
  if (!from) return from.status();
  if (bytes == 0) return {};
  if (single(*from, dst, bytes, false)) return copy_single(dst, from->data, bytes, {true, false}, lane);
  auto to = local_end(dst, bytes, device::Access::write);
  if (!to) return to.status();
  return move(*to, *from, bytes, lane);
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
  return move(*to, *from, bytes, lane);
}

Status Node::check() const {
  if (group_->failed()) return group_->check();
  return executor_->fault();
}

Status Node::synchronize(device::Lane& lane) {
  auto status = lane.synchronize();
  // A transfer that gave up because a peer died: the peer is the news.
  if (group_->failed()) return group_->check();
  return status;
}

}  // namespace sennit::path
