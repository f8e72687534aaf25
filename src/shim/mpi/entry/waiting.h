// Wraps functions that wait for other ranks without touching memory.
#pragma once

#include "shim/mpi/entry/wrappers.h"

namespace sennit::shim::mpi::wrappers {

template <class Abi>
int Barrier(typename Abi::Comm comm) {
  const auto hold_rts = drop_in<Abi>().arrivals.hold_rts();
  if (const auto code = drop_in<Abi>().arrivals.arrive("MPI_Barrier", to_handle(comm))) return *code;
  return Real<Abi>::of(&Barrier<Abi>, Entry::Barrier)(comm);
}

// Calls that no vote counts, but that keep the order of those that wait for their turn. Where some ranks run without
// the drop-in they cannot end on MPI_COMM_WORLD.

template <class Abi>
int Ibarrier(typename Abi::Comm comm, typename Abi::Request* request) {
  if (const auto code = refused<Abi>("MPI_Ibarrier", comm)) return *code;
  const auto real = Real<Abi>::of(&Ibarrier<Abi>, Entry::Ibarrier);
  if (!drop_in<Abi>().queue.waits(to_handle(comm))) return real(comm, request);
  const Call call(mpi<Abi>(), Family::Comm_dup, Form::nonblocking, to_handle(comm));
  const auto call_real = [=](const StandIns&, void* made, const Arrays&) {
    return real(comm, static_cast<typename Abi::Request*>(made));
  };
  return begin<Abi>(call, call_real, Arrays(), request);
}

template <class Abi>
int Comm_idup(typename Abi::Comm comm, typename Abi::Comm* made, typename Abi::Request* request) {
  if (const auto code = refused<Abi>("MPI_Comm_idup", comm)) return *code;
  const auto real = Real<Abi>::of(&Comm_idup<Abi>, Entry::Comm_idup);
  if (!drop_in<Abi>().queue.waits(to_handle(comm))) return real(comm, made, request);
  const Call call(mpi<Abi>(), Family::Comm_dup, Form::nonblocking, to_handle(comm));
  const auto call_real = [=](const StandIns&, void* hidden, const Arrays&) {
    return real(comm, made, static_cast<typename Abi::Request*>(hidden));
  };
  return begin<Abi>(call, call_real, Arrays(), request);
}

template <class Abi>
int Comm_idup_with_info(typename Abi::Comm comm, typename Abi::Info info, typename Abi::Comm* made,
                        typename Abi::Request* request) {
  if (const auto code = refused<Abi>("MPI_Comm_idup_with_info", comm)) return *code;
  const auto real = Real<Abi>::of(&Comm_idup_with_info<Abi>, Entry::Comm_idup_with_info);
  if (!drop_in<Abi>().queue.waits(to_handle(comm))) return real(comm, info, made, request);
  const Library<Abi>& library = *Process<Abi>::instance().library;
  typename Abi::Info copied;
  if (const int code = library.copy(info, copied); code != 0) return code;
  const Call call(mpi<Abi>(), Family::Comm_dup, Form::nonblocking, to_handle(comm));
  const auto call_real = [=, &library](const StandIns&, void* hidden, const Arrays&) {
    const int code = real(comm, copied, made, static_cast<typename Abi::Request*>(hidden));
    library.release(copied);
    return code;
  };
  return begin<Abi>(call, call_real, Arrays(), request);
}

/// Takes its place in the order when it is made, not when it is started.
template <class Abi>
int Barrier_init(typename Abi::Comm comm, typename Abi::Info info, typename Abi::Request* request) {
  if (const auto code = refused<Abi>("MPI_Barrier_init", comm)) return *code;
  if (const auto code = settle<Abi>("MPI_Barrier_init", comm)) return *code;
  return Real<Abi>::of(&Barrier_init<Abi>, Entry::Barrier_init)(comm, info, request);
}

/// Stands in for a library that lacks MPI_Comm_idup_with_info (MPI 4.0): hints may be left out of account.
template <class Abi>
int idup_without_info(typename Abi::Comm comm, typename Abi::Info, typename Abi::Comm* made,
                      typename Abi::Request* request) {
  return Current<Abi>::of(&Comm_idup<Abi>, Entry::Comm_idup)(comm, made, request);
}

/// Makes the status of a message that was found, and not received, tell of the message, not of what announces it.
/// False: they are not known yet. `taken`: the message is the caller's alone.
template <class Abi>
bool tell_probed(typename Abi::Comm comm, typename Abi::Status& status, bool taken) {
  // Probes of MPICH 4.0 leave in the status whatever it said of cancelling, such as what was in that memory before.
  const std::int64_t bytes = told<Abi>(status);
  const auto real = drop_in<Abi>().probes.length(to_handle(comm), status.source, status.tag, bytes, taken);
  if (real && *real != bytes) tell<Abi>(status, *real);
  return real.has_value();
}

template <class Abi>
int Iprobe(int source, int tag, typename Abi::Comm comm, int* flag, typename Abi::Status* status) {
  drop_in<Abi>().progress.make();
  const int code = Real<Abi>::of(&Iprobe<Abi>, Entry::Iprobe)(source, tag, comm, flag, status);
  if (code == 0 && *flag != 0 && !is_ignored<Abi>(status) && !tell_probed<Abi>(comm, *status, false)) *flag = 0;
  return code;
}

template <class Abi>
int Probe(int source, int tag, typename Abi::Comm comm, typename Abi::Status* status) {
  if (!drop_in<Abi>().requests.busy()) {
    const int code = Real<Abi>::of(&Probe<Abi>, Entry::Probe)(source, tag, comm, status);
    if (code != 0 || is_ignored<Abi>(status) || tell_probed<Abi>(comm, *status, false)) return code;
  }
  for (Backoff backoff;; backoff.wait()) {
    int flag = 0;
    if (const int code = Iprobe<Abi>(source, tag, comm, &flag, status); code != 0 || flag != 0) return code;
  }
}

/// Notes that a probe has taken this message.
template <class Abi>
int taken(typename Abi::Comm comm, typename Abi::Message message, typename Abi::Status& status) {
  drop_in<Abi>().probes.match(to_handle(message), to_handle(comm));
  for (Backoff backoff; !tell_probed<Abi>(comm, status, true); backoff.wait()) drop_in<Abi>().progress.make();
  return 0;
}

template <class Abi>
int Improbe(int source, int tag, typename Abi::Comm comm, int* flag, typename Abi::Message* message,
            typename Abi::Status* status) {
  drop_in<Abi>().progress.make();
  typename Abi::Status own{};
  typename Abi::Status* const told = is_ignored<Abi>(status) ? &own : status;
  const int code = Real<Abi>::of(&Improbe<Abi>, Entry::Improbe)(source, tag, comm, flag, message, told);
  return code == 0 && *flag != 0 ? taken<Abi>(comm, *message, *told) : code;
}

template <class Abi>
int Mprobe(int source, int tag, typename Abi::Comm comm, typename Abi::Message* message,
           typename Abi::Status* status) {
  if (!drop_in<Abi>().requests.busy()) {
    typename Abi::Status own{};
    typename Abi::Status* const told = is_ignored<Abi>(status) ? &own : status;
    const int code = Real<Abi>::of(&Mprobe<Abi>, Entry::Mprobe)(source, tag, comm, message, told);
    return code == 0 ? taken<Abi>(comm, *message, *told) : code;
  }
  for (Backoff backoff;; backoff.wait()) {
    int flag = 0;
    if (const int code = Improbe<Abi>(source, tag, comm, &flag, message, status); code != 0 || flag != 0) return code;
  }
}

}  // namespace sennit::shim::mpi::wrappers
