// Tells which memory calls of MPI register, and which they end: windows, what is attached to them, and what MPI
// allocates.
#pragma once

#include <cstring>

#include "shim/mpi/call/observing.h"
#include "shim/recorder/registrations.h"

namespace sennit::shim::recorder {

inline bool registers(mpi::Entry entry) {
  using mpi::Entry;
  switch (entry) {
    case Entry::Alloc_mem:
    case Entry::Free_mem:
    case Entry::Win_create:
    case Entry::Win_create_c:
    case Entry::Win_attach:
    case Entry::Win_detach:
    case Entry::Win_free: return true;
    default: return false;
  }
}

/// `index`: the recorder's number of a function.
template <class Abi>
class MpiMemory {
  using Entry = mpi::Entry;
  using Win = typename Abi::Win;

 public:
  /// Before a call that ends some: once it has returned, another thread may have what is named like it.
  template <class Index>
  void before(profile::Recorder& recorder, const mpi::Frame& frame, Entry entry, const Index& index) {
    if (entry == Entry::Free_mem) open_.end(recorder, {index(Entry::Alloc_mem), address(frame, 0), 0});
    if (entry == Entry::Win_detach)
      open_.end(recorder, {index(Entry::Win_attach), address(frame, 1), frame.handle(mpi::Argument{0})});
    if (entry == Entry::Win_free)
      if (const auto* const window = frame.pointer<const Win>(mpi::Argument{0}))
        open_.end_of(recorder, mpi::to_handle(*window));
  }
  /// After one that has made some.
  template <class Index>
  void after(profile::Recorder& recorder, const mpi::Frame& frame, Entry entry, const Index& index) {
    if (entry == Entry::Alloc_mem) {
      std::uint64_t made = 0;
      std::memcpy(&made, frame.pointer(mpi::Argument{2}), sizeof made);
      begin(recorder, {index(entry), made, 0}, frame.integer(mpi::Argument{0}));
    }
    if (entry == Entry::Win_create || entry == Entry::Win_create_c) {
      const std::uint64_t window = mpi::to_handle(*frame.pointer<const Win>(mpi::Argument{5}));
      begin(recorder, {index(Entry::Win_create), address(frame, 0), window}, frame.integer(mpi::Argument{1}));
    }
    if (entry == Entry::Win_attach)
      begin(recorder, {index(entry), address(frame, 1), frame.handle(mpi::Argument{0})},
            frame.integer(mpi::Argument{2}));
  }

 private:
  static std::uint64_t address(const mpi::Frame& frame, mpi::Argument at) {
    return reinterpret_cast<std::uintptr_t>(frame.pointer(at));
  }
  void begin(profile::Recorder& recorder, const RegisteredAs& as, std::int64_t bytes) {
    if (bytes > 0) open_.begin(recorder, as, static_cast<std::uint64_t>(bytes));
  }

  Registrations open_;
};

}  // namespace sennit::shim::recorder
