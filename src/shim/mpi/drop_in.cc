#include "shim/mpi/drop_in.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include <fmt/format.h>

#include "base/log.h"
#include "coll/layout_version.h"
#include "comm/wait.h"
#include "shim/mpi/agreement.h"

namespace sennit::shim::mpi {

namespace {

/// "MPI_COMM_WORLD", "the communicator 'rows' of 4 ranks", "a communicator of 4 ranks": for people.
std::string describe(const Mpi& mpi, Handle comm) {
  if (comm == mpi.comm_world()) return "MPI_COMM_WORLD";
  CommShape shape;
  if (mpi.shape(comm, shape) != 0) return "a communicator";
  const std::string name = mpi.name(comm);
  return name.empty() ? fmt::format("a communicator of {} ranks", shape.size)
                      : fmt::format("the communicator '{}' of {} ranks", name, shape.size);
}

std::string lower(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::string DropIn::name_of(Function function) {
  const std::string family = lower(kFamilyNames[std::size_t(function.family)]);
  switch (function.form) {
    case Form::nonblocking: return family[0] == 'i' ? family : "i" + family;
    case Form::persistent: return family.ends_with("_init") ? family : family + "_init";
    case Form::blocking: break;
  }
  return family;
}

std::string DropIn::function_of(const Call& call) {
  std::string name = name_of(call);
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return "MPI_" + name;
}

std::optional<int> DropIn::device_of(const Call& call) const {
  std::optional<int> device;
  for (const Part& part : call.all()) {
    if (!part.used() || call.mpi.is_in_place(part.address)) continue;
    const int here = memories_->held_again(part.address).device;
    if (here < 0 || (device && *device != here)) return -1;
    device = here;
  }
  return device;
}

bool DropIn::start() {
  CommShape world;
  if (mpi_->shape(mpi_->comm_world(), world) != 0) return false;
  rank_ = world.rank;
  explains_ = switches_.explain && rank_ == 0;
  const auto any =
      agree(*mpi_, world, coll::build_of(SENNIT_VERSION), memories_->possible(), comm::default_wait_limit());
  if (!any) {
    apart_ = true;
    unmatched_ = any.status().code() != Code::mismatch;
    // Nobody knows which ranks can say it, so some do.
    if (rank_ % 16 < 2)
      std::fprintf(stderr, "sennit: rank %d runs without sennit%s: %s\n", rank_,
                   stages_alone() ? ", but that its GPU buffers go through host memory" : "",
                   any.status().text().c_str());
    if (stages_alone()) mpi_->begin_to_check();
    return false;
  }
  if (!*any) {
    if (switches_.report && rank_ == 0)
      std::fputs("sennit: no rank can have GPU memory here (there is no NVIDIA driver), so calls pass as they are\n",
                 stderr);
    return false;
  }
  mpi_->begin_to_check();
  auto communicators = Communicators::create(*mpi_, switches_.between);
  if (communicators)
    communicators_ = std::move(*communicators);
  else if (rank_ == 0)
    log(LogLevel::warning, "GPU buffers go through host memory: " + communicators.status().text());
  return true;
}

void DropIn::finish() {
  // As MPI_Finalize, which waits for messages whose requests were freed; but a rank that died never receives.
  for (Patience patience; requests_.any_left(); patience.wait()) {
    progress();
    complete_left(Program::waits);
    mpi_->progress();
    const auto left = requests_.left();
    if (!left.empty() && std::ranges::none_of(left, [&](const auto& each) { return lost(*each.second).ok(); })) break;
  }
  helper_.reset();
  live_windows_.store(nullptr, std::memory_order_release);
  windows_.reset();
  pieces_.reset();
  Status lost;
  if (communicators_ != nullptr && !communicators_->forget_all()) lost = communicators_->group().check();
  listening_.store(false, std::memory_order_release);
  live_messages_.store(nullptr, std::memory_order_release);
  messages_.reset();  // others may have waited for what was left for them until all had come
  loans_.reset();
  communicators_.reset();
  mpi_->end_checking();
  if (switches_.report && rank_ == 0)
    std::fputs(report_.empty() ? "sennit: no call had a GPU buffer on rank 0\n"
                               : report_.text("sennit: calls with GPU buffers on rank 0").c_str(),
               stderr);
  // Last, since most programs let MPI end them here. Its own MPI_Finalize ends where it tells of deaths.
  if (!lost.ok() && !mpi_->tells_of_deaths()) (void)fail("MPI_Finalize", mpi_->comm_world(), lost);
}

Gpus* DropIn::gpus() {
  const std::lock_guard lock(gpus_mutex_);
  if (gpus_ == nullptr && no_gpus_.ok()) {
    auto executor = memories_->executor();
    if (executor) {
      gpus_ = std::make_unique<Gpus>(*executor, switches_.linger);
      host_ = std::make_unique<HostMemory>(*executor);
    } else {
      no_gpus_ = executor.status();
    }
  }
  return gpus_.get();
}

std::optional<int> DropIn::pass(std::string_view what, Handle comm) {
  if (communicators_ == nullptr) return std::nullopt;
  Communicators::One& one = communicators_->find_or_begin_to_meet(comm);
  if (!is_settled(one, Until::begun))
    if (auto status = settle(comm, one, Until::begun); !status) return fail(what, comm, status);
  if (one.board != nullptr) one.board->pass();
  return std::nullopt;
}

Result<bool> DropIn::wait_for_all(Communicators::One& one, std::uint64_t number, std::uint32_t signature,
                                  const Call& call) {
  Board& board = *one.board;
  const auto here = wait_for([&] { return board.answer(number); }, one, call);
  // Ranks of other nodes do not hear of it: there the MPI says what it says.
  if (here.ok() && !*here && !one.nodes)
    if (const auto odd = board.odd(number)) return disagreement(*odd);
  if (!here.ok() || !*here || !one.nodes) return here;
  if (!one.speaks()) return wait_for([&] { return board.decision(number); }, one, call);
  Council& council = communicators_->council();
  council.offer(one.key, number, signature);
  const auto all = wait_for([&] { return council.answer(one.key, number); }, one, call);
  board.decide(number, all.ok() && *all);
  return all;
}

template <class Answer>
Result<bool> DropIn::wait_for(const Answer& answer, const Communicators::One& one, const Call& call) {
  // As long as MPI would wait; but a rank that died never comes.
  for (Patience patience;; patience.wait()) {
    if (const std::optional<bool> known = answer()) return *known;
    progress();
    if (!patience.eager()) mpi_->progress();     // a message of the program's that they wait for may need this rank
    if (mpi_->revoked(call.comm)) return false;  // the real function says so
    if (auto lost = communicators_->check(one); !lost) return lost;
  }
}

bool DropIn::wanted(const Call& call) const {
  return !switches_.operations || switches_.takes(name_of(call)) ||
         (is_message(call.family) && switches_.takes(Switches::kMessages));
}

std::optional<int> DropIn::accelerate(const Call& call, std::string_view& why) {
  if (communicators_ == nullptr) {
    why = kNotMet;
    return std::nullopt;
  }
  Communicators::One& one = communicators_->find_or_begin_to_meet(call.comm);
  if (auto status = settle(call.comm, one, Until::done); !status) return fail(call, status);
  if (!one.whole) {
    if (one.board != nullptr) one.board->pass();
    why = one.why_not;
    return std::nullopt;
  }
  Board& board = *one.board;
  auto translated = translate(call);
  if (const auto* wrong = std::get_if<WhyNot>(&translated)) {
    board.pass();
    why = *wrong;
    return std::nullopt;
  }
  WhyNot not_so;
  if (one.nodes) not_so = communicators_->why_not(one, std::get<Work>(translated));
  if (one.tried && one.counterpart == nullptr) not_so = one.why_not;
  if (!not_so.empty()) {
    board.pass();
    why = not_so;
    return std::nullopt;
  }
  const auto device = device_of(call);
  if (device == -1 || (device && one.counterpart != nullptr && *device != one.counterpart->device())) {
    board.pass();
    why = "a buffer in host memory, or on another GPU";
    return std::nullopt;
  }
  const std::uint32_t signature = signature_of(std::get<Work>(translated));
  const auto all = wait_for_all(one, board.offer(signature), signature, call);
  if (!all) return fail(call, given_by(std::get<Work>(translated), all.status()));
  if (!*all) {
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
  const auto left = one.counterpart->why_not(work);
  if (!left) return fail(call, left.status());
  if (!left->empty()) {
    why = *left;
    return std::nullopt;
  }
  if (auto status = one.counterpart->perform(work); !status) return fail(call, status);
  if (tells()) {
    const std::string plan = one.counterpart->plan_of(work);
    const std::uint64_t bytes = message_size(call);
    count(call, bytes, plan, since);
    if (explains_) explanations_.say(name_of(call), bytes, plan);
  }
  return 0;
}

int DropIn::perform(const Call& call, const RealCall& real, std::string_view why) {
  if (gpus() == nullptr) return fail(call, no_gpus_);
  if (is_collective(call.family)) {
    if (!wanted(call)) {
      if (const auto code = pass(function_of(call), call.comm)) return *code;
      why = "SENNIT_OPS";
    } else if (const auto done = accelerate(call, why)) {
      return *done;
    }
  }
  const auto since = std::chrono::steady_clock::now();
  auto shadows = begin(call);
  if (!shadows) return fail(call, shadows.status());
  const int code = real((*shadows)->memory(), nullptr);
  if (code != 0) return code;
  if (auto status = (*shadows)->give_back(-1); !status) return fail(call, status);
  count_staged(call, **shadows, why, since);
  return 0;
}

Result<std::shared_ptr<Shadows>> DropIn::begin(const Call& call, bool again) {
  if (gpus() == nullptr) return no_gpus_;
  auto shadows = std::make_shared<Shadows>(*gpus_, *host_);
  const auto held = [&](const void* at) {
    return again || memories_->is_device(at) ? memories_->held_again(at) : Held{};
  };
  const auto overlap = is_collective(call.family) ? overlap_of(call) : std::nullopt;
  if (!overlap) {
    if (auto status = shadows->make(call, held); !status) return status;
    return shadows;
  }
  // The MPI is to find in the shadows what it would find in the program's memory, and to say what it says of that.
  Call one(call);
  one.parts[overlap->outer].access = Access::both;
  one.parts[overlap->inner].significant = false;
  if (auto status = shadows->make(one, held); !status) return status;
  shadows->put_inside(*overlap);
  return shadows;
}

Result<DropIn::Copy> DropIn::copy(const Call& call) {
  const Part& part = call.parts[0];
  if (gpus() != nullptr) {
    auto shadows = begin(call, false);
    if (!shadows) return shadows.status();
    if ((*shadows)->bytes() != 0) return Copy{(*shadows)->memory()[0], *shadows, (*shadows)->memory().types[0]};
  }
  auto* const address = const_cast<std::byte*>(static_cast<const std::byte*>(part.address));
  const auto span = part.used() ? span_of(*mpi_, part.elements) : std::nullopt;
  if (!span || span->bytes() <= 0)
    return Copy{address, nullptr, kNoHandle};  // nothing to copy, or the real function's to refuse
  // What lies far apart has memory between that nobody can read.
  Shape shape;
  const auto data = is_dense(*mpi_, part.elements) ? std::nullopt : mpi_->segments(part.elements.type);
  const Handle type =
      data && mpi_->shape(part.elements.type, shape) == 0 ? mpi_->type_of_bytes(shape.size) : kNoHandle;
  if (type != kNoHandle) {
    auto packed = std::make_shared<std::vector<std::byte>>();
    for (std::int64_t element = 0; element < part.count(); ++element)
      for (const Run& run : *data) {
        const std::byte* const at = address + element * shape.extent + run.first;
        packed->insert(packed->end(), at, at + run.bytes);
      }
    return Copy{packed->data(), packed, type};
  }
  auto bytes = std::make_shared<std::vector<std::byte>>(address + span->first, address + span->last);
  return Copy{bytes->data() - span->first, bytes, kNoHandle};
}

int DropIn::fail(const Call& call, const Status& status) {
  return fail(function_of(call), call.comm, status);
}

void DropIn::say(std::string_view what, Handle comm, const Status& status) const {
  const std::string on = comm == kNoHandle ? "" : " on " + describe(*mpi_, comm);
  log(LogLevel::error, fmt::format("rank {}: {}{}: {}", rank_, what, on, status.text()));
}

int DropIn::fail(std::string_view what, Handle comm, const Status& status) {
  say(what, comm, status);
  return mpi_->fail(comm, code_of(status));
}

int DropIn::code_of(const Status& status) const {
  if (status.code() == Code::out_of_memory) return mpi_->err_no_memory();
  return status.code() == Code::peer_lost ? mpi_->err_lost() : mpi_->err_other();
}

Status DropIn::check(int world_rank) const {
  return communicators_ == nullptr ? Status() : communicators_->group().check({&world_rank, 1});
}

Status DropIn::lost(OpenRequest& open) const {
  if (communicators_ == nullptr || !communicators_->group().failed()) return {};
  const Handle comm = open.comm();
  std::optional<int> source;
  {
    const std::lock_guard lock(open.mutex);
    const OpenRequest& started = open.sent != nullptr ? *open.sent : open;
    if (started.outgoing != nullptr) return check(started.outgoing->peer());
    if (open.receive != nullptr && open.receive->incoming != nullptr) return check(open.receive->incoming->peer());
    if (open.receive != nullptr) source = open.receive->source;
  }
  // What the MPI carries.
  if (mpi_->tells_of_deaths() || comm == kNoHandle) return {};
  if (source && *source != mpi_->any_source()) return check(communicators_->world_rank(comm, *source));
  return communicators_->check(comm);
}

std::optional<int> DropIn::in_vain(std::string_view what, OpenRequest& open) {
  const Status status = lost(open);
  return status.ok() ? std::nullopt : std::optional(fail(what, open.comm(), status));
}

std::optional<int> DropIn::in_vain(std::string_view what, Handle comm, int world_rank) {
  const Status status = check(world_rank);
  return status.ok() ? std::nullopt : std::optional(fail(what, comm, status));
}

void DropIn::forget(Handle comm) {
  if (communicators_ == nullptr) return requests_.forget_comm(comm);
  if (Communicators::One* const one = communicators_->find(comm)) {
    (void)settle(comm, *one, Until::done);
    for (const auto& each : one->repeated)
      for (Patience patience; each->active; patience.wait()) (void)move_turns(Mover::program);
    repeated_ -= static_cast<int>(one->repeated.size());
    if (one->board != nullptr) {
      one->board->pass();
      (void)move_until_all_come(comm, *one);
    } else {
      (void)let_all_come("MPI_Comm_free", comm);
    }
  }
  requests_.forget_comm(comm);
  communicators_->forget(comm, [this] { progress(); });
}

void DropIn::forget_freed(Handle comm) {
  requests_.forget_comm(comm);
  if (communicators_ != nullptr) communicators_->forget_freed(comm);
}

void DropIn::count(const Call& call, std::uint64_t bytes, std::string_view how,
                   std::chrono::steady_clock::time_point since) {
  if (switches_.report) count(call, bytes, how, std::chrono::steady_clock::now() - since);
}

void DropIn::count(const Call& call, std::uint64_t bytes, std::string_view how, std::chrono::nanoseconds time) {
  if (!switches_.report) return;
  const std::chrono::duration<double, std::micro> took = time;
  report_.count(name_of(call), bytes, how, took.count());
}

void DropIn::explain_staged(Function function, std::uint64_t bytes, std::string_view how, std::string_view detail) {
  if (explains_) explanations_.say_way(name_of(function), bytes, fmt::format("{}{}", how, detail));
}

}  // namespace sennit::shim::mpi
