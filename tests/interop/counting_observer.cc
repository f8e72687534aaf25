// An observer that counts, over MPI of each ABI and NCCL: test_observer.py holds what it says at the end of a process
// against what a program did. It is linked with what describes calls, and with no drop-in.
//
// MPI_Pcontrol(0) makes it stand aside, but for MPI_Pcontrol itself, and MPI_Pcontrol(1) come back.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "shim/mpi/abi/library.h"
#include "shim/mpi/call/message_size.h"
#include "shim/mpi/call/observing.h"
#include "shim/nccl/abi/observing.h"
#include "stage/pointer_cache.h"

namespace sennit::shim {

namespace {

/// What is counted of a function. Bytes as message_size() has them; for NCCL, elements.
struct Counter {
  std::atomic<unsigned long> calls{0}, bytes{0}, on_gpus{0};

  void count(unsigned long of_bytes, bool on_gpu) {
    ++calls;
    bytes += of_bytes;
    on_gpus += on_gpu ? 1 : 0;
  }
  void tell(std::string& text, const char* name) const {
    if (calls != 0) text += fmt::format("observed {} {} {} {}\n", name, calls.load(), bytes.load(), on_gpus.load());
  }
};

std::array<Counter, mpi::kEntries> of_mpi;
std::array<Counter, nccl::kEntries> of_nccl;
const stage::PointerCache* memories;

bool on_gpu(const void* address) {
  return memories->kind_of(address).kind == stage::Whereabouts::Kind::device;
}

int begin() {
  const char* const emulate = std::getenv("SENNIT_EMULATE");
  auto opened = stage::PointerCache::open(emulate != nullptr && *emulate == '1');
  if (!opened) return 1;
  if (memories == nullptr)
    std::atexit([] {
      std::string text;
      for (std::size_t i = 0; i < of_mpi.size(); ++i) of_mpi[i].tell(text, mpi::kDescriptions[i].name);
      for (std::size_t i = 0; i < of_nccl.size(); ++i) of_nccl[i].tell(text, nccl::kDescriptions[i].name);
      std::fputs(text.c_str(), stderr);
    });
  memories = opened->release();
  return 0;
}

template <class Abi>
struct MpiCounter {
  using Observed = mpi::Observing<Abi, MpiCounter>;
  static inline const mpi::Library<Abi>* library;
  static inline const sennit_observation* observation;

  static int observe(mpi::Frame& frame) {
    const mpi::Description& of = *frame.of;
    Counter& counter = of_mpi[std::size_t(mpi::entry_of(of))];
    if (mpi::entry_of(of) == mpi::Entry::Pcontrol) {
      const bool all = frame.integer(0) != 0;
      Observed::begin(*observation, [&](const mpi::Description& one) { return all || &one == frame.of; });
    }
    if (of.buffers == 0 || of.comm == mpi::kAbsent) {
      counter.count(0, false);
    } else {
      const mpi::Call call = frame.describe(*library, frame.handle(of.comm));
      bool any = false;
      for (const mpi::Part& part : call.all()) any = any || on_gpu(part.address);
      counter.count(mpi::message_size(call), any);
    }
    return frame.call();
  }
};

template <class Abi>
int observe_mpi(const sennit_observation& observation) {
  using Counting = MpiCounter<Abi>;
  auto library = mpi::Library<Abi>::open(observation.library);
  if (library == nullptr || begin() != 0) return 1;
  Counting::library = library.release();
  Counting::observation = &observation;
  Counting::Observed::begin(observation);
  return 0;
}

struct NcclCounter {
  template <class Next>
  static auto observe(const nccl::Frame& frame, const Next& next) {
    const nccl::Description& of = *frame.of;
    const unsigned long count = of.count != nccl::kAbsent ? static_cast<unsigned long>(frame.integer(of.count)) : 0;
    of_nccl[std::size_t(frame.entry())].count(count, on_gpu(frame.pointer(of.output)));
    return next();
  }
};

}  // namespace

}  // namespace sennit::shim

extern "C" {

__attribute__((visibility("default"))) int sennit_observe_mpi(const sennit_observation* observation) {
  using namespace sennit::shim;
  if (observation->entries != mpi::kEntries) return 1;
  switch (static_cast<mpi::Flavour>(observation->flavour)) {
    case mpi::Flavour::standard: return observe_mpi<mpi::Standard>(*observation);
    case mpi::Flavour::mpich: return observe_mpi<mpi::Mpich>(*observation);
    case mpi::Flavour::openmpi: return observe_mpi<mpi::OpenMpi>(*observation);
  }
  return 1;
}

__attribute__((visibility("default"))) int sennit_observe_nccl(const sennit_observation* observation) {
  using namespace sennit::shim;
  if (observation->entries != nccl::kEntries || begin() != 0) return 1;
  nccl::Observing<NcclCounter>::begin(*observation);
  return 0;
}

}  // extern "C"
