// Where the preloaded library hands over, once it knows the program's NCCL; and what the program's calls lead to from
// then on.
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "base/nccl_name.h"
#include "comm/job_place.h"
#include "shim/front/front.h"
#include "shim/nccl/drop_in.h"

namespace sennit::shim::nccl {

namespace {

/// Where NCCL's own code lies. It calls some of its functions by their public names, which lead here.
struct Code {
  std::uintptr_t begin = 0, end = 0;
  bool holds(const void* address) const { return reinterpret_cast<std::uintptr_t>(address) - begin < end - begin; }
};

/// Never destroyed: a program may call NCCL while its globals are taken down.
DropIn* here = nullptr;
Code own_code;

Code code_around(const void* address) {
  struct Search {
    std::uintptr_t address;
    Code found;
  } search{reinterpret_cast<std::uintptr_t>(address), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& sought = *static_cast<Search*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          const Code code{info->dlpi_addr + segment.p_vaddr, info->dlpi_addr + segment.p_vaddr + segment.p_memsz};
          if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
              code.holds(reinterpret_cast<const void*>(sought.address)))
            sought.found = code;
        }
        return sought.found.end != 0 ? 1 : 0;
      },
      &search);
  return search.found;
}

/// What the drop-in makes of a call; NCCL's own calls are NCCL's own business. No exception leaves.
template <class Ours, class Theirs>
auto answer(const void* caller, const Ours& ours, const Theirs& theirs) noexcept -> decltype(theirs(here->nccl())) {
  if (own_code.holds(caller)) return theirs(here->nccl());
  try {
    return ours(*here);
  } catch (...) {  // memory
    if constexpr (std::is_same_v<decltype(theirs(here->nccl())), int>) return kSystemError;
    return {};
  }
}

int answer_call(const void* caller, const Call& call) noexcept {
  return answer(
      caller, [&](DropIn& drop_in) { return drop_in.call(call); },
      [&](const Functions& nccl) { return pass_on(nccl, call); });
}

template <class Theirs>
int answer_enqueuing(const void* caller, std::string_view name, Comm comm, Stream stream,
                     const Theirs& theirs) noexcept {
  return answer(
      caller, [&](DropIn& to) { return to.enqueue(name, comm, stream, [&] { return theirs(to.nccl()); }); }, theirs);
}

/// Of a part of a communicator; none: that one's, where the program gives it no other.
std::optional<Config> config_of_part(const void* config) {
  return config != nullptr ? std::optional(Config::read(config)) : std::nullopt;
}

std::string key_of_ids(const UniqueId* ids, int count) {
  return key_of({reinterpret_cast<const char*>(ids), sizeof *ids * static_cast<unsigned>(count < 0 ? 0 : count)});
}

}  // namespace

// Named as functions.txt has them, in Entry's words.
namespace wrappers {

namespace {

int comm_init_rank(Comm* made, int size, UniqueId id, int rank) {
  const auto make = [&](const Functions& nccl) { return nccl.comm_init_rank(made, size, id, rank); };
  return answer(
      __builtin_return_address(0),
      [&](DropIn& to) {
        return to.make(key_of_ids(&id, 1), rank, size, Config::read(nullptr), made, [&] { return make(to.nccl()); });
      },
      make);
}

int comm_init_rank_config(Comm* made, int size, UniqueId id, int rank, void* config) {
  const auto make = [&](const Functions& nccl) { return nccl.comm_init_rank_config(made, size, id, rank, config); };
  return answer(
      __builtin_return_address(0),
      [&](DropIn& to) {
        return to.make(key_of_ids(&id, 1), rank, size, Config::read(config), made, [&] { return make(to.nccl()); });
      },
      make);
}

int comm_init_rank_scalable(Comm* made, int size, int rank, int id_count, UniqueId* ids, void* config) {
  const auto make = [&](const Functions& nccl) {
    return nccl.comm_init_rank_scalable(made, size, rank, id_count, ids, config);
  };
  return answer(
      __builtin_return_address(0),
      [&](DropIn& to) {
        return to.make(key_of_ids(ids, ids != nullptr ? id_count : 0), rank, size, Config::read(config), made,
                       [&] { return make(to.nccl()); });
      },
      make);
}

int comm_init_all(Comm* made, int count, const int* devices) {
  const auto make = [&](const Functions& nccl) { return nccl.comm_init_all(made, count, devices); };
  return answer(
      __builtin_return_address(0),
      [&](DropIn& to) { return to.make_all(made, count, [&] { return make(to.nccl()); }); }, make);
}

int comm_split(Comm parent, int color, int key, Comm* made, void* config) {
  const auto make = [&](const Functions& nccl) { return nccl.comm_split(parent, color, key, made, config); };
  return answer(
      __builtin_return_address(0),
      [&](DropIn& to) {
        return to.make_child(parent, "split", fmt::format("{}", color), config_of_part(config),
                             color < 0 ? nullptr : made,  // who has no colour gets none
                             [&] { return make(to.nccl()); });
      },
      make);
}

int comm_shrink(Comm parent, int* excluded, int excluded_count, Comm* made, void* config, int flags) {
  const auto make = [&](const Functions& nccl) {
    return nccl.comm_shrink(parent, excluded, excluded_count, made, config, flags);
  };
  return answer(
      __builtin_return_address(0),
      [&](DropIn& to) {
        std::set<int> without;
        if (excluded != nullptr && excluded_count > 0) without.insert(excluded, excluded + excluded_count);
        return to.shrink(parent, without, flags, config_of_part(config), made, [&] { return make(to.nccl()); });
      },
      make);
}

int comm_grow(Comm parent, int size, const UniqueId* id, int rank, Comm* made, void* config) {
  const auto make = [&](const Functions& nccl) { return nccl.comm_grow(parent, size, id, rank, made, config); };
  return answer(
      __builtin_return_address(0),
      [&](DropIn& to) {
        const auto its = parent == nullptr ? std::optional(Config::read(config)) : config_of_part(config);
        return to.grow(parent, size, id, rank, its, made, [&] { return make(to.nccl()); });
      },
      make);
}

int comm_finalize(Comm comm) {
  return answer(
      __builtin_return_address(0), [&](DropIn& to) { return to.finalize(comm); },
      [&](const Functions& nccl) { return nccl.comm_finalize(comm); });
}
int comm_destroy(Comm comm) {
  return answer(
      __builtin_return_address(0), [&](DropIn& to) { return to.destroy(comm); },
      [&](const Functions& nccl) { return nccl.comm_destroy(comm); });
}
int comm_abort(Comm comm) {
  return answer(
      __builtin_return_address(0), [&](DropIn& to) { return to.abort(comm); },
      [&](const Functions& nccl) { return nccl.comm_abort(comm); });
}
int comm_revoke(Comm comm, int flags) {
  return answer(
      __builtin_return_address(0), [&](DropIn& to) { return to.revoke(comm, flags); },
      [&](const Functions& nccl) { return nccl.comm_revoke(comm, flags); });
}

int comm_get_async_error(Comm comm, int* error) {
  return answer(
      __builtin_return_address(0), [&](DropIn& to) { return to.async_error(comm, error); },
      [&](const Functions& nccl) { return nccl.comm_get_async_error(comm, error); });
}
const char* get_last_error(Comm comm) {
  return answer(
      __builtin_return_address(0), [&](DropIn& to) { return to.last_error(comm); },
      [&](const Functions& nccl) { return nccl.get_last_error(comm); });
}

int comm_window_register(Comm comm, void* data, std::size_t bytes, WindowHandle* made, int flags) {
  const auto make = [&](const Functions& nccl) { return nccl.comm_window_register(comm, data, bytes, made, flags); };
  return answer(
      __builtin_return_address(0),
      [&](DropIn& to) {
        return to.open_window({comm, data, bytes, made}, flags, [&] { return make(to.nccl()); });
      },
      make);
}
int comm_window_deregister(Comm comm, WindowHandle window) {
  return answer(
      __builtin_return_address(0), [&](DropIn& to) { return to.close_window(comm, window); },
      [&](const Functions& nccl) { return nccl.comm_window_deregister(comm, window); });
}

int red_op_destroy(int op, Comm comm) {
  return answer(
      __builtin_return_address(0), [&](DropIn& to) { return to.destroy_operator(op, comm); },
      [&](const Functions& nccl) { return nccl.red_op_destroy(op, comm); });
}

int all_reduce(const void* input, void* output, std::size_t count, int type, int op, Comm comm, Stream stream) {
  return answer_call(__builtin_return_address(0),
                     {Entry::all_reduce, input, output, count, type, op, 0, comm, stream});
}
int reduce_scatter(const void* input, void* output, std::size_t count, int type, int op, Comm comm, Stream stream) {
  return answer_call(__builtin_return_address(0),
                     {Entry::reduce_scatter, input, output, count, type, op, 0, comm, stream});
}
int all_gather(const void* input, void* output, std::size_t count, int type, Comm comm, Stream stream) {
  return answer_call(__builtin_return_address(0),
                     {Entry::all_gather, input, output, count, type, 0, 0, comm, stream});
}
int broadcast(const void* input, void* output, std::size_t count, int type, int root, Comm comm, Stream stream) {
  return answer_call(__builtin_return_address(0),
                     {Entry::broadcast, input, output, count, type, 0, root, comm, stream});
}
int bcast(void* buffer, std::size_t count, int type, int root, Comm comm, Stream stream) {
  return answer_call(__builtin_return_address(0),
                     {Entry::bcast, nullptr, buffer, count, type, 0, root, comm, stream});
}
int reduce(const void* input, void* output, std::size_t count, int type, int op, int root, Comm comm, Stream stream) {
  return answer_call(__builtin_return_address(0),
                     {Entry::reduce, input, output, count, type, op, root, comm, stream});
}
int all_to_all(const void* input, void* output, std::size_t count, int type, Comm comm, Stream stream) {
  return answer_call(__builtin_return_address(0),
                     {Entry::all_to_all, input, output, count, type, 0, 0, comm, stream});
}
int gather(const void* input, void* output, std::size_t count, int type, int root, Comm comm, Stream stream) {
  return answer_call(__builtin_return_address(0), {Entry::gather, input, output, count, type, 0, root, comm, stream});
}
int scatter(const void* input, void* output, std::size_t count, int type, int root, Comm comm, Stream stream) {
  return answer_call(__builtin_return_address(0),
                     {Entry::scatter, input, output, count, type, 0, root, comm, stream});
}
int send(const void* input, std::size_t count, int type, int peer, Comm comm, Stream stream) {
  return answer_call(__builtin_return_address(0), {Entry::send, input, nullptr, count, type, 0, peer, comm, stream});
}
int recv(void* output, std::size_t count, int type, int peer, Comm comm, Stream stream) {
  return answer_call(__builtin_return_address(0), {Entry::recv, nullptr, output, count, type, 0, peer, comm, stream});
}

int group_start() {
  return answer(
      __builtin_return_address(0), [](DropIn& to) { return to.group_start(); },
      [](const Functions& nccl) { return nccl.group_start(); });
}
int group_end() {
  return answer(
      __builtin_return_address(0), [](DropIn& to) { return to.group_end(); },
      [](const Functions& nccl) { return nccl.group_end(); });
}
int group_simulate_end(void* info) {
  return answer(
      __builtin_return_address(0), [&](DropIn& to) { return to.group_simulate_end(info); },
      [&](const Functions& nccl) { return nccl.group_simulate_end(info); });
}

#include "nccl_wrappers.inc"

}  // namespace

}  // namespace wrappers

namespace {

/// The newest whose functions were all looked at: the newest of tests/interop/nccl_headers, with any patch.
constexpr int kNewestKnown = 23299;

/// Once a job, where the environment says which rank this is.
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
  auto memories = Memories::open(switches->emulate);
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
      here->report();
    } catch (const std::bad_alloc&) {
      std::fputs("sennit: no report, as there is no host memory left\n", stderr);
    }
  });
  void* wanted[kEntries] = {};
  wrappers::fill(wanted);
  for (std::size_t i = 0; i < kEntries; ++i)
    if (front.real[i] != nullptr) front.table[i] = wanted[i];
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
  if (auto* const here = sennit::shim::nccl::here) here->leave(yes != 0);
}

__attribute__((visibility("default"))) unsigned long sennit_calls_taken() {
  auto* const here = sennit::shim::nccl::here;
  return here != nullptr ? here->taken() : 0;
}

__attribute__((visibility("default"))) void* sennit_emulated_allocate(int device, size_t bytes) {
  sennit::shim::nccl::DropIn* const here = sennit::shim::nccl::here;
  return here != nullptr ? here->memories().allocate_emulated(device, bytes) : nullptr;
}

__attribute__((visibility("default"))) void sennit_emulated_free(void* data) {
  if (auto* const here = sennit::shim::nccl::here) here->memories().free_emulated(data);
}

}  // extern "C"
