#include "shim/mpi/comm/call_queues.h"

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

class CallQueues::Table final : public QueueVotes {
 public:
  Table(Job& job, const Active& active, Mover mover)
      : job_(job), comm_(active.comm), one_(*active.one), mover_(mover) {}

  std::optional<std::uint64_t> begin(std::uint32_t signature) override {
    return one_.vote != nullptr ? one_.vote->begin(signature) : 0;
  }
  void vote_no() override {
    if (one_.vote != nullptr) one_.vote->vote_no();
  }
  Result<std::optional<bool>> outcome(std::uint64_t number) override {
    const bool program = mover_ == Mover::program;
    if (!one_.ready && !(program && all().ready(comm_, one_))) return gone();
    if (one_.broken) return all().check(one_);
    if (!one_.whole || one_.nodes || one_.vote == nullptr) return std::optional(false);
    const auto known = one_.vote->outcome(number);
    if (!known) return gone();
    if (!*known)
      if (const auto odd = one_.vote->first_mismatch(number)) return disagreement(*odd);
    return known;
  }
  void looked(std::uint64_t number) override {
    if (one_.vote != nullptr) one_.vote->looked(number);
  }
  Result<std::optional<bool>> able(QueuedCall& first) override {
    if (!one_.tried) all().begin_to_match(one_, job_.memories.executor_for_communicator(), one_.device.value_or(-1));
    const auto has = all().matched(one_);
    auto& pending = static_cast<PendingCall&>(first);  // nothing else is enqueued
    if (has == true) pending.on_node = one_.on_node;
    if (has != false) return has;
    pending.why = one_.why_not;
    return all().check(one_).ok() ? has : gone();
  }

 private:
  CommRegistry& all() { return *job_.communicators; }
  /// Returns that it is not known, as long as all ranks may come. A rank that was lost never does, and MPI would wait
  /// for it for ever; of a communicator that is of no use any more the real function says so.
  Result<std::optional<bool>> gone() {
    if (mover_ == Mover::program && job_.mpi.revoked(comm_)) return std::optional(false);
    if (auto lost = all().check(one_); !lost) return lost;
    return std::optional<bool>();
  }

  Job& job_;
  const Handle comm_;
  CommState& one_;
  const Mover mover_;
};

bool CallQueues::progress(Mover mover) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < active_.size(); ++i) {  // more may come meanwhile
    const Active active = active_[i];
    Table table(job_, active, mover);
    active.one->queue.move(table, mover);
    active.one->waits.store(!active.one->queue.empty(), std::memory_order_release);
    active.one->active.store(active.one->queue.active(), std::memory_order_release);
  }
  std::erase_if(active_, [](const Active& active) { return !active.one->queue.active(); });
  const auto waiting =
      std::ranges::count_if(active_, [](const Active& active) { return !active.one->queue.empty(); });
  waiting_.store(static_cast<int>(waiting), std::memory_order_release);
  if (waiting == 0 && mover == Mover::program)
    for (const auto& what : std::exchange(later_, {})) what();
  return waiting != 0;
}

bool CallQueues::vote_no_at_once(Handle comm) {
  if (job_.communicators == nullptr) return true;
  CommState& one = job_.communicators->find_or_begin(comm);
  if (one.waits.load(std::memory_order_acquire)) return false;
  if (one.vote != nullptr) one.vote->vote_no();
  return true;
}

bool CallQueues::drain_once(Handle comm, CommState& one, Until until) {
  const std::lock_guard lock(mutex_);
  (void)progress(Mover::program);
  const bool left = until == Until::pending ? !one.queue.empty() : one.queue.active();
  return job_.communicators->ready(comm, one) && !left;
}

bool CallQueues::waits(Handle comm) const {
  const CommState* const one = any_waits() ? job_.communicators->find(comm) : nullptr;
  return one != nullptr && one->waits.load(std::memory_order_acquire);
}

void CallQueues::when_none_waits(std::function<void()> what) {
  const std::lock_guard lock(mutex_);
  later_.push_back(std::move(what));
  (void)progress(Mover::program);
}

WhyNot CallQueues::why_not(const Call& call, CommState& one, Work& work) {
  if (!job_.wants(call)) return "SENNIT_OPS";
  if (staging_.gpus() == nullptr) return "no GPU that answers";
  const std::lock_guard lock(mutex_);
  if (one.ready && !one.whole) return one.why_not;
  if (one.ready && one.nodes) return "ends in a request, ranks on several nodes";
  if (one.tried && job_.communicators->matched(one) == false) return one.why_not;
  auto translated = translate(call);
  if (const auto* wrong = std::get_if<WhyNot>(&translated)) return *wrong;
  work = std::move(std::get<Work>(translated));
  if (!one.queue.active() && active_.size() >= kMostActive) return "too many communicators at once";
  if (one.communicator != nullptr)
    one.device = one.communicator->device();
  else if (!one.tried && !one.queue.active())
    one.device.reset();
  const auto device = staging_.device_of(call);
  if (device == -1 || (device && one.device && *device != *one.device))
    return "a buffer in host memory, or on another GPU";
  if (!one.device) one.device = device.value_or(-1);
  return {};
}

std::shared_ptr<PendingCall> CallQueues::prepare(const Call& call, std::string_view& why) {
  why = "ends in a request";
  const bool counted = is_collective(call.family);
  if (job_.communicators == nullptr) return nullptr;
  CommState* const one =
      counted ? &job_.communicators->find_or_begin(call.comm) : job_.communicators->find(call.comm);
  if (one == nullptr) return nullptr;
  Work work;
  if (counted) why = why_not(call, *one, work);
  const auto kind = !counted      ? QueuedCall::Kind::uncounted
                    : why.empty() ? QueuedCall::Kind::offered
                                  : QueuedCall::Kind::passed;
  if (kind != QueuedCall::Kind::offered && !one->waits.load(std::memory_order_acquire)) {
    if (counted && one->vote != nullptr) one->vote->vote_no();
    return nullptr;
  }
  auto pending = std::make_shared<PendingCall>(
      kind, call, [&staging = staging_](const Call& of) { return staging.stage_later(of); });
  pending->work = std::move(work);
  if (reporting_.tells()) pending->bytes = message_size(call);  // before the program frees a type
  if (kind == QueuedCall::Kind::offered) pending->signature = signature_of(pending->work);
  pending->why = kind == QueuedCall::Kind::offered ? "another rank's buffer or type" : why;
  return pending;
}

int CallQueues::enqueue(const std::shared_ptr<PendingCall>& pending, Handle& request) {
  if (const int code = job_.mpi.begin_placeholder(request); code != 0) return job_.mpi.fail(pending->call.comm, code);
  enqueue(pending->call.comm, *job_.communicators->find(pending->call.comm), pending);
  return 0;
}

void CallQueues::enqueue(Handle comm, CommState& one, const std::shared_ptr<PendingCall>& pending) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::none_of(active_, [&](const Active& active) { return active.one == &one; }))
    active_.push_back({comm, &one});
  one.queue.enqueue(pending);  // last: what is enqueued is no error any more
  if (!progress(Mover::program)) return;
  try {
    if (progress_thread_ == nullptr)
      progress_thread_ = std::make_unique<ProgressThread>([this] { return progress(Mover::progress_thread); });
  } catch (const std::bad_alloc&) {  // the program's own calls move it alone
    return;
  }
  progress_thread_->wake();
}

int CallQueues::complete(PendingCall& pending, Handle comm) {
  const StagedBuffers* const staged = pending.staged();
  if (staged == nullptr)
    reporting_.count(pending.call, pending.bytes,
                     pending.how.empty() ? fmt::format("staged: {}", pending.why) : pending.how, pending.took);
  else if (staged->bytes() != 0)
    staging_.count(pending.call, pending.bytes, *staged, pending.why, pending.took);
  if (pending.code() != 0) return pending.code();
  if (!pending.status().ok())
    return reporting_.fail(function_of(pending.call), comm, given_by(pending.work, pending.status()));
  if (pending.staged() == nullptr) {
    reporting_.explain_plan(pending.call, pending.bytes, pending.how);
    return 0;
  }
  const auto given = pending.copy_out();
  return given.ok() ? 0 : reporting_.fail(function_of(pending.call), comm, given);
}

}  // namespace sennit::shim::mpi
