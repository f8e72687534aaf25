// A profiler plug-in of NCCL, which NCCL itself loads: it records calls that pass by the preloaded library, since
// NCCL is linked into the program or its functions are looked up. Calls of an NCCL that the preloaded library
// observes are recorded there; of these NCCL is asked for an event now and then, which has what it chose for the call
// (nccl_choices.h). Events have no operator and no stream.
//
// A plug-in that NCCL_PROFILER_PLUGIN named before is loaded from here (SENNIT_PROFILE_NEXT_PLUGIN), and gets what it
// asks for. Nothing is kept for an event: its handle is the next plug-in's, or null.
//
// Layouts are those of NCCL's profiler_v4.h, profiler_v5.h and profiler_v6.h. Event descriptors of all three begin
// alike.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/environment.h"
#include "shim/nccl/abi/types.h"
#include "shim/recorder/call_group.h"
#include "shim/recorder/communicators.h"
#include "shim/recorder/nccl_choices.h"
#include "shim/recorder/process_profile.h"
#include "shim/recorder/rooted.h"

namespace sennit::shim::recorder {

namespace {

enum Event : std::uint64_t {
  kCollective = 1 << 1,
  kMessage = 1 << 2,
  kGroupApi = 1 << 8,
  kAfterV4 = 1 << 8,   // this one, and those behind it
  kAfterV5 = 1 << 12,  // the same
};
constexpr int kStatesOfV5 = 25;  // numbers of later ones are of copy engines

struct Collective {
  std::uint64_t number;
  const char* function;
  const void* input;
  void* output;
  std::size_t count;
  int root;
  const char* type;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
  void* group;  ///< not in v4
};
struct Message {
  const char* function;
  void* buffer;
  const char* type;
  std::size_t count;
  int peer;
  std::uint8_t channels;
  void* group;  ///< not in v4
};
struct Descriptor {
  std::uint64_t type;  ///< in v4 one byte, and nothing behind it
  void* parent;
  int rank;
  union {
    Collective collective;
    Message message;
    struct {
      int is_captured;  ///< in v6 one byte
      int depth;
    } group;
  };
};
static_assert(offsetof(Descriptor, collective) == 24 && sizeof(Collective) == 88 && sizeof(Message) == 48);

using Initialize4 = int (*)(void** context, int* mask, const char* name, std::uint64_t id, int nodes, int ranks,
                            int rank, void* log);
using Initialize5 = int (*)(void** context, std::uint64_t id, int* mask, const char* name, int nodes, int ranks,
                            int rank, void* log);

/// ncclProfiler_v4_t and later: they differ in `initialize`.
struct Plugin {
  const char* name = nullptr;
  void* initialize = nullptr;
  int (*start)(void* context, void** event, void* descriptor) = nullptr;
  int (*stop)(void* event) = nullptr;
  int (*state)(void* event, int state, void* arguments) = nullptr;
  int (*finalize)(void* context) = nullptr;
};

/// A communicator.
struct Context {
  void* next = nullptr;
  std::uint64_t next_mask = 0;
  bool is_recorded = false;
  bool is_asked = false;  ///< what it chooses for calls that are observed
  KnownCommunicator* known = nullptr;
  int size = 0;
};

/// The plug-in behind this one, for an NCCL of this version.
struct Next {
  const Plugin* plugin = nullptr;
  int version = 0;
};

void* open_next() {
  const std::string name = environment("SENNIT_PROFILE_NEXT_PLUGIN");
  if (name == "none") return nullptr;
  // NCCL looks for it so, too.
  if (name.empty()) return dlopen("libnccl-profiler.so", RTLD_NOW | RTLD_LOCAL);
  void* found = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (found == nullptr && name.find('/') == std::string::npos)
    found = dlopen(fmt::format("libnccl-profiler-{}.so", name).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (found == nullptr)
    std::fputs(fmt::format("sennit: NCCL's profiler plug-in {} cannot be loaded\n", name).c_str(), stderr);
  return found;
}

template <int version>
const Next& next() {
  static const Next found = [] {
    static void* const library = open_next();
    Next made;
    for (int older = version; library != nullptr && made.plugin == nullptr && older >= 4; --older)
      made = {static_cast<const Plugin*>(dlsym(library, fmt::format("ncclProfiler_v{}", older).c_str())), older};
    return made;
  }();
  return found;
}

/// Returns the type that NCCL names so.
std::optional<device::Type> type_named(std::string_view name) {
  constexpr std::string_view kNames[] = {"ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
                                         "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
  for (int i = 0; const std::string_view one : kNames) {
    if (one == name) return nccl::type_of(i);
    ++i;
  }
  return std::nullopt;
}

/// A thread's last event had these names. NCCL's texts stay where they are.
struct LastNames {
  const profile::Recorder* of = nullptr;
  const char *function = nullptr, *type = nullptr, *algorithm = nullptr, *protocol = nullptr;
  std::uint8_t channels = 0;
  std::uint16_t function_number = 0, type_number = 0;
  std::uint8_t how = 0;
  std::uint64_t bytes = 0;  ///< of an element
};

void look_up(LastNames& last, profile::Recorder& recorder, const char* function, const char* type) {
  if (last.of != &recorder) last = {.of = &recorder};
  if (function != nullptr && last.function != function) {
    last.function_number = recorder.function(fmt::format("nccl{}", function));
    last.function = function;
  }
  if (type != nullptr && last.type != type) {
    const auto known = type_named(type);
    last.type_number = recorder.type(known ? std::string(device::name(*known)) : std::string(type));
    last.bytes = known ? device::bytes_of(*known) : 1;
    last.type = type;
  }
}

void look_up_how(LastNames& last, profile::Recorder& recorder, const Collective& of) {
  if (last.how != 0 && last.algorithm == of.algorithm && last.protocol == of.protocol && last.channels == of.channels)
    return;
  last.algorithm = of.algorithm;
  last.protocol = of.protocol;
  last.channels = of.channels;
  last.how = of.algorithm != nullptr && of.protocol != nullptr
                 ? recorder.how(fmt::format("NCCL: {}, {}, {} channels", of.algorithm, of.protocol, of.channels))
                 : recorder.how("NCCL");
}

/// A call is recorded when NCCL enqueues it. NCCL says neither when it began nor when it ended.
void record(profile::Recorder& recorder, Context& context, const Descriptor& event, std::uint64_t type) {
  if (is_paused()) {
    if (type == kCollective) context.known->next_call();
    return;
  }
  thread_local LastNames last;
  profile::Call call{};
  call.begin = call.end = recorder.now();
  call.peer = call.tag = -1;
  call.phase = the_process.phase.load(std::memory_order_relaxed);
  call.communicator = context.known->index;
  if (type == kCollective) {
    const Collective& of = event.collective;
    look_up(last, recorder, of.function, of.type);
    look_up_how(last, recorder, of);
    call.how = last.how;
    call.sequence = context.known->next_call();
    call.peer = of.root;
    const Role role = context.known->own_rank == of.root ? Role::root : Role::other;
    const Sides sides = sides_of(rooted_of(of.function != nullptr ? of.function : ""), role);
    if (sides.gives) call.memory_in = memory_of(of.input);
    if (sides.takes) call.memory_out = memory_of(of.output);
    if (sides.gives && of.input != nullptr) call.bytes_in = of.count * last.bytes;
    if (sides.takes && of.output != nullptr) call.bytes_out = of.count * last.bytes;
    call.in_place = of.input == of.output ? 1 : 0;
    if (of.function != nullptr && std::strstr(of.function, "Reduce") != nullptr)
      call.reduction = recorder.reduction("unknown");
  } else {
    const Message& of = event.message;
    look_up(last, recorder, of.function, of.type);
    call.peer = of.peer;
    const bool sends = of.function != nullptr && std::strcmp(of.function, "Send") == 0;
    (sends ? call.memory_in : call.memory_out) = memory_of(of.buffer);
    (sends ? call.bytes_in : call.bytes_out) = of.count * last.bytes;
  }
  call.function = last.function_number;
  call.type = last.type_number;
  profile::Recorder::Found<profile::Sum> found;
  recorder.begin_run(call.begin);
  recorder.record(recorder.thread(), call, found);
}

/// The observed call that the thread is in learns what NCCL chose, unless a drop-in has said more; at the end of a
/// group, the call of the group.
void tell_choice(const Collective& of) {
  thread_local LastNames last;
  profile::Recorder* const recorder = current_profile();
  if (recorder == nullptr || own_thread.depth == 0) return;
  CallGroup& group = group_of(own_thread);
  if (!group.is_open() && own_thread.how != 0) return;
  look_up(last, *recorder, of.function, of.type);
  look_up_how(last, *recorder, of);
  if (group.is_open())
    group.hear({of.function != nullptr ? of.function : "", of.input, of.output, of.count * last.bytes}, last.how);
  else
    own_thread.how = last.how;
}

/// An NCCL whose functions the observer stands before. It is the caller's that `at` lies in.
bool is_observed(const void* at) {
  const void* const observed = the_process.observed_nccl.load(std::memory_order_acquire);
  Dl_info calling{};
  return observed != nullptr && dladdr(at, &calling) != 0 && calling.dli_fbase == observed;
}

KnownCommunicators& known_communicators() {
  static auto* const made = new KnownCommunicators;  // never destroyed, as the recorder
  return *made;
}

void begin(Context& context, const char* name, std::uint64_t id, int ranks, int rank) {
  profile::Recorder* const recorder = begin_profile();
  if (recorder == nullptr) return;
  profile::Communicator made{};
  made.id = id;
  made.size = static_cast<std::uint32_t>(ranks);
  made.rank = static_cast<std::uint32_t>(rank);
  if (name != nullptr) profile::set(made.name, name);
  if (recorder->header().rank < 0) {
    recorder->header().rank = rank;
    recorder->header().ranks = ranks;
  }
  if (recorder->header().nccl[0] == 0) profile::set(recorder->header().nccl, "NCCL");
  context.known = &known_communicators().add(*recorder, reinterpret_cast<std::uintptr_t>(&context), made, rank);
  context.is_recorded = true;
}

template <int version>
int initialize(const void* caller, void** context, std::uint64_t id, int* mask, const char* name, int nodes,
               int ranks, int rank, void* log) {
  auto* const made = new Context;
  *context = made;
  *mask = 0;
  if (!is_observed(caller)) begin(*made, name, id, ranks, rank);
  if (const Next& behind = next<version>(); behind.plugin != nullptr) {
    int wanted = 0;
    const int code = behind.version == 4 ? reinterpret_cast<Initialize4>(behind.plugin->initialize)(
                                               &made->next, &wanted, name, id, nodes, ranks, rank, log)
                                         : reinterpret_cast<Initialize5>(behind.plugin->initialize)(
                                               &made->next, id, &wanted, name, nodes, ranks, rank, log);
    if (code == 0) made->next_mask = static_cast<std::uint64_t>(wanted);
  }
  *mask = static_cast<int>(made->next_mask | (made->is_recorded ? kCollective | kMessage : 0));
  made->is_asked = !made->is_recorded && current_profile() != nullptr;
  if (made->is_asked) {
    event_masks().add(made, {mask, static_cast<int>(made->next_mask), kCollective});
    the_process.nccl_tells.store(true, std::memory_order_relaxed);
  }
  return 0;
}

template <int version>
int start_next(const Context& context, void** event, void* descriptor, std::uint64_t type) {
  const Next& behind = next<version>();
  if (behind.version == version) return behind.plugin->start(context.next, event, descriptor);
  if (type >= (behind.version == 4 ? kAfterV4 : kAfterV5)) return 0;
  Descriptor older;
  std::memcpy(&older, descriptor, sizeof older);
  if (version == 6 && type == kGroupApi) older.group.is_captured &= 0xff;
  if (behind.version == 4 && type == kCollective) older.parent = older.collective.group;
  if (behind.version == 4 && type == kMessage) older.parent = older.message.group;
  return behind.plugin->start(context.next, event, &older);
}

template <int version>
int start(void* context, void** event, void* descriptor) {
  *event = nullptr;
  if (context == nullptr) return 0;
  auto& of = *static_cast<Context*>(context);
  const std::uint64_t type =
      version == 4 ? *static_cast<std::uint8_t*>(descriptor) : static_cast<Descriptor*>(descriptor)->type;
  if (of.is_recorded && (type == kCollective || type == kMessage))
    if (profile::Recorder* const recorder = current_profile())
      record(*recorder, of, *static_cast<Descriptor*>(descriptor), type);
  if (of.is_asked && type == kCollective) tell_choice(static_cast<Descriptor*>(descriptor)->collective);
  return (of.next_mask & type) != 0 ? start_next<version>(of, event, descriptor, type) : 0;
}

template <int version>
int stop(void* event) {
  return event != nullptr && next<version>().plugin != nullptr ? next<version>().plugin->stop(event) : 0;
}

template <int version>
int state(void* event, int state, void* arguments) {
  const Next& behind = next<version>();
  if (event == nullptr || behind.plugin == nullptr) return 0;
  if (behind.version < 6 && state >= kStatesOfV5) return 0;
  return behind.plugin->state(event, state, arguments);
}

template <int version>
int finalize(void* context) {
  auto* const of = static_cast<Context*>(context);
  int code = 0;
  if (of != nullptr && next<version>().plugin != nullptr) code = next<version>().plugin->finalize(of->next);
  event_masks().remove(of);
  if (of != nullptr && of->known != nullptr) known_communicators().forget(reinterpret_cast<std::uintptr_t>(of));
  return code;  // the context stays: NCCL's threads may have it still
}

int initialize4(void** context, int* mask, const char* name, std::uint64_t id, int nodes, int ranks, int rank,
                void* log) {
  return initialize<4>(__builtin_return_address(0), context, id, mask, name, nodes, ranks, rank, log);
}
template <int version>
int initialize5(void** context, std::uint64_t id, int* mask, const char* name, int nodes, int ranks, int rank,
                void* log) {
  return initialize<version>(__builtin_return_address(0), context, id, mask, name, nodes, ranks, rank, log);
}

template <int version>
Plugin plugin(void* initialize) {
  return {"sennit", initialize, &start<version>, &stop<version>, &state<version>, &finalize<version>};
}

}  // namespace

}  // namespace sennit::shim::recorder

extern "C" {

using sennit::shim::recorder::Plugin;

__attribute__((visibility("default"))) extern const Plugin ncclProfiler_v4, ncclProfiler_v5, ncclProfiler_v6;
const Plugin ncclProfiler_v4 =
    sennit::shim::recorder::plugin<4>(reinterpret_cast<void*>(&sennit::shim::recorder::initialize4));
const Plugin ncclProfiler_v5 =
    sennit::shim::recorder::plugin<5>(reinterpret_cast<void*>(&sennit::shim::recorder::initialize5<5>));
const Plugin ncclProfiler_v6 =
    sennit::shim::recorder::plugin<6>(reinterpret_cast<void*>(&sennit::shim::recorder::initialize5<6>));

}  // extern "C"
