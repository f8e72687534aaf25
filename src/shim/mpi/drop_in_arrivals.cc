// The half of the drop-in that has to do with who has come to a call: a rank that has requests of GPU memory open may
// not wait in a blocking call of the MPI for one that waits for those to move. Calls of a communicator whose ranks
// are known are counted on its board (board.h); others by their ranks, and who has such requests asks (questions.h).
#include "shim/mpi/drop_in.h"

namespace sennit::shim::mpi {

template <class Done>
Status DropIn::move_until(Handle comm, std::span<const int> ranks, const Done& done) {
  for (Patience patience; !done(); patience.wait()) {
    progress();
    mpi_->progress();
    // Of a communicator that is of no use any more, some may never come.
    if (comm != kNoHandle && mpi_->revoked(comm)) break;
    if (auto lost = communicators_->group().check(ranks); !lost) return lost;
  }
  return {};
}

Status DropIn::move_until_all_come(Handle comm, const Communicators::One& one) {
  if (one.board == nullptr) return {};
  if (auto status = move_until(comm, one.ranks, [&] { return one.board->all_came(); }); !status) return status;
  return move_until(comm, one.ranks, [&] { return communicators_->came_elsewhere(one, awaited_elsewhere()); });
}

Status DropIn::let_all_arrive(Handle comm, const Participants& all) {
  if (all.others.empty()) return {};
  Questions& questions = communicators_->questions();
  const std::uint64_t number = questions.arrive(all.name);
  if (!requests_.busy()) return {};
  return move_until(comm, all.others, [&] {
    bool came = true;  // each is asked, so that their answers come at the same time
    for (const int rank : all.others) came = questions.arrived(rank, all.name, number) && came;
    return came;
  });
}

std::optional<int> DropIn::let_all_come(std::string_view what, Handle comm) {
  Communicators::One* const one = communicators_ != nullptr ? communicators_->find(comm) : nullptr;
  if (one == nullptr) return std::nullopt;
  Status status;
  if (one->board != nullptr) {
    // Also with requests that the MPI moves: of a rank that died it says nothing, and would wait for it here.
    if (!requests_.none()) status = move_until_all_come(comm, *one);
  } else {
    if (!std::exchange(one->asked, true)) one->participants = communicators_->participants().of(comm);
    if (one->participants) status = let_all_arrive(comm, *one->participants);
  }
  return status.ok() ? std::nullopt : std::optional(fail(what, comm, status));
}

std::optional<int> DropIn::come(std::string_view what, Handle comm) {
  if (const auto code = pass(what, comm)) return code;
  return let_all_come(what, comm);
}

std::optional<int> DropIn::come(std::string_view what, Handle comm, const Leaders& leaders) {
  if (const auto code = pass(what, comm)) return code;
  if (communicators_ == nullptr) return std::nullopt;
  const Status lost = communicators_->both_come(comm, leaders.local, leaders.between, leaders.remote, leaders.tag,
                                                [this] { progress(); });
  return lost.ok() ? std::nullopt : std::optional(fail(what, comm, lost));
}

std::optional<int> DropIn::come(std::string_view what, Handle comm, Handle group, int tag) {
  const auto all = communicators_ != nullptr ? communicators_->participants().of(group, tag) : std::nullopt;
  const Status status = all ? let_all_arrive(comm, *all) : Status();
  return status.ok() ? std::nullopt : std::optional(fail(what, comm, status));
}

void DropIn::let_buffered_go() {
  Handle request = kNoHandle;
  if (!busy() || mpi_->begin_flush(request) != 0) return;
  bool done = false;
  for (Patience patience; mpi_->done(request, done) == 0 && !done; patience.wait()) progress();
}

std::optional<int> DropIn::come(std::string_view what, Shared kind, Handle handle) {
  const auto all = communicators_ != nullptr ? communicators_->participants().of(kind, handle) : nullptr;
  const Status status = all != nullptr ? let_all_arrive(kNoHandle, *all) : Status();
  return status.ok() ? std::nullopt : std::optional(fail(what, kNoHandle, status));
}

void DropIn::forget(Shared kind, Handle handle) {
  if (communicators_ == nullptr) return;
  if (const auto name = communicators_->participants().forget(kind, handle)) communicators_->questions().end(*name);
}

}  // namespace sennit::shim::mpi
