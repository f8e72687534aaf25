#include "shim/mpi/drop_in.h"

#include <cctype>
#include <cstdio>

#include <fmt/format.h>

#include "base/log.h"
#include "base/units.h"

namespace sennit::shim::mpi {

namespace {

std::string lower(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// "allreduce", "iallreduce", "allreduce_init": what the report calls it.
std::string name_of(const Call& call) {
  const std::string family = lower(kFamilyNames[std::size_t(call.family)]);
  switch (call.form) {
    case Form::nonblocking: return family[0] == 'i' ? family : "i" + family;
    case Form::persistent: return family.ends_with("_init") ? family : family + "_init";
    case Form::blocking: break;
  }
  return family;
}

/// The device that all the call's memory is on; -1 for host memory or several devices, none where nothing is used.
std::optional<int> device_of(const Call& call, device::Executor& executor, const Memories& memories) {
  std::optional<int> device;
  for (const Part& part : call.all()) {
    if (!part.used() || call.mpi.is_in_place(part.address)) continue;
    if (!memories.is_device(part.address)) return -1;
    const int here = executor.holder(part.address).value_or(-1);
    if (device && *device != here) return -1;
    device = here;
  }
  return device;
}

}  // namespace

bool DropIn::start() {
  CommShape world;
  if (mpi_->shape(mpi_->comm_world(), world) != 0) return false;
  rank_ = world.rank;
  const int mine = memories_->possible() ? 1 : 0;
  std::vector<int> all(static_cast<std::size_t>(world.size));
  if (mpi_->all_gather(mpi_->comm_world(), &mine, all.data(), sizeof mine) != 0) return false;
  if (std::ranges::find(all, 1) == all.end()) {
    if (switches_.report && rank_ == 0)
      std::fputs("sennit: no rank can have GPU memory here (there is no NVIDIA driver), so calls pass as they are\n",
                 stderr);
    return false;
  }
  auto communicators = Communicators::create(*mpi_);
  if (communicators)
    communicators_ = std::move(*communicators);
  else if (rank_ == 0)
    log(LogLevel::warning, "GPU buffers go through host memory: " + communicators.status().text());
  return true;
}

void DropIn::finish() {
  messages_.reset();
  if (communicators_ != nullptr) {
    communicators_->forget_all();
    communicators_.reset();
  }
  if (switches_.report && rank_ == 0)
    std::fputs(report_.empty() ? "sennit: no call had a GPU buffer on rank 0\n"
                               : report_.text("sennit: calls with GPU buffers on rank 0").c_str(),
               stderr);
}

Gpus* DropIn::gpus() {
  const std::lock_guard lock(gpus_mutex_);
  if (gpus_ == nullptr && no_gpus_.ok()) {
    auto executor = memories_->executor();
    if (executor) {
      gpus_ = std::make_unique<Gpus>(*executor);
      host_ = std::make_unique<HostMemory>(*executor);
    } else {
      no_gpus_ = executor.status();
    }
  }
  return gpus_.get();
}

void DropIn::pass(Handle comm) {
  if (communicators_ == nullptr) return;
  Communicators::One& one = communicators_->find_or_meet(comm, [this] { progress(); });
  if (one.board != nullptr) one.board->pass();
}

bool DropIn::wait_for_all(const Board& board, std::uint64_t number, const Call& call) {
  // As long as MPI would wait; but a rank that died never comes.
  for (Patience patience;; patience.wait()) {
    if (const auto answer = board.answer(number)) return *answer;
    progress();
    if (communicators_->group().failed()) {
      (void)fail(call, communicators_->group().check());
      return false;
    }
    if (mpi_->revoked(call.comm)) return false;  // the real function says so
  }
}

std::optional<int> DropIn::accelerate(const Call& call, std::string& why) {
  if (communicators_ == nullptr) {
    why = "the job's ranks could not meet";
    return std::nullopt;
  }
  Communicators::One& one = communicators_->find_or_meet(call.comm, [this] { progress(); });
  if (!one.whole) {
    if (one.board != nullptr) one.board->pass();
    why = one.why_not;
    return std::nullopt;
  }
  Board& board = *one.board;
  auto translated = translate(call);
  if (const auto* not_so = std::get_if<WhyNot>(&translated)) {
    board.pass();
    why = *not_so;
    return std::nullopt;
  }
  if (one.tried && one.counterpart == nullptr) {
    board.pass();
    why = one.why_not;
    return std::nullopt;
  }
  device::Executor& executor = gpus_->executor();
  const auto device = device_of(call, executor, *memories_);
  if (device == -1 || (device && one.counterpart != nullptr && *device != one.counterpart->device())) {
    board.pass();
    why = "a buffer in host memory, or on another GPU";
    return std::nullopt;
  }
  if (!wait_for_all(board, board.offer(), call)) {
    why = "another rank's buffer or type";
    return std::nullopt;
  }
  if (one.counterpart == nullptr) {
    communicators_->match(call.comm, one, memories_->executor_for_communicator(), device.value_or(-1));
    if (one.counterpart == nullptr) {
      why = one.why_not;
      return std::nullopt;
    }
  }
  Work& work = std::get<Work>(translated);
  work.settle();
  const auto since = std::chrono::steady_clock::now();
  if (auto status = one.counterpart->perform(work); !status) return fail(call, status);
  if (switches_.report || switches_.explain) {
    const std::string plan = one.counterpart->plan_of(work);
    count(call, work.bytes, plan, since);
    explain(name_of(call), work.bytes, plan);
  }
  return 0;
}

int DropIn::perform(const Call& call, const RealCall& real, std::string why) {
  if (gpus() == nullptr) return fail(call, no_gpus_);
  if (is_collective(call.family)) {
    if (!switches_.takes(name_of(call))) {
      pass(call.comm);
      why = "SENNIT_OPS";
    } else if (const auto done = accelerate(call, why)) {
      return *done;
    }
  }
  const auto since = std::chrono::steady_clock::now();
  Shadows shadows(*gpus_, *host_);
  if (auto status = shadows.make(call, [&](const void* at) { return is_device(at); }); !status)
    return fail(call, status);
  const int code = real(shadows.memory(), nullptr);
  if (code != 0) return code;
  if (auto status = shadows.give_back(-1); !status) return fail(call, status);
  count(call, shadows.bytes(), "staged: " + why, since);
  return 0;
}

Result<std::shared_ptr<Shadows>> DropIn::begin(const Call& call) {
  if (gpus() == nullptr) return no_gpus_;
  auto shadows = std::make_shared<Shadows>(*gpus_, *host_);
  if (auto status = shadows->make(call, [&](const void* at) { return is_device(at); }); !status) return status;
  return shadows;
}

Messages* DropIn::messages() {
  if (gpus() == nullptr || communicators_ == nullptr) return nullptr;
  const std::lock_guard lock(gpus_mutex_);
  if (messages_ == nullptr)
    messages_ = std::make_unique<Messages>(communicators_->group(), communicators_->job(), *gpus_);
  return messages_.get();
}

bool DropIn::looks_at_receives(bool request) {
  if (listening_.load(std::memory_order_acquire)) return true;
  if (communicators_ == nullptr) return false;
  if (!memories_->awake() || unseen_receives_.load(std::memory_order_relaxed) || messages() == nullptr) {
    if (request) unseen_receives_.store(true, std::memory_order_relaxed);
    return false;
  }
  communicators_->listen();
  listening_.store(true, std::memory_order_release);
  return true;
}

std::unique_ptr<Messages::Outgoing> DropIn::announce(const Call& call, std::string_view& why) {
  const Part& part = call.parts[0];
  const auto uniform = part.elements.type == kNoHandle ? std::nullopt : mpi_->uniform(part.elements.type);
  why = "derived type with gaps";
  if (!uniform) return nullptr;
  const std::uint64_t bytes = static_cast<std::uint64_t>(part.count()) * static_cast<std::uint64_t>(uniform->count) *
                              bytes_of(uniform->meaning);
  why = "small";
  if (part.count() < 0 || bytes < kLeastAnnounced) return nullptr;
  why = "SENNIT_OPS";
  if (!switches_.takes(name_of(call))) return nullptr;
  why = "to a process of another node, or itself";
  const int dest = communicators_ != nullptr ? communicators_->neighbour(call.comm, call.dest) : -1;
  if (dest < 0) return nullptr;
  why = "to a process that uses no GPU yet";
  if (!communicators_->listens(dest)) return nullptr;
  why = "memory that cannot be shared";
  return messages() != nullptr ? messages_->announce(part.address, bytes, dest, call.tag) : nullptr;
}

int DropIn::wait_until_taken(Messages::Outgoing& outgoing, const Call& call) {
  for (Patience patience;; patience.wait()) {
    const auto taken = outgoing.taken();
    if (!taken) return fail(call, taken.status());
    if (*taken) return 0;
    progress();
    mpi_->progress();
    if (communicators_->group().failed()) return fail(call, communicators_->group().check());
  }
}

std::unique_ptr<Receive> DropIn::receive_of(const Call& call, const Shadows& shadows) {
  const std::size_t index = static_cast<std::size_t>(call.count) - 1;  // the last buffer is what is received into
  const Part& part = call.parts[index];
  Shape shape;
  if (part.address == nullptr || part.elements.type == kNoHandle || mpi_->shape(part.elements.type, shape) != 0)
    return nullptr;
  const std::int64_t capacity = part.count() * shape.size;
  if (capacity < static_cast<std::int64_t>(kLeastLookedAt)) return nullptr;
  auto receive = std::make_unique<Receive>();
  receive->landed = shadows.memory()[index];
  receive->buffer = const_cast<void*>(part.address);
  receive->capacity = capacity;
  if (!mpi_->uniform(part.elements.type)) receive->type = part.elements.type;
  return receive;
}

void DropIn::look(Receive& receive, std::int64_t bytes) {
  receive.looked = true;
  if (bytes < static_cast<std::int64_t>(kLeastLookedAt) || bytes > static_cast<std::int64_t>(kLongestAnnouncement))
    return;
  const void* came = receive.landed;
  std::array<std::byte, kLongestAnnouncement> packed;
  if (receive.type != kNoHandle) {
    if (mpi_->pack(receive.landed, receive.type, bytes, packed.data()) != 0) return;
    came = packed.data();
  }
  if (!messages_->is_announcement(came, static_cast<std::uint64_t>(bytes))) return;
  Announcement card{};
  std::memcpy(&card, came, sizeof card);
  if (card.bytes > static_cast<std::uint64_t>(receive.capacity)) {
    messages_->refuse(card);
    receive.error = mpi_->err_truncate();
    return;
  }
  void* to = receive.buffer;
  if (receive.type != kNoHandle) {
    auto room = host_->take(card.bytes);
    if (!room) {
      messages_->refuse(card);
      receive.error = mpi_->err_no_memory();
      return;
    }
    receive.packed = std::move(*room);
    to = receive.packed.data();
  }
  receive.incoming = messages_->fetch(card, to);
}

bool DropIn::arrived(Receive& receive) {
  if (receive.incoming == nullptr || receive.error != 0) return true;
  const auto done = receive.incoming->done();
  if (!done) {
    log(LogLevel::error, fmt::format("rank {}: a message cannot be fetched: {}", rank_, done.status().text()));
    receive.error = mpi_->err_other();
    return true;
  }
  return *done;
}

int DropIn::complete(Receive& receive, Shadows* shadows, std::int64_t& bytes) {
  if (receive.error != 0) return mpi_->fail(kNoHandle, receive.error);
  if (receive.incoming == nullptr) {
    const auto given = shadows != nullptr ? shadows->give_back(bytes) : Status();
    return given.ok() ? 0 : fail("receiving a message", kNoHandle, given);
  }
  bytes = static_cast<std::int64_t>(receive.incoming->bytes());
  if (receive.type == kNoHandle) return 0;
  if (const int code = mpi_->unpack(receive.packed.data(), bytes, receive.landed, receive.type); code != 0)
    return mpi_->fail(kNoHandle, code);
  host_->give(std::move(receive.packed));
  const auto given = shadows != nullptr ? shadows->give_back(-1) : Status();
  return given.ok() ? 0 : fail("receiving a message", kNoHandle, given);
}

bool DropIn::ready(Handle request, OpenRequest& open) {
  if (!open.moves()) return true;
  const std::lock_guard lock(open.mutex);
  bool done = false;
  Received received;
  if (open.outgoing != nullptr) {
    if (!open.lost.ok()) return true;
    const auto taken = open.outgoing->taken();
    if (!taken.ok()) open.lost = taken.status();
    if (!taken.ok() || *taken) return true;
    // One that was cancelled before it was received stays untaken.
    return mpi_->look_at(request, false, done, received) == 0 && done && received.cancelled;
  }
  Receive& receive = *open.receive;
  if (!receive.looked) {
    if (const int code = mpi_->look_at(request, open.persistent, done, received); code != 0) {
      receive.looked = true;
      // Of a persistent one this was the end; of others the real function says what is wrong once more.
      open.finished = open.persistent;
      open.status = received.status;
      if (open.persistent) receive.error = code;
      return true;
    }
    if (!done) return false;
    open.finished = open.persistent;
    open.status = received.status;
    look(receive, received.cancelled ? 0 : received.bytes);
  }
  return arrived(receive);
}

void DropIn::progress() {
  if (!requests_.busy()) return;
  for (const auto& [request, open] : requests_.moving()) (void)ready(request, *open);
}

void DropIn::move_until_all_come(Handle comm) {
  if (communicators_ == nullptr) return;
  const Communicators::One* const one = communicators_->find(comm);
  if (one == nullptr || one->board == nullptr) return;
  for (Patience patience; !one->board->all_came(); patience.wait()) {
    progress();
    mpi_->progress();
    // Of a communicator that is of no use any more, some may never come.
    if (communicators_->group().failed() || mpi_->revoked(comm)) return;
  }
}

std::int64_t DropIn::probed(Handle comm, int source, int tag, std::int64_t bytes) {
  if (messages_ == nullptr || communicators_ == nullptr || bytes < 0) return bytes;
  return static_cast<std::int64_t>(
      messages_->probed(communicators_->world_rank(comm, source), tag, static_cast<std::uint64_t>(bytes)));
}

int DropIn::fail(const Call& call, const Status& status) {
  return fail(fmt::format("MPI_{}", kFamilyNames[std::size_t(call.family)]), call.comm, status);
}

int DropIn::fail(std::string_view what, Handle comm, const Status& status) {
  log(LogLevel::error, fmt::format("rank {}: {}: {}", rank_, what, status.text()));
  return mpi_->fail(comm, status.code() == Code::out_of_memory ? mpi_->err_no_memory() : mpi_->err_other());
}

void DropIn::forget(Handle comm) {
  if (communicators_ == nullptr) return;
  if (const Communicators::One* const one = communicators_->find(comm); one != nullptr && one->board != nullptr) {
    one->board->pass();
    move_until_all_come(comm);
  }
  communicators_->forget(comm);
}

void DropIn::count(const Call& call, std::uint64_t bytes, std::string_view how,
                   std::chrono::steady_clock::time_point since) {
  if (!switches_.report) return;
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - since;
  report_.count(name_of(call), bytes, how, took.count());
}

void DropIn::explain(std::string_view operation, std::uint64_t bytes, std::string_view how) {
  if (!switches_.explain || rank_ != 0) return;
  {
    const std::lock_guard lock(explained_mutex_);
    if (!explained_.emplace(std::string(operation), bytes).second) return;
  }
  std::fputs(fmt::format("sennit: {} of {}: {}\n", operation, format_bytes(bytes), how).c_str(), stderr);
}

}  // namespace sennit::shim::mpi
