// The ranks of a job without MPI_COMM_WORLD: a program that begins MPI by sessions alone (MPI 4.0, 11.3) has none.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <numeric>
#include <vector>

#include "shim/mpi/abi/library.h"

namespace sennit::shim::recorder {

template <class Abi>
class SessionWorld {
 public:
  using Comm = typename Abi::Comm;
  using Group = typename Abi::Group;

  /// Asks for the processes of "mpi://WORLD", while a session is open. `mpi`: as dlopen() names it. False where the
  /// MPI does not tell. Nothing of the program's is called, whatever happens: the session's own handler hears of
  /// errors, and MPI promises that there is such a set.
  bool begin(const mpi::Library<Abi>& library, void* mpi, typename Abi::Session session) {
    using Find = int (*)(typename Abi::Session, const char*, Group*);
    using Ask = int (*)(Group, int*);
    const auto find = reinterpret_cast<Find>(dlsym(mpi, "PMPI_Group_from_session_pset"));
    const auto ask_rank = reinterpret_cast<Ask>(dlsym(mpi, "PMPI_Group_rank"));
    if (find == nullptr || ask_rank == nullptr || find(session, "mpi://WORLD", &group_) != 0) return false;
    if (ask_rank(group_, &rank_) != 0 || library.call().group_size(group_, &size_) != 0) return false;
    has_begun_.store(true, std::memory_order_release);
    return true;
  }
  /// There is MPI_COMM_WORLD from now on.
  void end() { has_begun_.store(false, std::memory_order_release); }
  bool has_begun() const { return has_begun_.load(std::memory_order_acquire); }

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Adds the job's ranks of a communicator's group, or of the remote one; false where MPI refuses. Those of other
  /// jobs are -1.
  bool add_ranks(const mpi::Library<Abi>& library, mpi::Handle comm, bool remote, std::vector<int>& ranks) const {
    const auto& call = library.call();
    Group group;
    const auto of = mpi::from_handle<Comm>(comm);
    if ((remote ? call.comm_remote_group : call.comm_group)(of, &group) != 0) return false;
    int size = 0;
    bool known = call.group_size(group, &size) == 0;
    std::vector<int> own(static_cast<std::size_t>(size)), found(own.size(), -1);
    std::iota(own.begin(), own.end(), 0);
    known = known && call.group_translate_ranks(group, size, own.data(), group_, found.data()) == 0;
    for (const int rank : found) ranks.push_back(rank == Abi::kUndefined ? -1 : rank);
    (void)call.group_free(&group);
    return known;
  }

 private:
  std::atomic<bool> has_begun_{false};
  Group group_{};
  int rank_ = -1, size_ = 0;
};

}  // namespace sennit::shim::recorder
