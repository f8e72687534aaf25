#include "shim/mpi/coll/collective_calls.h"

#include "base/backoff.h"

namespace sennit::shim::mpi {

std::optional<int> CollectiveCalls::perform(const Call& call, std::string_view& why) {
  if (staging_.gpus() == nullptr) return reporting_.fail(call, staging_.no_gpus());
  if (job_.wants(call)) return accelerate(call, why);
  why = "SENNIT_OPS";
  return arrivals_.vote_no(function_of(call), call.comm);
}

std::optional<int> CollectiveCalls::accelerate(const Call& call, std::string_view& why) {
  if (job_.communicators == nullptr) {
    why = Job::kNotMet;
    return std::nullopt;
  }
  CommState& one = job_.communicators->find_or_begin(call.comm);
  if (auto status = arrivals_.drain(call.comm, one, Arrivals::Until::done); !status)
    return reporting_.fail(call, status);
  if (!one.whole) {
    if (one.vote != nullptr) one.vote->vote_no();
    why = one.why_not;
    return std::nullopt;
  }
  CollectiveVote& vote = *one.vote;
  auto translated = translate(call);
  if (const auto* wrong = std::get_if<WhyNot>(&translated)) {
    vote.vote_no();
    why = *wrong;
    return std::nullopt;
  }
  Work& work = std::get<Work>(translated);
  WhyNot not_so;
  if (one.nodes) not_so = job_.communicators->why_not(one, work);
  if (one.tried && one.communicator == nullptr) not_so = one.why_not;
  const auto device = not_so.empty() ? staging_.device_of(call) : std::nullopt;
  if (device == -1 || (device && one.communicator != nullptr && *device != one.communicator->device()))
    not_so = "a buffer in host memory, or on another GPU";
  if (!not_so.empty()) {
    vote.vote_no();
    why = not_so;
    return std::nullopt;
  }
  const std::uint32_t signature = signature_of(work);
  const auto all = wait_for_all(one, vote.vote_yes(signature), signature, call);
  if (!all) return reporting_.fail(call, given_by(work, all.status()));
  if (!*all) {
    why = "another rank's buffer or type";
    return std::nullopt;
  }
  if (one.communicator == nullptr) {
    job_.communicators->match(call.comm, one, job_.memories.executor_for_communicator(), device.value_or(-1));
    if (one.communicator == nullptr) {
      why = one.why_not;
      return std::nullopt;
    }
  }
  work.settle();
  const auto since = Reporting::Clock::now();
  const auto left = one.communicator->why_not(work);
  if (!left) return reporting_.fail(call, left.status());
  if (!left->empty()) {
    why = *left;
    return std::nullopt;
  }
  if (auto status = one.communicator->perform(work); !status) return reporting_.fail(call, status);
  if (reporting_.tells()) {
    const std::string plan = one.communicator->plan_of(work);
    const std::uint64_t bytes = message_size(call);
    reporting_.count(call, bytes, plan, since);
    reporting_.explain_plan(call, bytes, plan);
  }
  return 0;
}

Result<bool> CollectiveCalls::wait_for_all(CommState& one, std::uint64_t number, std::uint32_t signature,
                                           const Call& call) {
  CollectiveVote& vote = *one.vote;
  const auto here = wait_for([&] { return vote.outcome(number); }, one, call);
  // Ranks of other nodes do not hear of it: there the MPI says what it says.
  if (here.ok() && !*here && !one.nodes)
    if (const auto odd = vote.first_mismatch(number)) return disagreement(*odd);
  if (!here.ok() || !*here || !one.nodes) return here;
  if (!one.leads()) return wait_for([&] { return vote.decision(number); }, one, call);
  NodeVote& node_vote = job_.communicators->node_vote();
  node_vote.vote_yes(one.key, number, signature);
  const auto all = wait_for([&] { return node_vote.outcome(one.key, number); }, one, call);
  vote.decide(number, all.ok() && *all);
  return all;
}

template <class Answer>
Result<bool> CollectiveCalls::wait_for(const Answer& answer, const CommState& one, const Call& call) {
  // The wait is as long as MPI's would be; but a rank that died never comes.
  for (Backoff backoff;; backoff.wait()) {
    if (const std::optional<bool> known = answer()) return *known;
    progress_.make();
    if (!backoff.eager()) job_.mpi.progress();  // a message of the program's that they wait for may need this rank
    if (job_.mpi.revoked(call.comm)) return false;  // the real function says so
    if (auto lost = job_.communicators->check(one); !lost) return lost;
  }
}

}  // namespace sennit::shim::mpi
