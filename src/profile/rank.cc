#include "profile/rank.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <map>
#include <new>

#include <fmt/format.h>

#include "base/unique_fd.h"

namespace sennit::profile {

namespace {

Status corrupt(std::string what, std::string_view origin) {
  return Status(Code::corrupt, std::move(what), std::string(origin),
                "Leave this file out, or profile the program again");
}

template <std::size_t size>
std::string text(const Name<size>& name) {
  return std::string(name.data(), strnlen(name.data(), size));
}

template <class Table>
bool read_names(const Table& table, std::uint32_t count, std::vector<std::string>& names) {
  if (count > table.size()) return false;
  for (std::uint32_t i = 0; i < count; ++i) names.push_back(text(table[i]));
  return true;
}

/// The file's clock: its ticks in ns of CLOCK_MONOTONIC.
struct Ticks {
  std::uint64_t begin, begin_ns;
  double ns;

  explicit Ticks(const Header& header)
      : begin(header.begin), begin_ns(header.begin_ns), ns(header.ns_per_tick.load(std::memory_order_relaxed)) {}
  bool can_be() const { return ns > 1e-3 && ns < 1e3 && begin_ns < kMost; }
  std::uint64_t length(std::uint64_t ticks) const {
    if (!(ns < 1) && !(ns > 1)) return std::min(ticks, kMost);  // to the last digit
    return static_cast<std::uint64_t>(std::min(static_cast<double>(ticks) * ns, static_cast<double>(kMost)) + 0.5);
  }
  /// 0 stays 0: a time that nobody wrote.
  std::uint64_t time(std::uint64_t ticks) const {
    if (ticks == 0) return 0;
    return ticks >= begin ? begin_ns + length(ticks - begin) : begin_ns - std::min(begin_ns, length(begin - ticks));
  }

 private:
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
};

/// Requests may end, and GPUs be done, in another thread's slot than the call's.
bool has_any(const Sum& sum) {
  return value(sum.calls) != 0 || value(sum.requests) != 0 || value(sum.device_calls) != 0 ||
         value(sum.replayed) != 0;
}

/// Adds another thread's slot of the same class. A slot may have less than nothing of a call that another thread
/// began, and this one has told anew: together they are right.
void add(Sum& sum, const Sum& more) {
  constexpr std::atomic<std::uint64_t> Sum::*kAdded[] = {
      &Sum::calls,   &Sum::bytes_in, &Sum::bytes_out, &Sum::time,     &Sum::device_calls,  &Sum::device_ns,
      &Sum::at_once, &Sum::requests, &Sum::flight,    &Sum::waited,   &Sum::unseen,        &Sum::received,
      &Sum::misses,  &Sum::missed,   &Sum::captured,  &Sum::replayed, &Sum::replayed_bytes};
  for (const auto member : kAdded) (sum.*member).fetch_add(value(more.*member), std::memory_order_relaxed);
  if (value(more.most) > value(sum.most)) sum.most = value(more.most);
  if (const std::uint64_t least = value(more.least);
      least != 0 && (value(sum.least) == 0 || least < value(sum.least)))
    sum.least = least;
}

Sums sums_of(const Sum& sum, Class of, const Ticks& ticks) {
  const std::uint64_t least = value(sum.least);
  return {of,
          value(sum.calls),
          value(sum.bytes_in),
          value(sum.bytes_out),
          ticks.length(value(sum.time)),
          least == 0 ? 0 : ticks.length(least - 1),
          ticks.length(value(sum.most)),
          value(sum.device_calls),
          value(sum.device_ns),
          value(sum.at_once),
          value(sum.requests),
          ticks.length(value(sum.flight)),
          ticks.length(value(sum.waited)),
          value(sum.received),
          value(sum.misses),
          ticks.length(value(sum.missed)),
          value(sum.captured),
          value(sum.replayed),
          value(sum.replayed_bytes),
          value(sum.unseen)};
}

Kernels kernels_of(const Header& header, const Ticks& ticks) {
  const std::uint64_t begin = value(header.kernels_begin), end = value(header.kernels_end);
  const std::uint64_t collected = begin != 0 && end > begin ? end - begin : 0;
  return {ticks.length(collected - std::min(collected, value(header.kernels_paused))),
          value(header.kernels),
          value(header.kernels_of_graphs),
          value(header.kernels_lost),
          value(header.gpu_communication_ns),
          value(header.gpu_computation_ns),
          value(header.gpu_both_ns),
          text(header.kernels_refused)};
}

/// Indices that a file's record names.
struct Indices {
  const Rank& rank;
  bool hold(unsigned function, unsigned communicator, unsigned reduction, unsigned phase, unsigned how, Memory in,
            Memory out) const {
    return function < rank.functions.size() && communicator < rank.communicators.size() &&
           reduction < rank.reductions.size() && phase < rank.phases.size() && how < rank.hows.size() &&
           static_cast<std::size_t>(in) < kMemories && static_cast<std::size_t>(out) < kMemories;
  }
  bool hold(const Class& of) const {
    return hold(of.function, of.communicator, of.reduction, of.phase, of.how, of.memory_in, of.memory_out) &&
           of.bin <= kLastBin;
  }
  bool hold(const Call& call) const {
    return hold(call.function, call.communicator, call.reduction, call.phase, call.how, call.memory_in,
                call.memory_out) &&
           call.type < rank.types.size() && call.begin <= call.end;
  }
};

Status read_header(const Header& header, std::uint64_t bytes, std::string_view origin) {
  if (header.magic != kMagic) return corrupt("this is not a profile's file, or it was never begun", origin);
  if (header.version != kVersion)
    return Status(Code::unsupported, fmt::format("a profile's file of version {}", header.version),
                  std::string(origin),
                  fmt::format("Read it with the sennit that wrote it; this one has {}", kVersion));
  if (header.header_bytes != sizeof(Tables) || header.call_bytes != sizeof(Call) ||
      header.block_bytes != sizeof(Block) || header.file_bytes != bytes ||
      header.blocks > (bytes - sizeof(Tables)) / sizeof(Block))
    return corrupt("the file is cut off, or its header was changed", origin);
  if (header.rank < -1 || header.ranks < -1 || (header.ranks >= 0 && header.rank >= header.ranks))
    return corrupt(fmt::format("rank {} of {}", header.rank, header.ranks), origin);
  return {};
}

}  // namespace

Result<Rank> read_rank(std::span<const std::byte> content, std::string_view origin) {
  if (content.size() < sizeof(Tables)) return corrupt("the file is cut off", origin);
  const auto& tables = *std::launder(reinterpret_cast<const Tables*>(content.data()));
  const Header& header = tables.header;
  if (auto status = read_header(header, content.size(), origin); !status) return status;
  const Ticks ticks(header);
  if (!ticks.can_be()) return corrupt("the file's clock cannot be", origin);
  Rank rank;
  rank.origin = origin;
  rank.rank = header.rank;
  rank.ranks = header.ranks;
  rank.process = header.process;
  rank.threads = header.threads_seen;
  rank.cores = header.cores;
  rank.host = rank.clock = text(header.host);
  for (int node = 0; node < 64; ++node)
    if (header.numa_nodes >> node & 1) rank.numa_nodes.push_back(node);
  rank.program = text(header.program);
  rank.mpi = text(header.mpi);
  rank.nccl = text(header.nccl);
  rank.accelerated = header.accelerated != 0;
  rank.gpu_times = header.gpu_times;
  if (rank.gpu_times > GpuTimes::kernel) return corrupt("the GPU's times are of no kind that is known", origin);
  rank.end = header.end.load(std::memory_order_acquire);
  if (rank.end > End::exited) return corrupt("the process ended in no way that is known", origin);
  rank.wall_ns = header.wall_ns;
  rank.init_ns = ticks.time(value(header.init));
  rank.last_ns = ticks.time(value(header.last));
  rank.kernels = kernels_of(header, ticks);
  rank.clock_error_ns = header.clock_error_ns;
  rank.calls_lost = value(header.calls_lost);
  rank.classes_lost = value(header.classes_lost);
  const std::uint32_t communicators = header.communicators.load(std::memory_order_acquire);
  if (!read_names(tables.function, header.functions.load(std::memory_order_acquire), rank.functions) ||
      !read_names(tables.reduction, header.reductions.load(std::memory_order_acquire), rank.reductions) ||
      !read_names(tables.type, header.types.load(std::memory_order_acquire), rank.types) ||
      !read_names(tables.phase, header.phases.load(std::memory_order_acquire), rank.phases) ||
      !read_names(tables.how, header.hows.load(std::memory_order_acquire), rank.hows) ||
      communicators > kCommunicators)
    return corrupt("a table has more names than room", origin);
  for (std::uint32_t i = 0; i < communicators; ++i) {
    const Communicator& one = tables.communicator[i];
    rank.communicators.push_back({one.id, one.parent, one.size, one.rank, text(one.name)});
  }
  const Indices indices{rank};
  std::map<std::uint64_t, Sum> sums;  // by class
  for (const Sum& sum : tables.sum) {
    const std::uint64_t key = value(sum.key);
    if (key == 0) continue;
    const Class of = Class::of(key);
    if (of.key() != key || !indices.hold(of)) return corrupt("a sum is of a call that cannot be", origin);
    add(sums[key], sum);
  }
  for (const auto& [key, sum] : sums)
    if (has_any(sum)) rank.sums.push_back(sums_of(sum, Class::of(key), ticks));
  for (std::size_t i = 0; i < tables.rest.size(); ++i) {
    if (!has_any(tables.rest[i])) continue;
    const Class of{.function = static_cast<std::uint16_t>(i), .bin = kUnknownBin};
    if (i >= rank.functions.size()) return corrupt("a sum is of a function that has no name", origin);
    rank.sums.push_back(sums_of(tables.rest[i], of, ticks));
  }
  for (std::size_t i = 0; i < tables.registered.size(); ++i) {
    const Registered& one = tables.registered[i];
    if (value(one.calls) == 0) continue;
    if (i >= rank.functions.size()) return corrupt("memory was registered by a function that has no name", origin);
    rank.registered.push_back(
        {rank.functions[i], value(one.calls), value(one.bytes), value(one.now), value(one.most)});
  }
  rank.registered_most = value(tables.all_registered.most);
  for (const Peer& peer : tables.peer) {
    const std::uint64_t key = value(peer.key);
    if (key == 0) continue;
    if (key < 2 || key / 2 - 1 > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
      return corrupt("messages with a rank that cannot be", origin);
    rank.messages.push_back({static_cast<int>(key / 2 - 1), (key & 1) != 0, value(peer.messages), value(peer.bytes)});
  }
  const std::uint32_t variables = header.variables.load(std::memory_order_acquire);
  if (variables > kVariables) return corrupt("a table has more names than room", origin);
  for (std::uint32_t i = 0; i < variables; ++i) {
    const Variable& one = tables.variable[i];
    rank.variables.push_back(
        {text(one.name), text(one.failed), value(one.samples), value(one.sum), value(one.most), {}});
  }
  const std::uint64_t samples = header.samples.load(std::memory_order_acquire);
  for (std::uint64_t i = samples > kSamples ? samples - kSamples : 0; i < samples; ++i) {
    const Sample& one = tables.sample[i % kSamples];
    if (one.variable >= variables) return corrupt("a sample is of no variable", origin);
    rank.variables[one.variable].points.push_back({ticks.time(one.time), one.value});
  }
  const auto* const blocks = std::launder(reinterpret_cast<const Block*>(content.data() + sizeof(Tables)));
  const std::uint32_t taken = std::min(header.blocks_taken.load(std::memory_order_acquire), header.blocks);
  std::vector<const Block*> order;
  for (std::uint32_t i = 0; i < taken; ++i) order.push_back(&blocks[i]);
  std::ranges::sort(order, {}, [](const Block* block) { return std::pair(block->thread, block->number); });
  for (const Block* const block : order) {
    const std::uint64_t count = block->count.load(std::memory_order_acquire);
    if (count > kCallsInBlock) return corrupt("a block has more calls than room", origin);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!indices.hold(block->call[i])) return corrupt("a call that cannot be", origin);
      TimedCall made{block->call[i], block->thread};
      made.call.begin = ticks.time(made.call.begin);
      made.call.end = ticks.time(made.call.end);
      rank.calls.push_back(made);
    }
  }
  if (rank.last_ns == 0)
    for (const TimedCall& one : rank.calls) rank.last_ns = std::max(rank.last_ns, one.call.end);
  rank.paused_ns = ticks.length(value(header.paused));
  if (const std::uint64_t since = std::max(ticks.time(value(header.paused_since)), rank.init_ns);
      value(header.paused_since) != 0 && rank.init_ns != 0 && rank.last_ns > since)
    rank.paused_ns += rank.last_ns - since;
  return rank;
}

/// Reads what a file has beside its holes into memory that is zero. Returns an error's number, or 0. What somebody
/// cuts off meanwhile is zero, too.
static int read_data(int file, std::span<std::byte> to) {
  const auto bytes = static_cast<off_t>(to.size());
  for (off_t at = 0; at < bytes;) {
    at = lseek(file, at, SEEK_DATA);
    if (at < 0) return errno == ENXIO ? 0 : errno;  // ENXIO: there is no more
    const off_t hole = lseek(file, at, SEEK_HOLE);
    if (hole < 0) return errno;
    for (const off_t end = std::min(hole, bytes); at < end;) {
      const ssize_t got = pread(file, to.data() + at, static_cast<std::size_t>(end - at), at);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno;
      if (got == 0) return 0;
      at += got;
    }
  }
  return 0;
}

Result<Rank> read_rank(const std::filesystem::path& file) {
  const auto failed = [&](int error) {
    return Status(error == ENOENT   ? Code::not_found
                  : error == EACCES ? Code::permission_denied
                                    : Code::system_error,
                  fmt::format("the profile's file cannot be read: {}", std::strerror(error)), file.string(),
                  "Name the folder that sennit profile wrote");
  };
  const UniqueFd opened(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (std::error_code none; !opened && errno == ENOENT && std::filesystem::is_symlink(file, none))
    return Status(Code::not_found,
                  fmt::format("it lies on its host still, as {}", std::filesystem::read_symlink(file, none).string()),
                  file.string(), "Copy it from there into the place of the link");
  if (!opened) return failed(errno);
  struct stat facts {};
  if (fstat(opened.get(), &facts) != 0) return failed(errno);
  const auto bytes = static_cast<std::size_t>(facts.st_size);
  if (bytes < sizeof(Tables)) return corrupt("the file is cut off", file.string());
  // A file with holes is read: where they lie in memory (tmpfs) and there is no more, touching one ends the process.
  constexpr std::uint64_t kBlockBytes = 512;
  const bool has_holes = static_cast<std::uint64_t>(facts.st_blocks) * kBlockBytes < bytes;
  void* const memory = has_holes ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                 : mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, opened.get(), 0);
  if (memory == MAP_FAILED) return failed(errno);
  if (has_holes)
    if (const int error = read_data(opened.get(), {static_cast<std::byte*>(memory), bytes}); error != 0) {
      munmap(memory, bytes);
      return failed(error);
    }
  auto rank = read_rank(std::span(static_cast<const std::byte*>(memory), bytes), file.string());
  munmap(memory, bytes);
  return rank;
}

}  // namespace sennit::profile
