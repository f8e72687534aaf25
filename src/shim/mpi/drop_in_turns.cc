// The half of the drop-in that has to do with collective calls that end in a request.
#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "shim/mpi/drop_in.h"

namespace sennit::shim::mpi {

namespace {

/// Communicators that have calls under way at once: sennit's kernels wait on the GPU for their peers, in another
/// order on each, so all of them have to have room there at the same time, beside the program's. A default: each
/// takes a fraction of a GPU.
constexpr std::size_t kMostActive = 4;

/// Persistent calls that sennit does for a process, each with scratch memory and kernels of its own: a default. One
/// that is freed makes room for the next of its communicator.
constexpr int kMostRepeated = 4;

}  // namespace

class DropIn::Table final : public TurnsTable {
 public:
  Table(DropIn& drop_in, const Active& active, Mover mover)
      : drop_in_(drop_in), comm_(active.comm), one_(*active.one), mover_(mover) {}

  std::optional<std::uint64_t> begin(std::uint32_t signature) override {
    return one_.board != nullptr ? one_.board->begin(signature) : 0;
  }
  void pass() override {
    if (one_.board != nullptr) one_.board->pass();
  }
  Result<std::optional<bool>> answer(std::uint64_t number) override {
    const bool program = mover_ == Mover::program;
    if (!one_.met && !(program && all().met(comm_, one_))) return gone();
    if (one_.broken) return all().check(one_);
    if (!one_.whole || one_.nodes || one_.board == nullptr) return std::optional(false);
    const auto known = one_.board->answer(number);
    if (!known) return gone();
    if (!*known)
      if (const auto odd = one_.board->odd(number)) return disagreement(*odd);
    return known;
  }
  void looked(std::uint64_t number) override {
    if (one_.board != nullptr) one_.board->looked(number);
  }
  Result<std::optional<bool>> able(Turn& first) override {
    if (!one_.tried)
      all().begin_to_match(one_, drop_in_.memories_->executor_for_communicator(), one_.device.value_or(-1));
    const auto has = all().matched(one_);
    auto& begun = static_cast<Begun&>(first);  // nothing else joins
    if (has == true) begun.on_node = one_.on_node;
    if (has != false) return has;
    begun.why = one_.why_not;
    return all().check(one_).ok() ? has : gone();
  }

 private:
  Communicators& all() { return *drop_in_.communicators_; }
  /// Not known, as long as all ranks may come. A rank that was lost never does, and MPI would wait for it for ever;
  /// of a communicator that is of no use any more the real function says so.
  Result<std::optional<bool>> gone() {
    if (mover_ == Mover::program && drop_in_.mpi_->revoked(comm_)) return std::optional(false);
    if (auto lost = all().check(one_); !lost) return lost;
    return std::optional<bool>();
  }

  DropIn& drop_in_;
  const Handle comm_;
  Communicators::One& one_;
  const Mover mover_;
};

bool DropIn::move_turns(Mover mover) {
  const std::lock_guard lock(turns_mutex_);
  for (std::size_t i = 0; i < active_.size(); ++i) {  // more may come meanwhile
    const Active active = active_[i];
    Table table(*this, active, mover);
    active.one->turns.move(table, mover);
    active.one->waits.store(!active.one->turns.empty(), std::memory_order_release);
    active.one->active.store(active.one->turns.active(), std::memory_order_release);
  }
  std::erase_if(active_, [](const Active& active) { return !active.one->turns.active(); });
  const auto waiting =
      std::ranges::count_if(active_, [](const Active& active) { return !active.one->turns.empty(); });
  waiting_.store(static_cast<int>(waiting), std::memory_order_release);
  if (waiting == 0 && mover == Mover::program)
    for (const auto& what : std::exchange(later_, {})) what();
  return waiting != 0;
}

bool DropIn::pass_at_once(Handle comm) {
  if (communicators_ == nullptr) return true;
  Communicators::One& one = communicators_->find_or_begin_to_meet(comm);
  if (one.waits.load(std::memory_order_acquire)) return false;
  if (one.board != nullptr) one.board->pass();
  return true;
}

Status DropIn::settle(Handle comm, Communicators::One& one, Until until) {
  if (is_settled(one, until)) return {};
  const bool waited = (until == Until::begun ? one.waits : one.active).load(std::memory_order_acquire);
  for (Patience patience;; patience.wait()) {
    {
      const std::lock_guard lock(turns_mutex_);
      (void)move_turns(Mover::program);
      const bool left = until == Until::begun ? !one.turns.empty() : one.turns.active();
      if (communicators_->met(comm, one) && !left) break;
    }
    progress();
    mpi_->progress();
  }
  // Of a communicator that is of no use any more the real function says so.
  const bool in_vain = (waited || one.broken) && !mpi_->revoked(comm);
  return in_vain ? communicators_->check(one) : Status();
}

std::optional<int> DropIn::settle(std::string_view what, Handle comm) {
  Communicators::One* const one = communicators_ != nullptr ? communicators_->find(comm) : nullptr;
  if (one == nullptr || !one->waits.load(std::memory_order_acquire)) return std::nullopt;
  const auto status = settle(comm, *one, Until::begun);
  return status.ok() ? std::nullopt : std::optional(fail(what, comm, status));
}

bool DropIn::needs_no_turn(Handle comm) const {
  const Communicators::One* const one = any_waits() ? communicators_->find(comm) : nullptr;
  return one == nullptr || !one->waits.load(std::memory_order_acquire);
}

void DropIn::when_none_waits(std::function<void()> what) {
  const std::lock_guard lock(turns_mutex_);
  later_.push_back(std::move(what));
  (void)move_turns(Mover::program);
}

WhyNot DropIn::why_not(const Call& call, Communicators::One& one, Work& work) {
  if (!wanted(call)) return "SENNIT_OPS";
  if (gpus() == nullptr) return "no GPU that answers";
  const std::lock_guard lock(turns_mutex_);
  if (one.met && !one.whole) return one.why_not;
  if (one.met && one.nodes) return "ends in a request, ranks on several nodes";
  if (one.tried && communicators_->matched(one) == false) return one.why_not;
  auto translated = translate(call);
  if (const auto* wrong = std::get_if<WhyNot>(&translated)) return *wrong;
  work = std::move(std::get<Work>(translated));
  if (!one.turns.active() && active_.size() >= kMostActive) return "too many communicators at once";
  if (one.counterpart != nullptr)
    one.device = one.counterpart->device();
  else if (!one.tried && !one.turns.active())
    one.device.reset();
  const auto device = device_of(call);
  if (device == -1 || (device && one.device && *device != *one.device))
    return "a buffer in host memory, or on another GPU";
  if (!one.device) one.device = device.value_or(-1);
  return {};
}

std::shared_ptr<Begun> DropIn::take_turn(const Call& call, std::string_view& why) {
  why = "ends in a request";
  const bool counted = is_collective(call.family);
  if (communicators_ == nullptr) return nullptr;
  Communicators::One* const one =
      counted ? &communicators_->find_or_begin_to_meet(call.comm) : communicators_->find(call.comm);
  if (one == nullptr) return nullptr;
  Work work;
  if (counted) why = why_not(call, *one, work);
  const auto kind = !counted ? Turn::Kind::uncounted : why.empty() ? Turn::Kind::offered : Turn::Kind::passed;
  if (kind != Turn::Kind::offered && !one->waits.load(std::memory_order_acquire)) {
    if (counted && one->board != nullptr) one->board->pass();
    return nullptr;
  }
  auto begun = std::make_shared<Begun>(kind, call, [this](const Call& of) { return begin(of, false); });
  begun->work = std::move(work);
  if (tells()) begun->bytes = message_size(call);  // before the program frees a type
  if (kind == Turn::Kind::offered) begun->signature = signature_of(begun->work);
  begun->why = kind == Turn::Kind::offered ? "another rank's buffer or type" : why;
  return begun;
}

int DropIn::wait_for_turn(const std::shared_ptr<Begun>& begun, Handle& request) {
  if (const int code = mpi_->begin_placeholder(request); code != 0) return mpi_->fail(begun->call.comm, code);
  join(begun->call.comm, *communicators_->find(begun->call.comm), begun);
  return 0;
}

void DropIn::join(Handle comm, Communicators::One& one, const std::shared_ptr<Begun>& begun) {
  const std::lock_guard lock(turns_mutex_);
  if (std::ranges::none_of(active_, [&](const Active& active) { return active.one == &one; }))
    active_.push_back({comm, &one});
  one.turns.join(begun);  // last: what has joined is no error any more
  if (!move_turns(Mover::program)) return;
  try {
    if (helper_ == nullptr) helper_ = std::make_unique<Helper>([this] { return move_turns(Mover::helper); });
  } catch (const std::bad_alloc&) {  // the program's own calls move it alone
    return;
  }
  helper_->wake();
}

std::shared_ptr<Communicators::One> DropIn::agree_to_repeat(Handle comm, const Call* call, Work& work,
                                                            std::string_view& why) {
  Communicators::One& one = communicators_->find_or_begin_to_meet(comm);
  (void)settle(comm, one, Until::begun);
  why = one.why_not;
  if (!one.whole) return nullptr;
  why = "persistent, ranks on several nodes";
  if (one.nodes) return nullptr;
  // What a rank says: it can, it has room for one more, which it has that nobody uses and that are on the same GPU.
  // Above these, what its call is (signature.h).
  constexpr std::uint64_t kCan = 1, kHasRoom = 2;
  constexpr int kFirstIdle = 2, kSignature = 64 - kSignatureBits;
  constexpr std::uint64_t kFlags = (std::uint64_t{1} << kSignature) - 1;
  const auto device = call != nullptr ? device_of(*call).value_or(-1) : -1;
  std::uint64_t mine = repeated_ < kMostRepeated ? kHasRoom : 0;
  why = "a buffer in host memory, or on another GPU";
  if (call != nullptr && device_of(*call) != -1) {
    auto translated = translate(*call);
    if (const auto* wrong = std::get_if<WhyNot>(&translated))
      why = *wrong;
    else if (!wanted(*call))
      why = "SENNIT_OPS";
    else if (gpus() != nullptr)
      mine |= kCan;
    if (auto* const found = std::get_if<Work>(&translated)) work = std::move(*found);
  }
  const bool can = (mine & kCan) != 0;
  for (std::size_t i = 0; can && i < std::min<std::size_t>(one.repeated.size(), kSignature - kFirstIdle); ++i) {
    const auto& idle = one.repeated[i];
    if (idle.use_count() == 1 && idle->counterpart != nullptr &&
        (device < 0 || idle->counterpart->device() == device))
      mine |= std::uint64_t{1} << (kFirstIdle + i);
  }
  if (can) mine |= std::uint64_t{signature_of(work)} << kSignature;
  const auto said = communicators_->ask(comm, one, mine, [this] { progress(); });
  std::uint64_t all = said ? kFlags : 0;
  bool alike = true;
  for (const std::uint64_t word : said.value_or(std::vector<std::uint64_t>())) {
    all &= word;
    alike = alike && word >> kSignature == said->front() >> kSignature;
  }
  if (can) why = "another rank's buffer or type";
  if ((all & kCan) == 0) return nullptr;
  if (!alike) {
    why = "another rank's call";
    return nullptr;
  }
  if (const int idle = std::countr_zero(all >> kFirstIdle); idle < 64 - kFirstIdle)
    return one.repeated[static_cast<std::size_t>(idle)];
  why = "too many persistent collectives";
  if ((all & kHasRoom) == 0) return nullptr;
  ++repeated_;
  auto made =
      communicators_->repeat(comm, one, memories_->executor_for_communicator(), device, [this] { progress(); });
  why = one.repeated.back()->why_not;
  return made->counterpart != nullptr ? made : nullptr;
}

std::unique_ptr<Repeated> DropIn::repeat(const Call& call, std::string_view& why) {
  why = kNotMet;
  if (communicators_ == nullptr) return nullptr;
  Work work;
  auto with = agree_to_repeat(call.comm, &call, work, why);
  if (with == nullptr) return nullptr;
  const std::uint64_t bytes = tells() ? message_size(call) : 0;
  return std::make_unique<Repeated>(Repeated{call, std::move(work), std::move(with), bytes});
}

void DropIn::repeat_none(Handle comm) {
  if (communicators_ == nullptr) return;
  Work work;
  std::string_view why;
  (void)agree_to_repeat(comm, nullptr, work, why);
}

bool DropIn::start_again(OpenRequest& open) {
  const Repeated& repeated = *open.repeated;
  auto& one = *static_cast<Communicators::One*>(repeated.with.get());
  open.begun.reset();
  if (one.counterpart == nullptr) return false;  // the communicator was freed
  const auto since = std::chrono::steady_clock::now();
  open.begun = std::make_shared<Begun>(Turn::Kind::offered, repeated.call, [](const Call&) {
    return Status(Code::peer_lost, "a persistent collective cannot go on, since not all ranks can");
  });
  open.begun->work = repeated.work;
  open.begun->bytes = repeated.bytes;
  requests_.start(open);
  join(repeated.call.comm, one, open.begun);
  requests_.started(open);
  open.begun->took = std::chrono::steady_clock::now() - since;
  return true;
}

int DropIn::complete(Begun& begun, Handle comm) {
  const Shadows* const shadows = begun.shadows();
  if (shadows == nullptr)
    count(begun.call, begun.bytes, begun.how.empty() ? fmt::format("staged: {}", begun.why) : begun.how, begun.took);
  else if (shadows->bytes() != 0)
    count_staged(begun.call, begun.bytes, *shadows, begun.why, begun.took);
  if (begun.code() != 0) return begun.code();
  if (!begun.status().ok()) return fail(function_of(begun.call), comm, given_by(begun.work, begun.status()));
  if (begun.shadows() == nullptr) {
    if (explains_) explanations_.say(name_of(begun.call), begun.bytes, begun.how);
    return 0;
  }
  const auto given = begun.give_back();
  return given.ok() ? 0 : fail(function_of(begun.call), comm, given);
}

}  // namespace sennit::shim::mpi
