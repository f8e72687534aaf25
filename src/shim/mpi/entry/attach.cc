// Takes over from the preloaded library, once that knows the program's MPI.
#include "shim/mpi/entry/attach.h"

#include <cstdio>
#include <new>

#include "shim/mpi/abi/abi.h"
#include "shim/mpi/abi/table.h"

namespace sennit::shim::mpi {

stage::PointerCache*& memories_of_program() {
  static constinit stage::PointerCache* memories = nullptr;
  return memories;
}

namespace {

int attach_to(const sennit_front& front) {
  if (front.entries == kEntries) {
    switch (static_cast<Flavour>(front.flavour)) {
      case Flavour::standard: return attach<Standard>(front);
      case Flavour::mpich: return attach<Mpich>(front);
      case Flavour::openmpi: return attach<OpenMpi>(front);
    }
  }
  std::fputs("sennit: the program runs without sennit: libsennit-preload.so and libsennit-mpi.so are of two builds\n",
             stderr);
  return 1;
}

}  // namespace

}  // namespace sennit::shim::mpi

extern "C" {

__attribute__((visibility("default"))) int sennit_attach_mpi(const sennit_front* front) {
  try {
    return sennit::shim::mpi::attach_to(*front);
  } catch (const std::bad_alloc&) {
    std::fputs("sennit: the program runs without sennit: there is no host memory left\n", stderr);
    return 1;
  }
}

__attribute__((visibility("default"))) void* sennit_emulated_allocate(int device, size_t bytes) {
  sennit::stage::PointerCache* const memories = sennit::shim::mpi::memories_of_program();
  return memories != nullptr ? memories->allocate_emulated(device, bytes) : nullptr;
}

__attribute__((visibility("default"))) void sennit_emulated_free(void* data) {
  if (auto* const memories = sennit::shim::mpi::memories_of_program()) memories->free_emulated(data);
}

__attribute__((visibility("default"))) int sennit_emulated_holder(const void* pointer) {
  const sennit::stage::PointerCache* const memories = sennit::shim::mpi::memories_of_program();
  return memories != nullptr ? memories->emulated_holder(pointer) : -1;
}

}  // extern "C"
