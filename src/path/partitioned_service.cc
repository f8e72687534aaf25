#include "path/partitioned_service.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "base/log.h"
#include "base/units.h"
#include "device/launch.h"
#include "device/mapped.h"
#include "path/await_arrivals.h"

namespace sennit::path {

namespace {

/// A control message says one of these.
enum class Told : std::uint64_t { greeting = 1, end };
constexpr std::uint64_t kTellVersion = 1;

PartitionedName unnumbered(PartitionedName name) {
  name.number = 0;
  return name;
}

/// Errors: invalid_argument where the bytes cannot be read.
Status check_source(device::Executor& executor, const void* data, std::uint64_t bytes) {
  const auto location = executor.describe(data, bytes);
  if (!location) return location.status();
  const bool is_ordinary = executor.kind() == device::Kind::host && location->place == device::Place::pageable;
  if (!is_ordinary) return check_to_share(executor, *location, data, bytes);
  if (device::is_usable(data, bytes, device::Access::read)) return {};
  return Status(Code::invalid_argument,
                fmt::format("a part of the {} from {} cannot be read", format_bytes(bytes), data), {},
                "Check the size of the message, and that the memory is neither freed nor protected");
}

}  // namespace

Result<std::unique_ptr<PartitionedService>> PartitionedService::create(node::Node& node) {
  auto proxy = Proxy::of_this_process();
  if (!proxy) return proxy.status();
  device::Executor& executor = node.executor();
  // A first launch might wait for a kernel that waits for a partition.
  if (auto status = executor.load(device::program_of<AwaitArrivals>(), node.device()); !status) return status;
  std::unique_ptr<PartitionedService> made(new PartitionedService(node));
  comm::Group& group = node.group();
  made->proxy_ = std::move(*proxy);
  group.on_nudge([proxy = made->proxy_.get()] { proxy->wake(); });
  group.on_message([self = made.get()](int from, const comm::Bytes& told) {
    {
      const std::lock_guard lock(self->inbox_mutex_);
      self->inbox_.emplace_back(from, told);
    }
    self->proxy_->wake();
  });
  made->client_ = made->proxy_->add(*made, Doorbell(group.slots(group.rank()).doorbell));
  for (const int peer : group.node_ranks())
    if (peer != group.rank()) group.tell(peer, comm::Writer().number(std::uint64_t(Told::greeting)).take());
  return made;
}

PartitionedService::~PartitionedService() {
  if (proxy_ == nullptr) return;
  node_.group().on_message(nullptr);
  node_.group().on_nudge(nullptr);
  proxy_->remove(client_);
}

Status PartitionedService::check(const PartitionCut& cut, int peer) const {
  if (auto status = node_.check(); !status) return status;
  if (peer < 0 || peer >= node_.size())
    return Status(Code::invalid_argument, fmt::format("there is no rank {}", peer), {},
                  fmt::format("Ranks are 0 to {}", node_.size() - 1));
  if (!node_.group().same_node(peer))
    return Status(Code::unsupported, fmt::format("rank {} is on another node", peer), {},
                  "Partitioned messages go between ranks that can map each other's memory");
  return path::check(cut);
}

Result<device::Lane*> PartitionedService::lane_to(int peer) {
  const std::lock_guard lock(mutex_);
  auto& lane = lanes_[peer];
  if (lane == nullptr) {
    auto made = node_.executor().lane(node_.device());
    if (!made) return made.status();
    lane = std::move(*made);
  }
  return lane.get();
}

Result<std::shared_ptr<PartitionedSend>> PartitionedService::send(const void* data, PartitionCut cut, int peer,
                                                                  int tag) {
  if (auto status = check(cut, peer); !status) return status;
  device::Executor& executor = node_.executor();
  if (cut.bytes() != 0)
    if (auto status = check_source(executor, data, cut.bytes()); !status) return status;
  auto lane = lane_to(peer);
  if (!lane) return lane.status();
  UniqueFd file;
  auto words = PartitionedWords::create(executor, cut.partitions, file);
  if (!words) return words.status();
  auto offered = node_.group().offer(std::move(file));
  if (!offered) return offered.status();
  std::shared_ptr<PartitionedSend> end(new PartitionedSend(node_, *proxy_, {peer, true, tag, 0}, cut,
                                                           static_cast<const std::byte*>(data), mappings_, **lane));
  end->words_ = std::move(*words);
  end->file_ = *offered;
  introduce(end);
  return end;
}

Result<std::shared_ptr<PartitionedReceive>> PartitionedService::receive(void* data, PartitionCut cut, int peer,
                                                                        int tag) {
  if (auto status = check(cut, peer); !status) return status;
  std::shared_ptr<PartitionedReceive> end(new PartitionedReceive(node_, *proxy_, {peer, false, tag, 0}, cut));
  if (cut.bytes() != 0) {
    device::Executor& executor = node_.executor();
    const auto location = executor.describe(data, cut.bytes());
    auto status = location.ok() ? check_to_share(executor, *location, data, cut.bytes()) : location.status();
    if (!status) return status;
    auto offer = Offer::make(node_.group(), executor, data, cut.bytes());
    if (!offer) return offer.status();
    end->offer_ = std::move(*offer);
  }
  introduce(end);
  return end;
}

void PartitionedService::introduce(std::shared_ptr<PartitionedEnd> end) {
  {
    const std::lock_guard lock(mutex_);
    end->name_.number = made_[unnumbered(end->name_)]++;
    if (auto early = early_.extract(end->name_)) end->hear(std::move(early.mapped()));
    ends_.emplace(end->name_, end);
  }
  tell(*end);
  proxy_->wake();
}

void PartitionedService::tell(const PartitionedEnd& end) {
  comm::Writer writer;
  writer.number(std::uint64_t(Told::end))
      .number(kTellVersion)
      .number(end.name_.sends)
      .number(std::uint64_t(std::int64_t(end.name_.tag)))
      .number(end.name_.number)
      .number(end.cut_.partitions)
      .number(end.cut_.bytes_each);
  end.tell(writer);
  node_.group().tell(end.name_.peer, writer.take());
}

void PartitionedService::hear(int from, const comm::Bytes& told) {
  comm::Reader reader(told);
  if (Told(reader.number()) == Told::greeting) {
    for (const auto& end : ends())
      if (end->name_.peer == from) tell(*end);
    return;
  }
  OtherEnd other;
  PartitionedName name;  // of the end here
  const bool is_ours = reader.number() == kTellVersion;
  const bool sends = reader.number() != 0;
  name.peer = from;
  name.sends = !sends;
  name.tag = static_cast<int>(reader.number());
  name.number = reader.number();
  other.cut.partitions = static_cast<std::uint32_t>(reader.number());
  other.cut.bytes_each = reader.number();
  if (sends)
    other.words = reader.number();
  else
    other.memory = Offered::read(reader);
  if (!is_ours || !reader.finish().ok())
    return log(LogLevel::warning, fmt::format("rank {} runs another version of sennit, so its partitioned messages "
                                              "wait in vain: use the same build on all ranks",
                                              from));
  const std::lock_guard lock(mutex_);
  if (const auto found = ends_.find(name); found != ends_.end())
    found->second->hear(std::move(other));
  else if (name.number >= made_[unnumbered(name)])  // else it was freed here
    early_[name] = std::move(other);
}

std::vector<std::shared_ptr<PartitionedEnd>> PartitionedService::ends() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<PartitionedEnd>> all;
  all.reserve(ends_.size());
  for (const auto& [name, end] : ends_) all.push_back(end);
  return all;
}

Proxy::Client::Found PartitionedService::serve() {
  auto found = Found::nothing;
  try {
    std::vector<std::pair<int, comm::Bytes>> told;
    {
      const std::lock_guard lock(inbox_mutex_);
      told.swap(inbox_);
    }
    for (const auto& [from, bytes] : told) {
      hear(from, bytes);
      found = Found::work;
    }
    for (const auto& end : ends()) found = std::max(found, end->serve());
  } catch (const std::bad_alloc&) {  // ends this communicator, not the others that the thread serves
    node_.group().abort(Status(Code::out_of_memory, "no host memory", "serve partitioned messages"));
  }
  return found;
}

void PartitionedService::close(const std::shared_ptr<PartitionedEnd>& end) {
  end->close();
  const std::lock_guard lock(mutex_);
  ends_.erase(end->name_);
}

void PartitionedService::stop() {
  for (const auto& end : ends()) end->stop();
  std::vector<device::Lane*> lanes;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [peer, lane] : lanes_) lanes.push_back(lane.get());
  }
  for (device::Lane* const lane : lanes) (void)lane->synchronize();
}

}  // namespace sennit::path
