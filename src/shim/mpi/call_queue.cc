#include "shim/mpi/call_queue.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace sennit::shim::mpi {

namespace {

/// Communicators that have calls under way at once: sennit's kernels wait on the GPU for their peers, in another
/// order on each, so all of them have to have room there at the same time, beside the program's. A default: each
/// takes a fraction of a GPU.
constexpr std::size_t kMostActive = 4;

}  // namespace

class CallQueue::Table final : public TurnsTable {
 public:
  Table(Job& job, const Active& active, Mover mover)
      : job_(job), comm_(active.comm), one_(*active.one), mover_(mover) {}

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
    if (!one_.tried) all().begin_to_match(one_, job_.memories.executor_for_communicator(), one_.device.value_or(-1));
    const auto has = all().matched(one_);
    auto& begun = static_cast<Begun&>(first);  // nothing else is enqueued
    if (has == true) begun.on_node = one_.on_node;
    if (has != false) return has;
    begun.why = one_.why_not;
    return all().check(one_).ok() ? has : gone();
  }

 private:
  Communicators& all() { return *job_.communicators; }
  /// Returns that it is not known, as long as all ranks may come. A rank that was lost never does, and MPI would wait
  /// for it for ever; of a communicator that is of no use any more the real function says so.
  Result<std::optional<bool>> gone() {
    if (mover_ == Mover::program && job_.mpi.revoked(comm_)) return std::optional(false);
    if (auto lost = all().check(one_); !lost) return lost;
    return std::optional<bool>();
  }

  Job& job_;
  const Handle comm_;
  Communicators::One& one_;
  const Mover mover_;
};

bool CallQueue::progress(Mover mover) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < active_.size(); ++i) {  // more may come meanwhile
    const Active active = active_[i];
    Table table(job_, active, mover);
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

bool CallQueue::vote_no_at_once(Handle comm) {
  if (job_.communicators == nullptr) return true;
  Communicators::One& one = job_.communicators->find_or_begin_to_meet(comm);
  if (one.waits.load(std::memory_order_acquire)) return false;
  if (one.board != nullptr) one.board->pass();
  return true;
}

bool CallQueue::drain_once(Handle comm, Communicators::One& one, Until until) {
  const std::lock_guard lock(mutex_);
  (void)progress(Mover::program);
  const bool left = until == Until::begun ? !one.turns.empty() : one.turns.active();
  return job_.communicators->met(comm, one) && !left;
}

bool CallQueue::waits(Handle comm) const {
  const Communicators::One* const one = any_waits() ? job_.communicators->find(comm) : nullptr;
  return one != nullptr && one->waits.load(std::memory_order_acquire);
}

void CallQueue::when_none_waits(std::function<void()> what) {
  const std::lock_guard lock(mutex_);
  later_.push_back(std::move(what));
  (void)progress(Mover::program);
}

WhyNot CallQueue::why_not(const Call& call, Communicators::One& one, Work& work) {
  if (!job_.wants(call)) return "SENNIT_OPS";
  if (staging_.gpus() == nullptr) return "no GPU that answers";
  const std::lock_guard lock(mutex_);
  if (one.met && !one.whole) return one.why_not;
  if (one.met && one.nodes) return "ends in a request, ranks on several nodes";
  if (one.tried && job_.communicators->matched(one) == false) return one.why_not;
  auto translated = translate(call);
  if (const auto* wrong = std::get_if<WhyNot>(&translated)) return *wrong;
  work = std::move(std::get<Work>(translated));
  if (!one.turns.active() && active_.size() >= kMostActive) return "too many communicators at once";
  if (one.counterpart != nullptr)
    one.device = one.counterpart->device();
  else if (!one.tried && !one.turns.active())
    one.device.reset();
  const auto device = staging_.device_of(call);
  if (device == -1 || (device && one.device && *device != *one.device))
    return "a buffer in host memory, or on another GPU";
  if (!one.device) one.device = device.value_or(-1);
  return {};
}

std::shared_ptr<Begun> CallQueue::prepare(const Call& call, std::string_view& why) {
  why = "ends in a request";
  const bool counted = is_collective(call.family);
  if (job_.communicators == nullptr) return nullptr;
  Communicators::One* const one =
      counted ? &job_.communicators->find_or_begin_to_meet(call.comm) : job_.communicators->find(call.comm);
  if (one == nullptr) return nullptr;
  Work work;
  if (counted) why = why_not(call, *one, work);
  const auto kind = !counted ? Turn::Kind::uncounted : why.empty() ? Turn::Kind::offered : Turn::Kind::passed;
  if (kind != Turn::Kind::offered && !one->waits.load(std::memory_order_acquire)) {
    if (counted && one->board != nullptr) one->board->pass();
    return nullptr;
  }
  auto begun =
      std::make_shared<Begun>(kind, call, [&staging = staging_](const Call& of) { return staging.stage_later(of); });
  begun->work = std::move(work);
  if (reporting_.tells()) begun->bytes = message_size(call);  // before the program frees a type
  if (kind == Turn::Kind::offered) begun->signature = signature_of(begun->work);
  begun->why = kind == Turn::Kind::offered ? "another rank's buffer or type" : why;
  return begun;
}

int CallQueue::enqueue(const std::shared_ptr<Begun>& begun, Handle& request) {
  if (const int code = job_.mpi.begin_placeholder(request); code != 0) return job_.mpi.fail(begun->call.comm, code);
  enqueue(begun->call.comm, *job_.communicators->find(begun->call.comm), begun);
  return 0;
}

void CallQueue::enqueue(Handle comm, Communicators::One& one, const std::shared_ptr<Begun>& begun) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::none_of(active_, [&](const Active& active) { return active.one == &one; }))
    active_.push_back({comm, &one});
  one.turns.join(begun);  // last: what is enqueued is no error any more
  if (!progress(Mover::program)) return;
  try {
    if (helper_ == nullptr) helper_ = std::make_unique<Helper>([this] { return progress(Mover::helper); });
  } catch (const std::bad_alloc&) {  // the program's own calls move it alone
    return;
  }
  helper_->wake();
}

int CallQueue::complete(Begun& begun, Handle comm) {
  const Shadows* const shadows = begun.shadows();
  if (shadows == nullptr)
    reporting_.count(begun.call, begun.bytes, begun.how.empty() ? fmt::format("staged: {}", begun.why) : begun.how,
                     begun.took);
  else if (shadows->bytes() != 0)
    staging_.count(begun.call, begun.bytes, *shadows, begun.why, begun.took);
  if (begun.code() != 0) return begun.code();
  if (!begun.status().ok())
    return reporting_.fail(function_of(begun.call), comm, given_by(begun.work, begun.status()));
  if (begun.shadows() == nullptr) {
    reporting_.explain_plan(begun.call, begun.bytes, begun.how);
    return 0;
  }
  const auto given = begun.give_back();
  return given.ok() ? 0 : reporting_.fail(function_of(begun.call), comm, given);
}

}  // namespace sennit::shim::mpi
