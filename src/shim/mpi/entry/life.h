// Wraps functions where a program's MPI begins and ends, and where communicators go.
#pragma once

#include <cstdio>
#include <new>

#include "shim/mpi/entry/wrappers.h"

namespace sennit::shim::mpi::wrappers {

/// The drop-in has nothing (more) to do: entry points lead to the real functions again, all but those that other
/// entry points rely on, where functions stand for some that the library lacks.
template <class Abi>
void step_aside() {
  const sennit_front& front = *Process<Abi>::instance().front;
  for (std::size_t i = 0; i < front.entries; ++i)
    if (front.real[i] != nullptr && !Process<Abi>::instance().needed(Entry(i)) && Entry(i) != Entry::Session_init)
      front.lead(i, front.real[i]);
}

/// Stands for functions that the library lacks and that nothing can replace: a program that looked for the symbol
/// found it in the preloaded library. The caller's arguments are its own to clear away, so they need not be kept
/// here.
template <class Abi>
int lacking() {
  return drop_in<Abi>().mpi->fail(kNoHandle, Abi::kErrUnsupportedOperation);
}

/// Some ranks may run without the drop-in: what they could not match fails from now on.
template <class Abi>
void refuse_unmatched() {
  const sennit_front& front = *Process<Abi>::instance().front;
  void* refusing[kEntries] = {};
  fill_unmatched<Abi>(refusing);
  fill_counted<Abi>(refusing);
  for (std::size_t i = 0; i < front.entries; ++i)
    if (refusing[i] != nullptr && front.real[i] != nullptr) front.lead(i, refusing[i]);
}

/// Gives back what the drop-in has, while the MPI can still be called.
template <class Abi>
void finish() {
  auto& process = Process<Abi>::instance();
  try {
    if (process.started.exchange(false)) process.drop_in->finish();
  } catch (const std::bad_alloc&) {  // the program's MPI has to end all the same
    std::fputs("sennit error: MPI_Finalize goes on without sennit, as there is no host memory left\n", stderr);
  }
  step_aside<Abi>();
}

/// MPI_Finalize first calls what the program has set to be called when MPI_COMM_SELF goes, which may communicate; and
/// last of those this, which was set first. MPICH calls what was set for MPI_COMM_WORLD later: there GPU memory is
/// staged, as in a session.
template <class Abi>
int at_end(typename Abi::Comm, int, void*, void*) {
  finish<Abi>();
  auto& process = Process<Abi>::instance();
  if (process.memories->possible()) process.fill_table(*process.front);
  return 0;
}

template <class Abi>
int begin(int code) {
  auto& process = Process<Abi>::instance();
  if (code != 0 || process.started.exchange(true)) return code;
  DropIn& here = *process.drop_in;
  if (here.start() || here.stages_alone())
    process.told_of_end = process.library->at_end(&at_end<Abi>) == 0;
  else
    step_aside<Abi>();
  if (here.unmatched) refuse_unmatched<Abi>();
  return code;
}

template <class Abi>
int Init(int* argc, char*** argv) {
  return begin<Abi>(Real<Abi>::of(&Init<Abi>, Entry::Init)(argc, argv));
}

template <class Abi>
int Init_thread(int* argc, char*** argv, int required, int* provided) {
  return begin<Abi>(Real<Abi>::of(&Init_thread<Abi>, Entry::Init_thread)(argc, argv, required, provided));
}

template <class Abi>
int Finalize() {
  if (!Process<Abi>::instance().told_of_end) finish<Abi>();
  const int code = Real<Abi>::of(&Finalize<Abi>, Entry::Finalize)();
  if (code == 0) step_aside<Abi>();
  return code;
}

/// A program may begin sessions when MPI_Finalize has ended, too: GPU memory is then staged as before MPI_Init.
template <class Abi>
int Session_init(typename Abi::Info info, typename Abi::Errhandler errhandler, void* session) {
  auto& process = Process<Abi>::instance();
  const int code = Real<Abi>::of(&Session_init<Abi>, Entry::Session_init)(info, errhandler, session);
  if (code == 0 && !process.started && process.memories->possible()) process.fill_table(*process.front);
  return code;
}
/// Stands in for a library that lacks sessions, which need not have begun: then there is no error handler to call.
template <class Abi>
int no_sessions(typename Abi::Info, typename Abi::Errhandler, void*) {
  return Abi::kErrUnsupportedOperation;
}

/// Frees a communicator. Callbacks that this calls may use it once more, and its handle may be another one's
/// afterwards.
template <class Abi, class Free>
int let_go(typename Abi::Comm* comm, const Free& free) {
  DropIn& here = drop_in<Abi>();
  const Handle handle = to_handle(*comm);
  here.forget(handle);
  const CommRegistry::Leaving leaving(handle);
  const int code = free(comm);
  here.forget_freed(handle);
  return code;
}

template <class Abi>
int Comm_free(typename Abi::Comm* comm) {
  return let_go<Abi>(comm, Real<Abi>::of(&Comm_free<Abi>, Entry::Comm_free));
}

/// A call that waits for its turn may still need a type or an operator that the program has done with.
template <class Abi, class Handle_, class Free>
int free_when_none_waits(Handle_* handle, Handle none, Free free) {
  DropIn& here = drop_in<Abi>();
  if (!here.queue.any_waits() || to_handle(*handle) == none) return free(handle);
  here.queue.when_none_waits([free, kept = *handle]() mutable { (void)free(&kept); });
  *handle = from_handle<Handle_>(none);
  return 0;
}

template <class Abi>
int Type_free(typename Abi::Datatype* type) {
  Process<Abi>::instance().library->type_freed();
  return free_when_none_waits<Abi>(type, Process<Abi>::instance().library->datatype_null(),
                                   Real<Abi>::of(&Type_free<Abi>, Entry::Type_free));
}

template <class Abi>
int Op_free(typename Abi::Op* op) {
  return free_when_none_waits<Abi>(op, Process<Abi>::instance().library->op_null(),
                                   Real<Abi>::of(&Op_free<Abi>, Entry::Op_free));
}

template <class Abi>
int Comm_disconnect(typename Abi::Comm* comm) {
  return let_go<Abi>(comm, Real<Abi>::of(&Comm_disconnect<Abi>, Entry::Comm_disconnect));
}

}  // namespace sennit::shim::mpi::wrappers
