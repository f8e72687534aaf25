#include "path/proxy_channel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "base/log.h"
#include "base/other_processes.h"
#include "base/units.h"
#include "comm/wait.h"
#include "path/doorbell.h"

namespace sennit::path {

namespace {

constexpr std::uint64_t kChannelVersion = 3;
std::atomic<std::uint64_t>& offer_word(const comm::Group& group, int asking, int peer, Direction direction) {
  auto& slot = group.slots(asking).host_paths[static_cast<std::size_t>(group.node_index(peer))];
  return slot.rings[static_cast<std::size_t>(direction)];
}

Result<device::Memory> map_file(int fd, std::size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED)
    return Status(Code::out_of_memory,
                  fmt::format("cannot map a staging ring of {}: {}", format_bytes(bytes), strerror(errno)), {},
                  "Free host memory or lower SENNIT_STAGING");
  return device::Memory(data, bytes, [bytes](void* mapped) { munmap(mapped, bytes); });
}

}  // namespace

Result<std::unique_ptr<ProxyChannel>> ProxyChannel::create(device::Executor& executor, comm::Group& group, int device,
                                                           int peer, Direction direction, RingShape shape) {
  shape.blocks = std::min(shape.blocks, executor.concurrent_blocks(device));
  std::unique_ptr<ProxyChannel> proxy_channel(new ProxyChannel(executor, group, peer, direction));
  const std::size_t bytes = kRingOffset + shape.bytes();
  UniqueFd file(memfd_create("sennit-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid() || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return Status(Code::out_of_memory,
                  fmt::format("cannot make a staging ring of {}: {}", format_bytes(bytes), strerror(errno)), {},
                  "Free host memory or lower SENNIT_STAGING");
  auto mapped = map_file(file.get(), bytes);
  if (!mapped) return mapped.status();
  auto pinned = executor.pin(mapped->data(), bytes);
  if (!pinned) return pinned.status();
  proxy_channel->memory_ = std::move(*mapped);
  proxy_channel->pinned_ = std::move(*pinned);
  proxy_channel->header_ = new (proxy_channel->memory_.data()) ProxyChannelHeader{};
  proxy_channel->header_->version = kChannelVersion;
  proxy_channel->header_->shape = shape;
  proxy_channel->header_->direction = static_cast<std::uint32_t>(direction);
  auto end = RingEnd::create(executor, device, lay_out(proxy_channel->memory_.data() + kRingOffset, shape), shape);
  if (!end) return end.status();
  proxy_channel->end_ = std::move(*end);

  auto offered = group.offer(std::move(file));
  if (!offered) return offered.status();
  proxy_channel->offered_ = *offered;
  offer_word(group, group.rank(), peer, direction).store(*offered, std::memory_order_release);
  ring_bell(group, peer);
  return proxy_channel;
}

ProxyChannel::~ProxyChannel() {
  count_the_latest();
  if (without_help_ > 0)
    log(LogLevel::info, fmt::format("of {} messages by way of the host to or from rank {}, {} went without its help, "
                                    "which did not come in time",
                                    messages_, peer_, without_help_));
  if (offered_ != 0) group_.withdraw(offered_);
}

void ProxyChannel::count_the_latest() {
  if (latest_ == 0 || !end_) return;
  const std::atomic_ref withdrawn(*end_->ring().withdrawn), stayed(*end_->ring().stayed);
  const bool helped = stayed.load(std::memory_order_relaxed) == latest_;
  without_help_ += withdrawn.load(std::memory_order_relaxed) == latest_ && !helped ? 1 : 0;
}

Status ProxyChannel::wait_until_ready() {
  comm::Waiting what;
  what.operation = "open the host path";
  what.rank = group_.rank();
  what.peer = peer_;
  auto status = comm::wait_until([&] { return header_->ready.load(std::memory_order_acquire) != 0; }, &group_, what);
  if (!status) return status;
  if (header_->ready.load(std::memory_order_acquire) == ProxyChannelHeader::kReady) return {};
  return Status(Code::unsupported, fmt::format("rank {} could not open the host path", peer_), {},
                "Its warning on stderr says why");
}

bool ProxyChannel::has_room() const {
  const std::uint32_t posted = header_->posted.load(std::memory_order_relaxed);
  return posted - header_->taken.load(std::memory_order_acquire) < ProxyChannelHeader::kQueue;
}

Result<SharedEvent> ProxyChannel::try_send(const Message& message) {
  // Messages of several pairs of devices may go to one peer.
  const std::lock_guard lock(mutex_);
  if (header_->ready.load(std::memory_order_acquire) != ProxyChannelHeader::kReady || !has_room())
    return SharedEvent();
  auto open = stream_owner_.open_to(*message.lane);
  if (!open) return open.status();
  return *open ? enqueue(message) : Result<SharedEvent>(SharedEvent());
}

Result<SharedEvent> ProxyChannel::send(const Message& message) {
  if (auto status = wait_until_ready(); !status) return status;
  comm::Waiting what;
  what.operation = "post a request for the host path";
  what.rank = group_.rank();
  what.peer = peer_;
  what.bytes = message.bytes;
  for (;;) {
    // The mutex is not held in the wait: messages of other threads may have another way.
    auto room = comm::wait_until([&] { return has_room(); }, &group_, what);
    if (!room) return room;
    const std::lock_guard lock(mutex_);
    if (has_room()) return enqueue(message);
  }
}

Result<SharedEvent> ProxyChannel::enqueue(const Message& message) {
  const auto use = fit(end_->shape(), message.blocks, message.chunk);
  std::byte* const beyond = message.there.seen_from(end_->lane().device());
  // 1. Whether the message can start now decides when the helper is launched. One that comes first may leave again:
  //    only where this side could then do without. Else it comes once what stood before on the asking lane is done:
  //    the other side of a get reads what it sends, such as what a put brings to the same place.
  auto started = message.fork->done();
  if (!started) return started.status();
  const std::uint32_t number = header_->posted.load(std::memory_order_relaxed);
  Request& request = header_->queue[number % ProxyChannelHeader::kQueue];
  request.window = message.there.window;
  request.offset = message.there.offset;
  request.bytes = message.bytes;
  request.blocks = use.blocks;
  request.chunk = use.chunk;
  request.begun = first_block_count_ + 1;
  const bool at_once = *started && beyond != nullptr;
  request.immediate = at_once ? 1 : 0;
  count_the_latest();
  ++messages_;
  latest_ = request.begun;
  first_block_count_ += chunk_count(message.bytes, use.chunk, 0, use.blocks);
  if (at_once) post(number);
  // 2. This side's end.
  device::Event* const fork = *started ? nullptr : message.fork.get();
  const auto asks = end_->asks(beyond, message.bytes);
  auto status = direction_ == Direction::put
                    ? end_->send(message.local, message.bytes, use.blocks, use.chunk, asks, fork)
                    : end_->receive(message.local, message.bytes, use.blocks, use.chunk, asks, fork,
                                    /*announces=*/true);
  stream_owner_.take(*message.lane, message.fork);
  if (!at_once) post(number);
  auto arrived = events_.next(executor_, end_->lane().device());
  if (status.ok()) status = arrived.ok() ? end_->lane().record(**arrived) : arrived.status();
  // 3. The peer will serve a message that this side never sends, and the next one would be taken for it.
  if (status.ok()) return arrived;
  group_.abort(status);
  return status;
}

void ProxyChannel::post(std::uint32_t number) {
  tell_others();
  header_->posted.store(number + 1, std::memory_order_release);
  ring_bell(group_, peer_);
}

struct ProxyService::Incoming {
  std::uint64_t offered = 0;
  std::optional<std::uint64_t> fetching;  // the request for its file, until that is there
  device::Memory memory, pinned;
  ProxyChannelHeader* header = nullptr;
  Ring ring;
  RingShape shape;        // our copy: the peer's must not change under us
  device::Word done = 0;  // block 0's count once the latest message is moved
  std::optional<RingEnd> end;
};

ProxyService::ProxyService(device::Executor& executor, comm::Group& group, int device, Resolve resolve)
    : executor_(executor), group_(group), device_(device), resolve_(std::move(resolve)) {}

Result<std::unique_ptr<ProxyService>> ProxyService::create(device::Executor& executor, comm::Group& group, int device,
                                                           Resolve resolve) {
  auto proxy = Proxy::of_this_process();
  if (!proxy) return proxy.status();
  std::unique_ptr<ProxyService> made(new ProxyService(executor, group, device, std::move(resolve)));
  made->proxy_ = std::move(*proxy);
  group.on_nudge([proxy = made->proxy_.get()] { proxy->wake(); });
  made->client_ = made->proxy_->add(*made, Doorbell(group.slots(group.rank()).doorbell));
  return made;
}

ProxyService::~ProxyService() {
  if (proxy_ == nullptr) return;
  group_.on_nudge(nullptr);
  proxy_->remove(client_);
}

Status ProxyService::begin_to_open(Incoming& incoming, int peer, std::uint64_t offered) {
  incoming.offered = offered;
  auto request = group_.begin_fetch(peer, offered);
  if (!request) return request.status();
  incoming.fetching = *request;
  return {};
}

Status ProxyService::open(Incoming& incoming, int peer, const Result<UniqueFd>& file) {
  if (!file) return file.status();
  struct stat size {};
  if (fstat(file->get(), &size) != 0 || size.st_size < static_cast<off_t>(kRingOffset))
    return Status(Code::corrupt, fmt::format("rank {} offered a ring that is cut off", peer));
  const auto bytes = static_cast<std::size_t>(size.st_size);
  auto mapped = map_file(file->get(), bytes);
  if (!mapped) return mapped.status();
  incoming.memory = std::move(*mapped);
  incoming.header = reinterpret_cast<ProxyChannelHeader*>(incoming.memory.data());
  incoming.shape = incoming.header->shape;
  const bool sane = incoming.header->version == kChannelVersion && incoming.shape.blocks >= 1 &&
                    incoming.shape.blocks <= 1024 && incoming.shape.slots_per_block >= 1 &&
                    incoming.shape.slots_per_block <= 1024 && incoming.shape.slot_bytes <= GiB &&
                    kRingOffset + incoming.shape.bytes() <= bytes;
  if (!sane)
    return Status(Code::mismatch, fmt::format("rank {} runs another version of sennit", peer), {},
                  "Use the same build on all ranks");
  auto pinned = executor_.pin(incoming.memory.data(), bytes);
  if (!pinned) return pinned.status();
  incoming.pinned = std::move(*pinned);
  incoming.ring = lay_out(incoming.memory.data() + kRingOffset, incoming.shape);
  auto end = RingEnd::create(executor_, device_, incoming.ring, incoming.shape);
  if (!end) return end.status();
  incoming.end = std::move(*end);
  return {};
}

ProxyService::Found ProxyService::serve(int peer, Direction direction) {
  const std::uint64_t offered = offer_word(group_, peer, group_.rank(), direction).load(std::memory_order_acquire);
  if (offered == 0) return Found::nothing;
  heard_others();
  auto& incoming = incoming_[{peer, direction}];
  bool is_new = false;
  Status opened;
  if (incoming == nullptr || incoming->offered != offered) {
    is_new = true;
    incoming = std::make_unique<Incoming>();
    opened = begin_to_open(*incoming, peer, offered);
  }
  if (incoming->fetching) {
    const auto file = group_.fetched(*incoming->fetching);
    if (!file) return Found::pending;
    incoming->fetching.reset();
    is_new = true;
    opened = open(*incoming, peer, *file);
  }
  if (is_new) {
    if (!opened.ok() && !group_.failed())
      log(LogLevel::warning,
          fmt::format("the host path that rank {} offers cannot be used, so its messages take others "
                      "or wait in vain: {}",
                      peer, opened.text()));
    if (incoming->header != nullptr)
      incoming->header->ready.store(opened.ok() ? ProxyChannelHeader::kReady : ProxyChannelHeader::kFailed,
                                    std::memory_order_release);
    return Found::work;
  }
  if (!incoming->end) return Found::nothing;
  ProxyChannelHeader& header = *incoming->header;
  const std::uint32_t taken = header.taken.load(std::memory_order_relaxed);
  if (taken == header.posted.load(std::memory_order_acquire)) {
    // While a message is under way the next one may be near.
    const std::atomic_ref moved(*incoming->ring.consumed);
    const bool moving = !device::reached(moved.load(std::memory_order_relaxed), incoming->done);
    return moving && !group_.failed() ? Found::pending : Found::nothing;
  }
  heard_others();
  const Request request = header.queue[taken % ProxyChannelHeader::kQueue];
  if (request.immediate == 0) {
    const std::atomic_ref begun(direction == Direction::put ? *incoming->ring.produced : *incoming->ring.begun);
    if (!device::reached(begun.load(std::memory_order_acquire), request.begun)) return Found::pending;
  }
  auto target = resolve_(request.window, request.offset, request.bytes);
  const bool fits = request.blocks >= 1 && request.blocks <= incoming->shape.blocks && request.chunk >= 16 &&
                    request.chunk <= incoming->shape.slot_bytes;
  // Done without us, the window may be closed by now: what is launched then touches no message.
  const std::atomic_ref withdrawn(*incoming->ring.withdrawn);
  const bool late = device::reached(withdrawn.load(std::memory_order_acquire), request.begun);
  if (late && target.status().code() == Code::not_found) target = nullptr;
  Status launched = !target.ok() ? target.status() : Status();
  if (!fits) launched = Status(Code::corrupt, "a request for the host path makes no sense");
  if (launched.ok()) {
    const auto helps = incoming->end->helps(/*started=*/request.immediate == 0);
    launched = direction == Direction::put
                   ? incoming->end->receive(*target, request.bytes, request.blocks, request.chunk, helps, nullptr)
                   : incoming->end->send(*target, request.bytes, request.blocks, request.chunk, helps, nullptr);
    incoming->done = request.begun - 1 + chunk_count(request.bytes, request.chunk, 0, request.blocks);
  }
  tell_others();
  header.taken.store(taken + 1, std::memory_order_release);
  // The asking side's kernel waits for us: without this its error would only be a time-out.
  if (!launched.ok()) group_.abort(std::move(launched).in(fmt::format("host path asked for by rank {}", peer)));
  return Found::work;
}

ProxyService::Found ProxyService::serve() {
  auto found = Found::nothing;
  try {
    for (const int peer : group_.node_ranks())
      if (peer != group_.rank())
        for (const Direction direction : {Direction::put, Direction::get})
          found = std::max(found, serve(peer, direction));
  } catch (const std::bad_alloc&) {  // ends this communicator, not the others that the thread serves
    group_.abort(Status(Code::out_of_memory, "no host memory", "serve a host path"));
  }
  return found;
}

}  // namespace sennit::path
