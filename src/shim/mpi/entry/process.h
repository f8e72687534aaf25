// Holds what the wrappers of one ABI find in this process: the real functions, and the drop-in.
#pragma once

#include <array>
#include <atomic>
#include <cstdio>
#include <memory>

#include "shim/front/front.h"
#include "shim/mpi/abi/library.h"
#include "shim/mpi/drop_in.h"
#include "shim/mpi/entry/guarded.h"
#include "shim/mpi/rma/window_library.h"

namespace sennit::shim::mpi {

template <class Abi>
struct Process {
  const sennit_front* front = nullptr;
  std::array<void*, kEntries> real{};             ///< as the front has them: every call asks for one
  const stage::PointerCache* memories = nullptr;  ///< the drop-in's
  const Library<Abi>* library = nullptr;          ///< the drop-in's
  std::unique_ptr<WindowLibrary<Abi>> windows;
  std::unique_ptr<DropIn> drop_in;
  std::atomic<bool> started{false};  ///< between MPI_Init and MPI_Finalize
  bool told_of_end = false;          ///< by a callback in MPI_Finalize
  /// Fills the table with what entry points lead to while the drop-in has something to do.
  void (*fill_table)(const sennit_front&) = nullptr;

  /// Returns whether the library lacks functions that stand on this one: requests keep arrays for them.
  bool needed(Entry entry) const {
    return is_of_requests(entry) && front->real[std::size_t(Entry::Send_c)] == nullptr;
  }

  static Process& instance();
};

/// Never destroyed: a program may call MPI while its globals are taken down. There from the beginning, so that no
/// call has to ask whether it is.
template <class Abi>
union KeptProcess {
  constexpr KeptProcess() : process() {}
  ~KeptProcess() {}
  Process<Abi> process;
};
template <class Abi>
constinit inline KeptProcess<Abi> kept_process;

template <class Abi>
Process<Abi>& Process<Abi>::instance() {
  return kept_process<Abi>.process;
}

template <class Abi>
DropIn& drop_in() {
  return *Process<Abi>::instance().drop_in;
}
template <class Abi>
const Mpi& mpi() {
  return *Process<Abi>::instance().library;
}

/// The program's own definition of a function, of the wrapper's type.
template <class Abi>
struct Real {
  template <class Function>
  static Function* of(Function*, Entry entry) {
    return reinterpret_cast<Function*>(Process<Abi>::instance().real[std::size_t(entry)]);
  }
};

/// Finds what an entry point leads to now: a wrapper, or the program's own definition.
template <class Abi>
struct Current {
  template <class Function>
  static Function* of(Function*, Entry entry) {
    return reinterpret_cast<Function*>(Process<Abi>::instance().front->table[std::size_t(entry)]);
  }
};

/// Tells the program that a wrapper has no memory left.
template <class Abi>
struct Teller {
  [[gnu::cold, gnu::noinline]] static int fail(Handler handler, Handle handle) {
    std::fputs("sennit error: a call of MPI fails, as there is no host memory left\n", stderr);
    if (handler == Handler::window) return Process<Abi>::instance().windows->fail(handle, Abi::kErrNoMem);
    return mpi<Abi>().fail(handle, Abi::kErrNoMem);
  }
};

/// Returns a wrapper as an entry point (guarded.h). `Same`: the wrapper's type in the standard's ABI.
template <class Abi, auto wrapper, class Same>
void* guarded() {
  return reinterpret_cast<void*>(&Guarded<wrapper, OutOfMemory<Teller<Abi>, told(Same{})>>::call);
}

}  // namespace sennit::shim::mpi
