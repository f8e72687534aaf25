#include "shim/mpi/coll/arrivals.h"

#include <utility>

#include "base/backoff.h"

namespace sennit::shim::mpi {

template <class Done>
Status Arrivals::progress_until(Handle comm, std::span<const int> ranks, const Done& done) {
  for (Backoff backoff; !done(); backoff.wait()) {
    progress_.make();
    job_.mpi.progress();
    // Some ranks of a revoked communicator may never come.
    if (comm != kNoHandle && job_.mpi.revoked(comm)) break;
    if (auto lost = job_.communicators->group().check(ranks); !lost) return lost;
  }
  return {};
}

std::optional<int> Arrivals::vote_no(std::string_view what, Handle comm) {
  if (job_.communicators == nullptr) return std::nullopt;
  CommState& one = job_.communicators->find_or_begin(comm);
  if (auto status = drain(comm, one, Until::pending); !status) return reporting_.fail(what, comm, status);
  if (one.vote != nullptr) one.vote->vote_no();
  return std::nullopt;
}

Status Arrivals::wait_for_all(Handle comm, const CommState& one) {
  if (one.vote == nullptr) return {};
  if (auto status = progress_until(comm, one.ranks, [&] { return one.vote->all_came(); }); !status) return status;
  return progress_until(comm, one.ranks,
                        [&] { return job_.communicators->came_elsewhere(one, progress_.awaited_elsewhere()); });
}

Status Arrivals::wait_for_scope(Handle comm, const CallScope& all) {
  if (all.others.empty()) return {};
  PeerQuery& peer_query = job_.communicators->peer_query();
  const std::uint64_t number = peer_query.arrive(all.name);
  if (!requests_.busy()) return {};
  return progress_until(comm, all.others, [&] {
    bool came = true;  // each is asked, so that their answers come at the same time
    for (const int rank : all.others) came = peer_query.arrived(rank, all.name, number) && came;
    return came;
  });
}

std::optional<int> Arrivals::wait_for_all(std::string_view what, Handle comm) {
  CommState* const one = job_.communicators != nullptr ? job_.communicators->find(comm) : nullptr;
  if (one == nullptr) return std::nullopt;
  if (one->vote != nullptr) {
    // Requests that the MPI moves count, too: the MPI does not say that a rank died, and would wait for it here.
    return requests_.none() ? std::nullopt : told(what, comm, wait_for_all(comm, *one));
  }
  if (!std::exchange(one->asked, true)) one->scope = job_.communicators->scopes().of(comm);
  return one->scope ? told(what, comm, wait_for_scope(comm, *one->scope)) : std::nullopt;
}

std::optional<int> Arrivals::arrive(std::string_view what, Handle comm) {
  if (const auto code = vote_no(what, comm)) return code;
  return wait_for_all(what, comm);
}

std::optional<int> Arrivals::arrive(std::string_view what, Handle comm, const Leaders& leaders) {
  if (const auto code = vote_no(what, comm)) return code;
  if (job_.communicators == nullptr) return std::nullopt;
  return told(what, comm,
              job_.communicators->both_come(comm, leaders.local, leaders.between, leaders.remote, leaders.tag,
                                            [this] { progress_.make(); }));
}

std::optional<int> Arrivals::arrive(std::string_view what, Handle comm, Handle group, int tag) {
  const auto all = job_.communicators != nullptr ? job_.communicators->scopes().of(group, tag) : std::nullopt;
  return all ? told(what, comm, wait_for_scope(comm, *all)) : std::nullopt;
}

std::optional<int> Arrivals::arrive(std::string_view what, Shared kind, Handle handle) {
  const auto all = job_.communicators != nullptr ? job_.communicators->scopes().of(kind, handle) : nullptr;
  return all != nullptr ? told(what, kNoHandle, wait_for_scope(kNoHandle, *all)) : std::nullopt;
}

void Arrivals::forget(Shared kind, Handle handle) {
  if (job_.communicators == nullptr) return;
  if (const auto name = job_.communicators->scopes().forget(kind, handle))
    job_.communicators->peer_query().end(*name);
}

Status Arrivals::drain_now(Handle comm, CommState& one, Until until) {
  const bool waited = CallQueues::is_active(one, until);
  for (Backoff backoff; !queue_.drain_once(comm, one, until); backoff.wait()) {
    progress_.make();
    job_.mpi.progress();
  }
  // The real function reports that a communicator is revoked.
  const bool failed = (waited || one.broken) && !job_.mpi.revoked(comm);
  return failed ? job_.communicators->check(one) : Status();
}

std::optional<int> Arrivals::drain_known(std::string_view what, Handle comm) {
  CommState* const one = job_.communicators != nullptr ? job_.communicators->find(comm) : nullptr;
  if (one == nullptr || !one->waits.load(std::memory_order_acquire)) return std::nullopt;
  return told(what, comm, drain_now(comm, *one, Until::pending));
}

}  // namespace sennit::shim::mpi
