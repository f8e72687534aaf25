#include "profile/recorder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <vector>

#include <fmt/format.h>

#include "base/unique_fd.h"
#include "base/units.h"

namespace sennit::profile {

namespace {

/// A thread keeps this of the recorder that it wrote to last.
struct Place {
  std::uint64_t serial = 0;
  std::uint32_t thread = 0;
  std::vector<Block*> blocks;  ///< its own, oldest first from `oldest` on, round
  std::size_t oldest = 0;
  Block* block = nullptr;
  std::uint32_t numbers = 0;
};
thread_local Place here;

std::atomic<std::uint64_t> serials{0};

/// A counter of which only the extreme is kept. Relaxed: a reader looks at it after the process's end.
template <class Better>
void keep(std::atomic<std::uint64_t>& extreme, std::uint64_t value, Better better) {
  std::uint64_t seen = extreme.load(std::memory_order_relaxed);
  while (better(value, seen) && !extreme.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

void add(std::atomic<std::uint64_t>& to, std::uint64_t value) {
  if (value != 0) to.fetch_add(value, std::memory_order_relaxed);
}

/// The slot of `key` in an open table; null where it has no room within the slots that are looked at.
template <class Table>
typename Table::value_type* find(Table& table, std::uint64_t key) {
  constexpr std::size_t kLooks = 64;
  std::size_t at = (key * 0x9e3779b97f4a7c15u) >> 32;
  for (std::size_t look = 0; look < kLooks; ++look, ++at) {
    auto& slot = table[at % table.size()];
    std::uint64_t there = slot.key.load(std::memory_order_relaxed);
    if (there == key) return &slot;
    if (there == 0 && (slot.key.compare_exchange_strong(there, key, std::memory_order_relaxed) || there == key))
      return &slot;
  }
  return nullptr;
}

Status failed(const char* what, int error, const std::string& where) {
  const bool full = error == ENOSPC || error == EDQUOT || error == ENOMEM;
  const bool forbidden = error == EACCES || error == EPERM || error == EROFS;
  return Status(full        ? Code::out_of_memory
                : forbidden ? Code::permission_denied
                            : Code::system_error,
                fmt::format("{}: {}", what, std::strerror(error)), where,
                full ? "Free space there, or name another folder: sennit profile -o FOLDER"
                     : "Name a folder that can be written to: sennit profile -o FOLDER");
}

}  // namespace

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

Result<std::unique_ptr<Recorder>> Recorder::map(int file, std::uint64_t bytes) {
  if (bytes < sizeof(Tables) + sizeof(Block))
    return Status(Code::invalid_argument, fmt::format("{} hold no call", format_bytes(bytes)), {},
                  fmt::format("Use {} or more", format_bytes(sizeof(Tables) + sizeof(Block))));
  if (file >= 0) {
    if (const int error = posix_fallocate(file, 0, static_cast<off_t>(bytes)); error != 0)
      return failed("the profile's file cannot have its size", error, {});
  }
  // Populated at once: a call that is the first on its page would otherwise wait for the kernel.
  const int flags = MAP_POPULATE | (file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS);
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  if (memory == MAP_FAILED) return failed("the profile's file cannot be mapped", errno, {});
  return std::unique_ptr<Recorder>(new Recorder(static_cast<std::byte*>(memory), bytes));
}

Result<std::unique_ptr<Recorder>> Recorder::create(const std::filesystem::path& file, std::uint64_t bytes) {
  const UniqueFd opened(open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!opened) return failed("the profile's file cannot be made", errno, file.string());
  auto made = map(opened.get(), bytes);
  if (!made) {
    unlink(file.c_str());
    return std::move(made).status().in(file.string());
  }
  return made;
}

Result<std::unique_ptr<Recorder>> Recorder::in_memory(std::uint64_t bytes) {
  return map(-1, bytes);
}

// The mapping is zero, which is what an empty table is: atomics of it are begun by the constructors that do nothing.
Recorder::Recorder(std::byte* memory, std::uint64_t bytes)
    : memory_(memory),
      bytes_(bytes),
      tables_(std::launder(reinterpret_cast<Tables*>(memory))),
      blocks_(std::launder(reinterpret_cast<Block*>(memory + sizeof(Tables)))),
      serial_(++serials) {
  Header& header = tables_->header;
  header.version = kVersion;
  header.header_bytes = sizeof(Tables);
  header.call_bytes = sizeof(Call);
  header.block_bytes = sizeof(Block);
  header.file_bytes = bytes;
  header.blocks = static_cast<std::uint32_t>((bytes - sizeof(Tables)) / sizeof(Block));
  header.rank = header.ranks = -1;
  header.process = static_cast<std::uint32_t>(getpid());
  header.begin_ns = now_ns();
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  header.wall_ns = static_cast<std::int64_t>(wall.tv_sec) * 1'000'000'000 + wall.tv_nsec;
  std::array<char, 64> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) set(header.host, host.data());
  header.magic = kMagic;
}

Recorder::~Recorder() {
  munmap(memory_, bytes_);
}

Sum& Recorder::sum_of(const Call& call) {
  const Class which{call.function,  call.communicator, call.how,
                    call.reduction, call.phase,        bin_of(std::max(call.bytes_in, call.bytes_out)),
                    call.memory_in, call.memory_out};
  if (Sum* const found = find(tables_->sum, which.key())) return *found;
  add(tables_->header.classes_lost, 1);
  return tables_->rest[call.function];
}

void Recorder::record(const Call& call) {
  Sum& sum = sum_of(call);
  const std::uint64_t ns = call.end_ns - call.begin_ns;
  add(sum.calls, 1);
  add(sum.bytes_in, call.bytes_in);
  add(sum.bytes_out, call.bytes_out);
  add(sum.ns, ns);
  keep(sum.most_ns, ns, std::greater<>());
  // The least is kept one higher: 0 is a slot that has none yet.
  keep(sum.least_ns, ns + 1, [](std::uint64_t mine, std::uint64_t other) { return other == 0 || mine < other; });
  add(sum.device_calls, call.device_end_ns != 0);
  add(sum.device_ns, call.device_end_ns - call.device_begin_ns);
  add(sum.at_once, call.at_once != 0);
  Block* block = here.serial == serial_ ? here.block : nullptr;
  std::uint64_t count = block == nullptr ? kCallsInBlock : block->count.load(std::memory_order_relaxed);
  if (count == kCallsInBlock) {
    block = next_block();
    if (block == nullptr) return add(tables_->header.calls_lost, 1);
    count = 0;
  }
  block->call[count] = call;
  block->count.store(count + 1, std::memory_order_release);
}

Block* Recorder::next_block() {
  Header& header = tables_->header;
  if (here.serial != serial_) {
    here = Place();
    here.serial = serial_;
    here.thread = std::atomic_ref(header.threads_seen).fetch_add(1, std::memory_order_relaxed);
  }
  const std::uint32_t taken = header.blocks_taken.load(std::memory_order_relaxed) < header.blocks
                                  ? header.blocks_taken.fetch_add(1, std::memory_order_relaxed)
                                  : header.blocks;
  if (taken < header.blocks) {
    here.blocks.push_back(&blocks_[taken]);
    here.block = here.blocks.back();
  } else if (!here.blocks.empty()) {
    here.block = here.blocks[here.oldest++ % here.blocks.size()];
    add(header.calls_lost, here.block->count.load(std::memory_order_relaxed));
  }
  if (here.block == nullptr) return nullptr;
  // Without its calls first: whoever reads the file after a kill here must not take old calls for new ones.
  here.block->count.store(0, std::memory_order_release);
  here.block->thread = here.thread;
  here.block->number = here.numbers++;
  return here.block;
}

void Recorder::count_message(int rank, bool sent, std::uint64_t bytes) {
  if (rank < 0) return;
  Peer* const peer = find(tables_->peer, 2 * (static_cast<std::uint64_t>(rank) + 1) + (sent ? 1 : 0));
  if (peer == nullptr) return add(tables_->header.classes_lost, 1);
  add(peer->messages, 1);
  add(peer->bytes, bytes);
}

template <class Table>
std::size_t Recorder::index_of(Table& table, std::atomic<std::uint32_t>& count, std::string_view name) {
  const std::lock_guard lock(names_);
  name = name.substr(0, table[0].size() - 1);
  const std::uint32_t known = count.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < known; ++i)
    if (name == table[i].data()) return i;
  if (known == table.size()) return table.size() - 1;
  set(table[known], known + 1 == table.size() ? std::string_view("others") : name);
  count.store(known + 1, std::memory_order_release);
  return known;
}

std::uint16_t Recorder::function(std::string_view name) {
  return static_cast<std::uint16_t>(index_of(tables_->function, tables_->header.functions, name));
}
std::uint8_t Recorder::how(std::string_view text) {
  return static_cast<std::uint8_t>(index_of(tables_->how, tables_->header.hows, text));
}
std::uint8_t Recorder::reduction(std::string_view name) {
  return static_cast<std::uint8_t>(index_of(tables_->reduction, tables_->header.reductions, name));
}
std::uint16_t Recorder::type(std::string_view name) {
  return static_cast<std::uint16_t>(index_of(tables_->type, tables_->header.types, name));
}
std::uint8_t Recorder::phase(std::string_view name) {
  return static_cast<std::uint8_t>(index_of(tables_->phase, tables_->header.phases, name));
}

std::uint16_t Recorder::communicator(const Communicator& made) {
  const std::lock_guard lock(names_);
  std::atomic<std::uint32_t>& count = tables_->header.communicators;
  const std::uint32_t known = count.load(std::memory_order_relaxed);
  if (known == kCommunicators) return kCommunicators - 1;
  Communicator& place = tables_->communicator[known];
  place = made;
  if (known + 1 == kCommunicators) {  // all further ones, of whatever size
    place = Communicator();
    set(place.name, "others");
  }
  count.store(known + 1, std::memory_order_release);
  return static_cast<std::uint16_t>(known);
}

void Recorder::begin_run(std::uint64_t ns) {
  std::uint64_t none = 0;
  tables_->header.init_ns.compare_exchange_strong(none, ns, std::memory_order_relaxed);
}

void Recorder::end_run(std::uint64_t ns, End end) {
  tables_->header.last_ns.store(ns, std::memory_order_relaxed);
  tables_->header.end.store(end, std::memory_order_release);
}

}  // namespace sennit::profile
