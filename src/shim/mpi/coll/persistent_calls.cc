#include "shim/mpi/coll/persistent_calls.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/backoff.h"

namespace sennit::shim::mpi {

namespace {

/// Persistent calls that sennit does for a process, each with scratch memory and kernels of its own: a default. One
/// that is freed makes room for the next of its communicator.
constexpr int kMostRepeated = 4;

}  // namespace

std::shared_ptr<CommState> PersistentCalls::agree(Handle comm, const Call* call, Work& work, std::string_view& why) {
  CommState& one = job_.communicators->find_or_begin(comm);
  (void)arrivals_.drain(comm, one, Arrivals::Until::pending);
  why = one.why_not;
  if (!one.whole) return nullptr;
  why = "persistent, ranks on several nodes";
  if (one.nodes) return nullptr;
  // The low bits say what this rank has: it can take part, it has room for one more call, and which of its idle
  // communicators are on the same GPU. Above these is the signature of the call (signature.h).
  constexpr std::uint64_t kCan = 1, kHasRoom = 2;
  constexpr int kFirstIdle = 2, kSignature = 64 - kSignatureBits;
  constexpr std::uint64_t kFlags = (std::uint64_t{1} << kSignature) - 1;
  const auto device = call != nullptr ? staging_.device_of(*call).value_or(-1) : -1;
  std::uint64_t mine = count_ < kMostRepeated ? kHasRoom : 0;
  why = "a buffer in host memory, or on another GPU";
  if (call != nullptr && staging_.device_of(*call) != -1) {
    auto translated = translate(*call);
    if (const auto* wrong = std::get_if<WhyNot>(&translated))
      why = *wrong;
    else if (!job_.wants(*call))
      why = "SENNIT_OPS";
    else if (staging_.gpus() != nullptr)
      mine |= kCan;
    if (auto* const found = std::get_if<Work>(&translated)) work = std::move(*found);
  }
  const bool can = (mine & kCan) != 0;
  for (std::size_t i = 0; can && i < std::min<std::size_t>(one.persistent_calls.size(), kSignature - kFirstIdle);
       ++i) {
    const auto& idle = one.persistent_calls[i];
    if (idle.use_count() == 1 && idle->communicator != nullptr &&
        (device < 0 || idle->communicator->device() == device))
      mine |= std::uint64_t{1} << (kFirstIdle + i);
  }
  if (can) mine |= std::uint64_t{signature_of(work)} << kSignature;
  const auto said = job_.communicators->ask(comm, one, mine, [this] { progress_.make(); });
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
    return one.persistent_calls[static_cast<std::size_t>(idle)];
  why = "too many persistent collectives";
  if ((all & kHasRoom) == 0) return nullptr;
  ++count_;
  auto made = job_.communicators->repeat(comm, one, job_.memories.executor_for_communicator(), device,
                                         [this] { progress_.make(); });
  why = one.persistent_calls.back()->why_not;
  return made->communicator != nullptr ? made : nullptr;
}

std::unique_ptr<PersistentCall> PersistentCalls::init(const Call& call, std::string_view& why) {
  why = Job::kNotMet;
  if (job_.communicators == nullptr) return nullptr;
  Work work;
  auto with = agree(call.comm, &call, work, why);
  if (with == nullptr) return nullptr;
  const std::uint64_t bytes = reporting_.tells() ? message_size(call) : 0;
  return std::make_unique<PersistentCall>(PersistentCall{call, std::move(work), std::move(with), bytes});
}

void PersistentCalls::init_of_host(Handle comm) {
  if (job_.communicators == nullptr) return;
  Work work;
  std::string_view why;
  (void)agree(comm, nullptr, work, why);
}

bool PersistentCalls::start(OpenRequest& open) {
  const PersistentCall& persistent_call = *open.persistent_call;
  auto& one = *static_cast<CommState*>(persistent_call.with.get());
  open.pending.reset();
  if (one.communicator == nullptr) return false;  // the communicator was freed
  const auto since = Reporting::Clock::now();
  open.pending = std::make_shared<PendingCall>(QueuedCall::Kind::offered, persistent_call.call, [](const Call&) {
    return Status(Code::peer_lost, "a persistent collective cannot go on, since not all ranks can");
  });
  open.pending->work = persistent_call.work;
  open.pending->bytes = persistent_call.bytes;
  requests_.start(open);
  queue_.enqueue(persistent_call.call.comm, one, open.pending);
  requests_.started(open);
  open.pending->took = Reporting::Clock::now() - since;
  return true;
}

void PersistentCalls::forget(CommState& one) {
  for (const auto& each : one.persistent_calls)
    for (Backoff backoff; each->active; backoff.wait()) (void)queue_.progress(Mover::program);
  count_ -= static_cast<int>(one.persistent_calls.size());
}

}  // namespace sennit::shim::mpi
