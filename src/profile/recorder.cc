#include "profile/recorder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <fmt/format.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/processors.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "profile/file_room.h"

namespace sennit::profile {

namespace {

thread_local constinit Recorder::Thread here;
std::atomic<std::uint64_t> serials{0};

void set(std::atomic<std::uint64_t>& to, std::uint64_t value) {
  to.store(value, std::memory_order_relaxed);
}

/// Of a slot that several threads write.
void add(std::atomic<std::uint64_t>& to, std::uint64_t more) {
  if (more != 0) to.fetch_add(more, std::memory_order_relaxed);
}
/// Of a thread's own one, without a locked instruction.
void add(bool shared, std::atomic<std::uint64_t>& to, std::uint64_t more) {
  if (shared)
    add(to, more);
  else if (more != 0)
    set(to, value(to) + more);
}
/// A counter of which only the extreme is kept.
template <class Better>
void keep(std::atomic<std::uint64_t>& extreme, std::uint64_t mine, Better better) {
  std::uint64_t seen = value(extreme);
  while (better(mine, seen) && !extreme.compare_exchange_weak(seen, mine, std::memory_order_relaxed)) {
  }
}

/// The owner's slot of `key` in an open table; null where it has no room within the slots that are looked at.
template <class Table>
typename Table::value_type* find(Table& table, std::uint64_t key, std::uint32_t owner) {
  constexpr std::size_t kLooks = 64;
  std::size_t at = (key * 0x9e3779b97f4a7c15u) >> 32;
  for (std::size_t look = 0; look < kLooks; ++look, ++at) {
    auto& slot = table[at % table.size()];
    std::uint64_t there = value(slot.key);
    if (there == 0 && slot.key.compare_exchange_strong(there, key, std::memory_order_relaxed)) {
      slot.owner.store(owner, std::memory_order_release);
      return &slot;
    }
    if (there == key && slot.owner.load(std::memory_order_acquire) == owner) return &slot;
  }
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::map(int file, std::uint64_t bytes, Clock clock) {
  const Clock::Moment begin = clock.moment();
  if (bytes < sizeof(Tables) + sizeof(Block))
    return Status(Code::invalid_argument, fmt::format("{} hold no call", format_bytes(bytes)), {},
                  fmt::format("Use {} or more", format_bytes(sizeof(Tables) + sizeof(Block))));
  if (file >= 0) {
    if (const int error = posix_fallocate(file, 0, static_cast<off_t>(bytes)); error != 0)
      return file_error("the profile's file cannot have its size", error, {});
  }
  const int flags = file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  if (memory == MAP_FAILED) return file_error("the profile's file cannot be mapped", errno, {});
  make_writable(static_cast<std::byte*>(memory), bytes);
  return std::unique_ptr<Recorder>(new Recorder(static_cast<std::byte*>(memory), bytes, clock, begin));
}

Result<std::unique_ptr<Recorder>> Recorder::create(const std::filesystem::path& file, std::uint64_t bytes,
                                                   Clock clock) {
  // A file that grows beyond it ends the program by SIGXFSZ. A shorter one keeps fewer single calls.
  constexpr std::uint64_t kLeast = sizeof(Tables) + sizeof(Block);
  if (const std::uint64_t most = largest_file(); most < bytes) {
    if (most < kLeast && kLeast <= bytes)
      return Status(Code::out_of_memory,
                    fmt::format("the profile's file needs {}, and this process may write files of {}",
                                format_bytes(kLeast), format_bytes(most)),
                    file.string(), "Raise the limit: ulimit -f unlimited");
    bytes = most;
  }
  const UniqueFd opened(open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!opened) return file_error("the profile's file cannot be made", errno, file.string());
  auto made = map(opened.get(), bytes, clock);
  if (!made) {
    unlink(file.c_str());
    return std::move(made).status().in(file.string());
  }
  return made;
}

Result<std::unique_ptr<Recorder>> Recorder::in_memory(std::uint64_t bytes, Clock clock) {
  return map(-1, bytes, clock);
}

// The mapping is zero, which is what an empty table is: atomics of it are begun by the constructors that do nothing.
Recorder::Recorder(std::byte* memory, std::uint64_t bytes, Clock clock, const Clock::Moment& begin)
    : memory_(memory),
      bytes_(bytes),
      tables_(std::launder(reinterpret_cast<Tables*>(memory))),
      blocks_(std::launder(reinterpret_cast<Block*>(memory + sizeof(Tables)))),
      clock_(clock),
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
  header.cores = static_cast<std::uint32_t>(std::max(0l, sysconf(_SC_NPROCESSORS_ONLN)));
  header.begin = begin.ticks;
  header.begin_ns = begin.ns;
  header.clock_error_ns = begin.error_ns;
  calibrate();
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  header.wall_ns = static_cast<std::int64_t>(wall.tv_sec) * 1'000'000'000 + wall.tv_nsec;
  std::array<char, 64> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) set(header.host, host.data());
  for (const int node : bound_nodes(allowed_processors()))
    if (node < 64) header.numa_nodes |= std::uint64_t{1} << node;
  header.magic = kMagic;
}

Recorder::~Recorder() {
  munmap(memory_, bytes_);
}

void Recorder::calibrate() {
  Header& header = tables_->header;
  double ns_per_tick = 1;
  if (clock_.counts_cycles()) {
    constexpr std::uint64_t kLeast = 1'000'000;  // ns, for four digits
    Clock::Moment now = clock_.moment();
    while (now.ns - header.begin_ns < kLeast) now = clock_.moment();
    ns_per_tick = static_cast<double>(now.ns - header.begin_ns) / static_cast<double>(now.ticks - header.begin);
  }
  header.ns_per_tick.store(ns_per_tick, std::memory_order_relaxed);
}

Recorder::Thread& Recorder::thread() {
  if (here.serial_ != serial_) {
    here = Thread();
    here.serial_ = serial_;
    here.number_ = std::atomic_ref(tables_->header.threads_seen).fetch_add(1, std::memory_order_relaxed);
    here.owner_ = here.number_ < kOwners ? here.number_ + 1 : kEverybody;
  }
  return here;
}

Recorder::Counted Recorder::counted(const Thread& thread, const Class& of, Found<Sum>& found) {
  const std::uint64_t key = of.key();
  if (found.key != key) found = {key, find(tables_->sum, key, thread.owner_)};
  if (found.slot != nullptr) return {*found.slot, thread.owner_ == kEverybody};
  add(tables_->header.classes_lost, 1);
  return {tables_->rest[of.function], true};
}

void Recorder::end_request(Thread& thread, const Class& of, const Ended& ended) {
  Found<Sum> found;
  const auto [sum, shared] = counted(thread, of, found);
  add(shared, sum.requests, 1);
  add(shared, sum.flight, ended.flight);
  add(shared, sum.waited, std::min(ended.waited, ended.flight));
  add(shared, sum.received, ended.received);
}

void Recorder::retell(Thread& thread, const Class& recorded, const Class& of, const Recorded& call) {
  const auto change = [&](const Class& one, std::uint64_t times) {
    Found<Sum> found;
    const auto [sum, shared] = counted(thread, one, found);
    add(shared, sum.calls, times);
    add(shared, sum.bytes_in, times * call.bytes_in);
    add(shared, sum.bytes_out, times * call.bytes_out);
    add(shared, sum.time, times * call.time);
    add(shared, sum.at_once, call.at_once ? times : 0);
    return &sum;
  };
  change(recorded, ~std::uint64_t{0});  // one less, whosever slot has it
  Sum& sum = *change(of, 1);
  keep(sum.most, call.time, std::greater<>());
  keep(sum.least, call.time + 1, [](std::uint64_t mine, std::uint64_t other) { return other == 0 || mine < other; });
}

void Recorder::end_unseen(Thread& thread, const Class& of) {
  Found<Sum> found;
  const auto [sum, shared] = counted(thread, of, found);
  add(shared, sum.unseen, 1);
}

void Recorder::add_device_time(Thread& thread, const Class& of, std::uint64_t calls, std::uint64_t ns) {
  Found<Sum> found;
  const auto [sum, shared] = counted(thread, of, found);
  add(shared, sum.device_calls, calls);
  add(shared, sum.device_ns, ns);
}

void Recorder::add_captured(Thread& thread, const Class& of) {
  Found<Sum> found;
  const auto [sum, shared] = counted(thread, of, found);
  add(shared, sum.captured, 1);
}

void Recorder::add_replays(Thread& thread, const Class& of, std::uint64_t calls, std::uint64_t bytes) {
  Found<Sum> found;
  const auto [sum, shared] = counted(thread, of, found);
  add(shared, sum.replayed, calls);
  add(shared, sum.replayed_bytes, bytes);
}

void Recorder::begin_registration(std::uint16_t function, std::uint64_t bytes) {
  for (Registered* const one : {&tables_->registered[function], &tables_->all_registered}) {
    add(one->calls, 1);
    add(one->bytes, bytes);
    keep(one->most, one->now.fetch_add(bytes, std::memory_order_relaxed) + bytes, std::greater<>());
  }
}

void Recorder::end_registration(std::uint16_t function, std::uint64_t bytes) {
  tables_->registered[function].now.fetch_sub(bytes, std::memory_order_relaxed);
  tables_->all_registered.now.fetch_sub(bytes, std::memory_order_relaxed);
}

void Recorder::record(Thread& thread, const Call& call, Found<Sum>& found) {
  const auto [sum, shared] = counted(thread, class_of(call), found);
  const std::uint64_t time = call.end - call.begin;
  add(shared, sum.calls, 1);
  add(shared, sum.bytes_in, call.bytes_in);
  add(shared, sum.bytes_out, call.bytes_out);
  add(shared, sum.time, time);
  keep(sum.most, time, std::greater<>());
  // The least is kept one higher: 0 is a slot that has none yet.
  keep(sum.least, time + 1, [](std::uint64_t mine, std::uint64_t other) { return other == 0 || mine < other; });
  add(shared, sum.at_once, call.at_once != 0);
  add(shared, sum.received, call.received);
  if (call.missed != 0) {
    add(shared, sum.misses, 1);
    add(shared, sum.missed, time);
  }
  // A process may be killed at any time, and the tick is then as long as was known last: each time twice as exactly,
  // so that times are always as good as one look at the clocks.
  if (clock_.counts_cycles() && call.end >= thread.calibration_) {
    constexpr double kMost = 1e9;  // ns
    if (thread.calibration_ != 0) calibrate();
    const double ns_per_tick = tables_->header.ns_per_tick.load(std::memory_order_relaxed);
    thread.calibration_ =
        call.end + std::min(call.end - tables_->header.begin, static_cast<std::uint64_t>(kMost / ns_per_tick));
  }
  if ((thread.block_ == nullptr || value(thread.block_->count) == kCallsInBlock) && !next_block(thread))
    return add(tables_->header.calls_lost, 1);
  Block& block = *thread.block_;
  const std::uint64_t count = value(block.count);
  block.call[count] = call;
  block.count.store(count + 1, std::memory_order_release);
}

bool Recorder::next_block(Thread& thread) {
  Header& header = tables_->header;
  const std::uint32_t taken = header.blocks_taken.load(std::memory_order_relaxed) < header.blocks
                                  ? header.blocks_taken.fetch_add(1, std::memory_order_relaxed)
                                  : header.blocks;
  if (taken < header.blocks) {
    thread.block_ = &blocks_[taken];
    thread.block_->next = taken;
    if (thread.last_ != nullptr) thread.last_->next = taken;
    if (thread.first_ == nullptr) thread.first_ = thread.block_;
    thread.last_ = thread.block_;
  } else if (thread.block_ != nullptr) {  // its oldest one: the chain has them in order, round
    thread.block_ = thread.block_ == thread.last_ ? thread.first_ : &blocks_[thread.block_->next];
    add(header.calls_lost, value(thread.block_->count));
  } else {
    return false;
  }
  // Without its calls first: whoever reads the file after a kill here must not take old calls for new ones.
  thread.block_->count.store(0, std::memory_order_release);
  thread.block_->thread = thread.number_;
  thread.block_->number = thread.blocks_++;
  return true;
}

void Recorder::count_message(Thread& thread, int rank, bool sent, std::uint64_t bytes, Found<Peer>& found) {
  if (rank < 0) return;
  const std::uint64_t key = 2 * (static_cast<std::uint64_t>(rank) + 1) + (sent ? 1 : 0);
  if (found.key != key) found = {key, find(tables_->peer, key, thread.owner_)};
  if (found.slot == nullptr) return add(tables_->header.classes_lost, 1);
  const bool shared = thread.owner_ == kEverybody;
  add(shared, found.slot->messages, 1);
  add(shared, found.slot->bytes, bytes);
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
std::uint8_t Recorder::reduction(std::string_view name) {
  return static_cast<std::uint8_t>(index_of(tables_->reduction, tables_->header.reductions, name));
}
std::uint16_t Recorder::type(std::string_view name) {
  return static_cast<std::uint16_t>(index_of(tables_->type, tables_->header.types, name));
}
std::uint8_t Recorder::phase(std::string_view name) {
  return static_cast<std::uint8_t>(index_of(tables_->phase, tables_->header.phases, name));
}
std::uint8_t Recorder::how(std::string_view name) {
  return static_cast<std::uint8_t>(index_of(tables_->how, tables_->header.hows, name));
}

std::uint16_t Recorder::variable(std::string_view name, std::string_view failed) {
  const std::lock_guard lock(names_);
  std::atomic<std::uint32_t>& count = tables_->header.variables;
  const std::uint32_t known = count.load(std::memory_order_relaxed);
  if (known == kVariables) return kVariables - 1;
  Variable& place = tables_->variable[known];
  profile::set(place.name, known + 1 == kVariables ? std::string_view("others") : name);
  profile::set(place.failed, failed);
  count.store(known + 1, std::memory_order_release);
  return static_cast<std::uint16_t>(known);
}

void Recorder::sample(std::uint16_t variable, std::uint64_t time, std::uint64_t value) {
  Variable& of = tables_->variable[variable];
  add(false, of.samples, 1);
  add(false, of.sum, value);
  keep(of.most, value, std::greater<>());
  const std::uint64_t samples = tables_->header.samples.load(std::memory_order_relaxed);
  tables_->sample[samples % kSamples] = {time, value, variable, 0};
  tables_->header.samples.store(samples + 1, std::memory_order_release);
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

void Recorder::begin_run(std::uint64_t time) {
  std::uint64_t none = 0;
  if (value(tables_->header.init) == none)
    tables_->header.init.compare_exchange_strong(none, time, std::memory_order_relaxed);
}

void Recorder::pause(bool paused) {
  Header& header = tables_->header;
  const std::lock_guard lock(names_);
  const std::uint64_t since = value(header.paused_since);
  if (paused == (since != 0)) return;
  if (!paused) {
    const bool has_ended = header.end.load(std::memory_order_relaxed) != End::running;
    const std::uint64_t begin = std::max(since, value(header.init)), end = has_ended ? value(header.last) : now();
    if (value(header.init) != 0 && end > begin) set(header.paused, value(header.paused) + end - begin);
  }
  set(header.paused_since, paused ? now() : 0);
}

void Recorder::end_run(std::uint64_t time, End end) {
  calibrate();
  set(tables_->header.last, time);
  tables_->header.end.store(end, std::memory_order_release);
}

}  // namespace sennit::profile
