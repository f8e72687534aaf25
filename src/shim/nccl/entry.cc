// Has the entry points: the preloaded library hands over here, once it knows the program's NCCL, and the program's
// calls lead here from then on.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/nccl_name.h"
#include "comm/job_place.h"
#include "shim/front/front.h"
#include "shim/nccl/abi/code_range.h"
#include "shim/nccl/drop_in.h"

namespace sennit::shim::nccl {

namespace {

/// Never destroyed: a program may call NCCL while its globals are taken down.
DropIn* here = nullptr;
/// NCCL calls some of its functions by their public names, which lead here.
CodeRange own_code;

/// Answers a call by `ours`, or by `theirs` where NCCL itself calls. No exception leaves.
template <class Ours, class Theirs>
auto answer(const void* caller, const Ours& ours, const Theirs& theirs) noexcept
    -> decltype(theirs(here->process.nccl)) {
  if (own_code.holds(caller)) return theirs(here->process.nccl);
  try {
    return ours(*here);
  } catch (...) {  // memory
    if constexpr (std::is_same_v<decltype(theirs(here->process.nccl)), int>) return kSystemError;
    return {};
  }
}

int answer_call(const void* caller, const Call& call) noexcept {
  return answer(
      caller, [&](DropIn& drop_in) { return drop_in.calls.call(call); },
      [&](const Functions& nccl) { return call_nccl(nccl, call); });
}

template <class Theirs>
int answer_enqueuing(const void* caller, std::string_view name, Comm comm, Stream stream,
                     const Theirs& theirs) noexcept {
  return answer(
      caller,
      [&](DropIn& to) { return to.calls.enqueue(name, comm, stream, [&] { return theirs(to.process.nccl); }); },
      theirs);
}

}  // namespace

// By the names of functions.txt, in Entry's words.
namespace wrappers {

namespace {

#include "nccl_wrappers.inc"

}  // namespace

}  // namespace wrappers

namespace {

/// The newest version whose functions were all looked at: the newest of tests/interop/nccl_headers, with any patch.
constexpr int kNewestKnown = 23299;

/// Warns, once a job where the environment says which rank this is, of an NCCL that is newer than sennit knows.
void tell_of_newer(const std::string& version) {
  if (const auto place = comm::place_from_environment(); place.ok() && place->rank != 0) return;
  std::fprintf(
      stderr,
      "sennit: NCCL %s is newer than this sennit knows (2.32): functions that are new in it are NCCL's alone, "
      "and not in order with sennit's calls; SENNIT_DISABLE=1 leaves all calls to NCCL\n",
      version.c_str());
}

int attach(const sennit_nccl_front& front) {
  if (front.entries != kEntries) {
    std::fputs(
        "sennit: the program runs without sennit: libsennit-preload.so and libsennit-nccl.so are of two builds\n",
        stderr);
    return 1;
  }
  auto switches = Switches::from_environment();
  if (!switches) {
    std::fprintf(stderr, "sennit: the program runs without sennit: %s\n", switches.status().text().c_str());
    return 1;
  }
  switches->listener = HowListener(&front.tell_how);
  auto memories = stage::PointerCache::open(switches->emulate);
  const Functions nccl = Functions::of([&front](std::string_view name) {
    const auto* const found = std::ranges::find(kSymbols, name);
    return found != std::end(kSymbols) ? front.real[found - kSymbols] : dlsym(front.library, name.data());
  });
  if (!memories) {
    std::fprintf(stderr, "sennit: the program runs without sennit: %s\n", memories.status().text().c_str());
    return 1;
  }
  if (!nccl.is_complete()) {
    std::fputs("sennit: the program runs without sennit: its NCCL lacks functions of NCCL 2.19\n", stderr);
    return 1;
  }
  int version = 0;
  if (nccl.get_version(&version) == kSuccess) switches->nccl = nccl_name(nccl_version_text(version));
  if (version > kNewestKnown) tell_of_newer(nccl_version_text(version));
  Dl_info library{};
  if (dladdr(reinterpret_cast<const void*>(nccl.get_version), &library) != 0 && library.dli_fname != nullptr)
    switches->nccl_file = library.dli_fname;
  own_code = code_around(reinterpret_cast<const void*>(nccl.get_version));
  here = new DropIn(nccl, std::move(*switches), std::move(*memories));
  static const pid_t process = getpid();
  std::atexit([] {
    if (getpid() != process) return;  // a child that was forked: its parent says it
    try {
      here->process.tally.print();
    } catch (const std::bad_alloc&) {
      std::fputs("sennit: no report, as there is no host memory left\n", stderr);
    }
  });
  void* wanted[kEntries] = {};
  wrappers::fill(wanted);
  for (std::size_t i = 0; i < kEntries; ++i)
    if (front.real[i] != nullptr && wanted[i] != nullptr) front.lead(i, wanted[i]);
  return 0;
}

}  // namespace

}  // namespace sennit::shim::nccl

extern "C" {

__attribute__((visibility("default"))) int sennit_attach_nccl(const sennit_nccl_front* front) {
  try {
    return sennit::shim::nccl::attach(*front);
  } catch (const std::bad_alloc&) {
    std::fputs("sennit: the program runs without sennit: there is no host memory left\n", stderr);
    return 1;
  }
}

__attribute__((visibility("default"))) void sennit_leave_to_nccl(int yes) {
  if (auto* const here = sennit::shim::nccl::here) here->calls.leave(yes != 0);
}

__attribute__((visibility("default"))) unsigned long sennit_calls_taken() {
  auto* const here = sennit::shim::nccl::here;
  return here != nullptr ? here->process.tally.taken() : 0;
}

__attribute__((visibility("default"))) void* sennit_emulated_allocate(int device, size_t bytes) {
  sennit::shim::nccl::DropIn* const here = sennit::shim::nccl::here;
  return here != nullptr ? here->process.memories->allocate_emulated(device, bytes) : nullptr;
}

__attribute__((visibility("default"))) int sennit_emulated_holder(const void* pointer) {
  const sennit::shim::nccl::DropIn* const here = sennit::shim::nccl::here;
  return here != nullptr ? here->process.memories->emulated_holder(pointer) : -1;
}

__attribute__((visibility("default"))) void sennit_emulated_free(void* data) {
  if (auto* const here = sennit::shim::nccl::here) here->process.memories->free_emulated(data);
}

}  // extern "C"
