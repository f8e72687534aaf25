// Attaches the drop-in to an MPI of one ABI. It is instantiated in a file an ABI (attach_mpich.cc and others), since
// all wrappers are compiled there.
#pragma once

#include <algorithm>
#include <cstdio>

#include "shim/mpi/entry/attach.h"
#include "shim/mpi/entry/attaching.h"
#include "shim/mpi/entry/life.h"
#include "shim/mpi/entry/partitioned.h"
#include "shim/mpi/entry/request_status.h"
#include "shim/mpi/entry/requests.h"
#include "shim/mpi/entry/split_io.h"
#include "shim/mpi/entry/waiting.h"
#include "shim/mpi/entry/windowing.h"

namespace sennit::shim::mpi {

namespace wrappers {
#include "by_hand.inc"

/// Fills in substitutes of functions that have hand-written wrappers, for a library that lacks them.
template <class Abi>
void fill_substitutes_by_hand(void** table) {
  table[std::size_t(Entry::Session_init)] = reinterpret_cast<void*>(&no_sessions<Abi>);
  table[std::size_t(Entry::Comm_idup_with_info)] =
      guarded<Abi, &idup_without_info<Abi>, decltype(&idup_without_info<Standard>)>();
  table[std::size_t(Entry::Buffer_attach_c)] =
      guarded<Abi, &Buffer_attach_narrowed<Abi>, decltype(&Buffer_attach_narrowed<Standard>)>();
  table[std::size_t(Entry::Buffer_detach_c)] =
      guarded<Abi, &Buffer_detach_narrowed<Abi>, decltype(&Buffer_detach_narrowed<Standard>)>();
  table[std::size_t(Entry::Win_create_c)] =
      guarded<Abi, &Win_create_narrowed<Abi>, decltype(&Win_create_narrowed<Standard>)>();
}

}  // namespace wrappers

template <class Abi>
void fill_table(const sennit_front& front) {
  void* wanted[kEntries] = {};
  if (front.disabled == 0) wrappers::fill_wrappers<Abi>(wanted);
  wrappers::fill_requests<Abi>(wanted);
  if (front.disabled == 0) wrappers::fill_own<Abi>(wanted);
  if (front.disabled == 0) wrappers::fill_counted<Abi>(wanted);
  void* substitutes[kEntries] = {};
  wrappers::fill_substitutes<Abi>(substitutes);
  wrappers::fill_get_status<Abi>(substitutes);
  wrappers::fill_substitutes_by_hand<Abi>(substitutes);
  for (std::size_t i = 0; i < front.entries; ++i) {
    void* here = wanted[i];
    if (front.real[i] == nullptr)
      here = substitutes[i] != nullptr ? substitutes[i] : reinterpret_cast<void*>(&wrappers::lacking<Abi>);
    if (here != nullptr) front.lead(i, here);
  }
}

template <class Abi>
int attach(const sennit_front& front) {
  auto& process = Process<Abi>::instance();
  auto switches = Switches::from_environment();
  if (!switches) {
    std::fprintf(stderr, "sennit: the program runs without sennit: %s\n", switches.status().text().c_str());
    return 1;
  }
  switches->listener = HowListener(&front.tell_how);
  auto memories = stage::PointerCache::open(switches->emulate);
  auto library = Library<Abi>::open(front.library);
  if (library == nullptr || !memories) {
    std::fprintf(stderr, "sennit: the program runs without sennit: its MPI lacks functions of MPI 3.0\n");
    return 1;
  }
  process.front = &front;
  std::copy_n(front.real, kEntries, process.real.begin());
  process.library = library.get();
  process.windows = std::make_unique<WindowLibrary<Abi>>(front.library, *library);
  process.drop_in = std::make_unique<DropIn>(std::move(library), std::move(*switches), std::move(*memories));

  process.memories = process.drop_in->memories.get();
  memories_of_program() = process.drop_in->memories.get();

  process.fill_table = &fill_table<Abi>;
  fill_table<Abi>(front);
  return 0;
}

}  // namespace sennit::shim::mpi
