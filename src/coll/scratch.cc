#include "coll/scratch.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/log.h"
#include "base/units.h"

namespace sennit::coll {

namespace {

/// Memory of cudaMalloc that is no multiple of it is mapped in small pages, and copy engines that push into such
/// memory both ways at once reach 240 to 310 instead of 390 GB/s (4 × H200).
constexpr std::uint64_t kWholePage = 2 * MiB;
constexpr std::uint64_t in_whole_pages(std::uint64_t bytes) {
  return (bytes + kWholePage - 1) / kWholePage * kWholePage;
}

Result<device::Memory> map_file(int file, std::uint64_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (data == MAP_FAILED)
    return Status(Code::out_of_memory,
                  fmt::format("cannot map {} of scratch: {}", format_bytes(bytes), strerror(errno)), {},
                  "Free host memory or lower SENNIT_SCRATCH");
  return device::Memory(data, bytes, [bytes](void* mapped) { munmap(mapped, bytes); });
}

Status clear(device::Lane& lane, std::byte* data, std::uint64_t bytes) {
  const std::vector<std::byte> zeros(bytes);
  if (auto status = lane.copy(data, zeros.data(), bytes); !status) return status;
  return lane.synchronize();
}

/// Chunks of a mesh should be worth their signals: 1 KiB or more, a default.
constexpr std::uint64_t least_bytes(int ranks) {
  return Shape::of_block(depth_of(Layout::mesh) * static_cast<unsigned>(ranks - 1) * 1 * KiB, ranks).bytes();
}

/// Returns the NUMA node of this rank's device; 0 where nothing is known, so that all are taken for one socket.
int socket_of(node::Node& node) {
  for (const machine::Device& device : node.machine().devices)
    if (device.id == node.device_id()) return std::max(device.numa, 0);
  return 0;
}

Status find_leaders(const std::vector<comm::Bytes>& sockets, Team& team) {
  std::vector<std::uint64_t> numbers;
  for (const comm::Bytes& bytes : sockets) {
    comm::Reader reader(bytes);
    numbers.push_back(reader.number());
    if (auto status = reader.finish(); !status) return status;
    const auto first = std::ranges::find(numbers, numbers.back());
    team.leader[numbers.size() - 1] = static_cast<std::int8_t>(first - numbers.begin());
  }
  return {};
}

}  // namespace

Result<std::uint64_t> wanted_scratch() {
  auto bytes = parse_bytes(environment("SENNIT_SCRATCH"));
  if (!bytes) return std::move(bytes).status().in("SENNIT_SCRATCH");
  return bytes;
}

Result<std::unique_ptr<Scratch>> Scratch::create(node::Node& node, std::uint64_t bytes, unsigned blocks) {
  comm::Group& group = node.group();
  if (static_cast<int>(group.node_ranks().size()) != group.size())
    return Status(Code::unsupported, "the ranks are on several nodes", {},
                  "Collectives work between ranks that can map each other's memory");
  if (group.size() > kMostRanks)
    return Status(Code::unsupported,
                  fmt::format("{} ranks on one node, at most {} can take part", group.size(), kMostRanks), {},
                  "Use fewer ranks a node");
  std::unique_ptr<Scratch> scratch(new Scratch(node));
  const device::SetUp set_up(&node.executor());  // the first collective may be one that is captured
  Team& team = scratch->team_;
  team.rank = node.rank();
  team.size = node.size();
  team.shape = Shape::of(bytes / kWholePage * kWholePage, team.size);
  team.shape.blocks = blocks;
  Status status;
  if (team.shape.slot(Layout::mesh) < 1 * KiB)
    status = Status(
        Code::invalid_argument, fmt::format("{} of scratch are too few for {} ranks", format_bytes(bytes), team.size),
        "SENNIT_SCRATCH", fmt::format("Use {} or more", format_bytes(in_whole_pages(least_bytes(team.size)))));
  scratch->bytes_ = in_whole_pages(team.shape.bytes());
  constexpr std::uint64_t kCounts = kMostBlocks * sizeof(BlockCounts);
  if (status.ok()) {
    auto counts = node.executor().allocate(node.device(), kCounts);
    status = counts.status();
    if (counts.ok()) scratch->counts_ = std::move(*counts);
  }
  if (status.ok()) status = clear(node.lane(), scratch->counts_.data(), kCounts);
  auto sockets = comm::agree(group.exchange(), status, comm::Writer().number(std::uint64_t(socket_of(node))).take());
  if (!sockets) return sockets.status();
  if (auto known = find_leaders(*sockets, team); !known) return known;
  team.counts = reinterpret_cast<BlockCounts*>(scratch->counts_.data());

  status = scratch->create_on_device(scratch->bytes_, &device::Executor::allocate_for_peers);
  // The driver's own handles may be passed on where files of GPU memory cannot.
  if (status.code() == Code::unsupported)
    status = scratch->create_on_device(scratch->bytes_, &device::Executor::allocate);
  if (status.code() == Code::unsupported) {
    log(LogLevel::info, fmt::format("collectives go by way of host memory: {}", status.text()));
    status = scratch->create_in_host_memory(scratch->bytes_);
  }
  if (!status.ok()) return std::move(status).in("make scratch memory for collectives");
  return scratch;
}

Status Scratch::create_on_device(std::uint64_t bytes, Allocate allocate) {
  comm::Group& group = node_.group();
  auto memory = (node_.executor().*allocate)(node_.device(), bytes);
  Status status = memory.status();
  // Slots need no zeros: no rank reads one before its count says so.
  if (status.ok()) status = clear(node_.lane(), memory->data(), Shape::kSlotsOffset);
  if (auto agreed = comm::agree(group.exchange(), status, {}); !agreed) return agreed.status();
  memory_ = std::move(*memory);
  auto window = registry_.open(memory_.data(), bytes);
  if (!window) return window.status();
  window_ = std::move(*window);
  for (int rank = 0; rank < group.size() && status.ok(); ++rank) {
    auto seen = window_->seen_here(rank);
    status = seen.status();
    if (seen.ok()) team_.scratch[rank] = *seen;
  }
  auto agreed = comm::agree(group.exchange(), status, {});
  if (agreed.ok()) return {};
  const Status closed = registry_.close(std::exchange(window_, nullptr));
  memory_ = {};
  return closed.ok() ? agreed.status() : closed;
}

Status Scratch::create_in_host_memory(std::uint64_t bytes) {
  comm::Group& group = node_.group();
  UniqueFd file(memfd_create("sennit-scratch", MFD_CLOEXEC));
  Status status;
  if (!file.valid() || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    status = Status(Code::out_of_memory,
                    fmt::format("cannot make {} of scratch: {}", format_bytes(bytes), strerror(errno)), {},
                    "Free host memory or lower SENNIT_SCRATCH");
  files_.resize(static_cast<std::size_t>(group.size()));
  const auto take = [&](int rank, int from) -> Status {
    auto mapped = map_file(from, bytes);
    if (!mapped) return mapped.status();
    auto pinned = node_.executor().pin(mapped->data(), bytes);
    if (!pinned) return pinned.status();
    team_.scratch[rank] = mapped->data();
    files_[static_cast<std::size_t>(rank)] = {std::move(*mapped), std::move(*pinned)};
    return {};
  };
  if (status.ok()) status = take(group.rank(), file.get());
  std::uint64_t number = 0;
  if (status.ok()) {
    auto offered = group.offer(std::move(file));
    status = offered.status();
    if (offered.ok()) number = *offered;
  }
  auto numbers = comm::agree(group.exchange(), status, comm::Writer().number(number).take());
  if (!numbers) return numbers.status();
  for (int rank = 0; rank < group.size() && status.ok(); ++rank) {
    if (rank == group.rank()) continue;
    comm::Reader reader((*numbers)[static_cast<std::size_t>(rank)]);
    auto fetched = group.fetch(rank, reader.number());
    status = fetched.ok() ? take(rank, fetched->get()) : fetched.status();
  }
  auto agreed = comm::agree(group.exchange(), status, {});
  group.withdraw(number);
  return agreed.status();
}

Scratch::~Scratch() {
  // Programs may still run where a rank gave up. CUDA frees the counts once these programs are over, as it does with
  // all memory of cudaMalloc; memory of cuMemCreate it would unmap at once.
  counts_ = {};
}

void Scratch::unmap() {
  if (window_ != nullptr) window_->unmap();
}

Status Scratch::close() {
  return window_ == nullptr ? Status() : registry_.close(std::exchange(window_, nullptr));
}

}  // namespace sennit::coll
