// The observer of NCCL's calls. A record has the host's time of the call, which only enqueues it.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#include "shim/front/front.h"
#include "shim/nccl/abi/observing.h"
#include "shim/nccl/abi/types.h"
#include "shim/recorder/call_group.h"
#include "shim/recorder/communicators.h"
#include "shim/recorder/gpu_side.h"
#include "shim/recorder/kernel_window.h"
#include "shim/recorder/memory_kinds.h"
#include "shim/recorder/nccl_choices.h"
#include "shim/recorder/process_profile.h"
#include "shim/recorder/registrations.h"
#include "shim/recorder/rooted.h"

namespace sennit::shim::recorder {

namespace {

class NcclRecorder {
  using Description = nccl::Description;
  using Entry = nccl::Entry;
  using Frame = nccl::Frame;
  using Kind = nccl::Kind;

 public:
  static bool begin(const sennit_observation& observation) {
    profile::Recorder* const recorder = begin_profile();
    if (recorder == nullptr) return false;
    Dl_info library{};
    if (dladdr(dlsym(observation.library, "ncclGetVersion"), &library) != 0)
      the_process.observed_nccl.store(library.dli_fbase, std::memory_order_release);
    count_ = reinterpret_cast<Ask>(dlsym(observation.library, "ncclCommCount"));
    user_rank_ = reinterpret_cast<Ask>(dlsym(observation.library, "ncclCommUserRank"));
    for (std::size_t i = 0; i < nccl::kEntries; ++i) functions_[i] = recorder->function(nccl::kDescriptions[i].name);
    for (std::size_t i = 0; i < types_.size(); ++i)
      types_[i] = recorder->type(device::name(static_cast<device::Type>(i)));
    profile::set(recorder->header().nccl, "NCCL");
    nccl::Observing<NcclRecorder>::begin(observation);
    return true;
  }

  template <class Next>
  static auto observe(const Frame& frame, const Next& next) {
    profile::Recorder* const recorder = current_profile();
    const InCall in_call(recorder);
    if (!in_call.outermost() || frame.of->kind == Kind::state) return next();
    if (is_paused()) return pass(*recorder, group_of(in_call.own()), frame, next);
    const Description& of = *frame.of;
    profile::Call call{};
    profile::Recorder::Found<profile::Sum> found;
    call.function = functions_[std::size_t(frame.entry())];
    call.peer = call.tag = -1;
    call.at_once = in_call.others();
    call.phase = the_process.phase.load(std::memory_order_relaxed);
    const Handle comm = of.comm != nccl::kAbsent ? handle_of(frame, of.comm) : 0;
    describe(frame, comm, kinds_of(in_call.own()), call);
    if (of.kind == Kind::ends) known().forget(comm);
    const auto make = [&] {
      call.begin = recorder->now();
      const auto result = next();
      call.end = recorder->now();
      // A drop-in speaks of the calls in a group at the group's end.
      if (frame.entry() != Entry::group_end && in_call.own().how != 0) call.how = in_call.own().how;
      return result;
    };
    const auto result = with_choice(in_call, of, call, [&] { return on_gpu(*recorder, in_call, frame, call, make); });
    recorder->begin_run(call.begin);
    if (of.kind == Kind::makes) learn(*recorder, frame, comm);
    recorder->record(in_call.thread(), call, found);
    return result;
  }

 private:
  /// Makes the call, and finds what NCCL chose for it. For calls of a group that is known at its end.
  template <class Make>
  static auto with_choice(const InCall& in_call, const Description& of, profile::Call& call, const Make& make) {
    OwnThread& own = in_call.own();
    const bool has_choice = is_of_all(of) && the_process.nccl_tells.load(std::memory_order_relaxed);
    if (!has_choice) return make();
    if (CallGroup& group = group_of(own); group.is_open()) {
      group.choose_by(choices_of(own).of(call, true));
      return make();
    }
    NcclChoices::Known& known = choices_of(own).of(call);
    if (known.uses != 0) {
      --known.uses;
      call.how = known.how;
      return make();
    }
    known.uses = NcclChoices::kUses;
    const AskingNccl asking;
    const auto result = make();
    known.how = call.how;
    return result;
  }

  /// A call in a pause: nothing is written of it, but what later calls go by is kept.
  template <class Next>
  static auto pass(profile::Recorder& recorder, CallGroup& group, const Frame& frame, const Next& next) {
    const Description& of = *frame.of;
    const Entry entry = frame.entry();
    const Handle comm = of.comm != nccl::kAbsent ? handle_of(frame, of.comm) : 0;
    if (is_of_all(of))
      if (KnownCommunicator* const found = known().find(comm)) found->next_call();
    if (of.kind == Kind::ends) known().forget(comm);
    const auto result = next();
    if (result == decltype(next()){}) note_memory(recorder, group, frame);
    if (of.kind == Kind::makes) learn(recorder, frame, comm);
    if (group.is_open() && of.stream != nccl::kAbsent) group.add_unrecorded(frame.pointer(of.stream));
    note_group(group, entry);
    return result;
  }
  /// After a call that has registered memory, or ended that. What is registered in a group has its handle at the
  /// group's end.
  static void note_memory(profile::Recorder& recorder, CallGroup& group, const Frame& frame) {
    static auto* const open = new Registrations;  // never destroyed, as the recorder
    constexpr nccl::Argument kBytes = 2, kMade = 3, kEnded = 1;
    const auto begin = [&](Entry by, const std::uint64_t* handle, std::uint64_t bytes) {
      open->begin(recorder, {functions_[std::size_t(by)], *handle, 0}, bytes);
    };
    const auto end = [&](Entry by) { open->end(recorder, {functions_[std::size_t(by)], frame.bits[kEnded], 0}); };
    const auto* const made = frame.pointer<const std::uint64_t>(kMade);
    switch (frame.entry()) {
      case Entry::comm_register: return begin(frame.entry(), made, frame.bits[kBytes]);
      case Entry::comm_window_register:
        if (group.is_open()) return group.add({made, frame.bits[kBytes]});
        return begin(frame.entry(), made, frame.bits[kBytes]);
      case Entry::group_end:
        if (group.ends())
          for (const CallGroup::Window& one : group.windows())
            begin(Entry::comm_window_register, one.handle, one.bytes);
        return;
      case Entry::comm_deregister: return end(Entry::comm_register);
      case Entry::comm_window_deregister: return end(Entry::comm_window_register);
      default: return;
    }
  }
  static void note_group(CallGroup& group, Entry entry) {
    if (entry == Entry::group_start) group.start();
    if (entry == Entry::group_end || entry == Entry::group_simulate_end) group.end();
  }

  static KnownCommunicators& known() {
    static auto* const made = new KnownCommunicators;  // never destroyed, as the recorder
    return *made;
  }

  /// Null where nothing is to be put onto GPUs, or the program has not loaded CUDA: one of the first calls that find
  /// it makes the object.
  static GpuSide* gpu_side(profile::Recorder& recorder) {
    constexpr int kTries = 100;
    static std::mutex making;
    static int tries = 0;
    if (GpuSide* const made = gpu_side_.load(std::memory_order_acquire)) return made;
    const profile::GpuTimes wanted = wanted_gpu_times();
    if (wanted == profile::GpuTimes::none) return nullptr;
    const std::lock_guard lock(making);
    if (gpu_side_.load(std::memory_order_relaxed) != nullptr || tries >= kTries) return gpu_side_;
    ++tries;
    const auto driver = GpuDriver::of_process();
    if (!driver) return nullptr;
    if (wanted != profile::GpuTimes::kernel) recorder.header().gpu_times = wanted;
    gpu_side_ = new GpuSide(*driver, wanted == profile::GpuTimes::all);  // never destroyed, as the recorder
    std::atexit([] {
      if (profile::Recorder* const last = current_profile()) gpu_side_.load()->finish(*last);
    });
    return gpu_side_;
  }

  /// Makes the call, with events around it if it is its turn. A call of a group begins at the group's end.
  template <class Make>
  static auto on_gpu(profile::Recorder& recorder, const InCall& in_call, const Frame& frame,
                     const profile::Call& call, const Make& make) {
    CallGroup& group = group_of(in_call.own());
    const Entry entry = frame.entry();
    const bool runs_group = entry == Entry::group_end && group.ends() && !group.streams().empty();
    const bool enqueues = frame.of->stream != nccl::kAbsent;
    const bool runs = enqueues && !group.is_open();
    const KernelsOfCall kernels(recorder, runs || runs_group);
    GpuSide* const gpu = runs || runs_group ? gpu_side(recorder) : nullptr;
    const bool may_time = !kernels.collects() && wanted_gpu_times() != profile::GpuTimes::kernel;
    GpuSide::Call alone;
    if (gpu != nullptr && runs)
      alone = gpu->begin(recorder, frame.pointer(frame.of->stream), {profile::class_of(call)}, may_time);
    if (gpu != nullptr && runs_group)
      for (CallGroup::OnStream& one : group.streams())
        one.begun = gpu->begin(recorder, one.stream, calls_on(one, call), may_time);
    const auto result = make();
    const profile::Class of = profile::class_of(call);  // how it was done is known now
    const bool is_enqueued = result == decltype(make()){};
    if (runs_group && is_enqueued) tell_choices(recorder, in_call, group);
    if (kernels.collects()) kernels.end(runs ? KernelTimes::Calls{of} : group.all(of));
    // The first of several streams has its kernel before the others; and sennit enqueues bit by bit.
    const auto launch = own_thread.is_sennits ? GpuTimer::Launch::meanwhile : GpuTimer::Launch::last;
    if (gpu != nullptr && runs) {
      alone.calls.of = of;
      gpu->end_timing(alone, launch, is_enqueued);
      gpu->note(recorder, in_call.thread(), alone, of, std::max(call.bytes_in, call.bytes_out));
    }
    if (gpu != nullptr && runs_group) {
      for (CallGroup::OnStream& one : group.streams()) {
        const GpuTimer::Calls calls = calls_on(one, call);
        one.begun.calls = {calls.of, calls.calls, one.begun.calls.each};
        gpu->end_timing(one.begun, group.streams().size() == 1 ? launch : GpuTimer::Launch::meanwhile, is_enqueued);
      }
      for (const CallGroup::Call& one : group.calls())
        gpu->note(recorder, in_call.thread(), group.streams()[one.stream].begun, one.of,
                  std::max(one.told.bytes_in, one.told.bytes_out));
    }
    if (enqueues && !runs) group.add(frame.pointer(frame.of->stream), grouped(frame, call));
    if (is_enqueued) note_memory(recorder, group, frame);
    note_group(group, entry);
    return result;
  }

  /// What the end of a group does on a stream.
  static GpuTimer::Calls calls_on(const CallGroup::OnStream& stream, const profile::Call& group_end) {
    return stream.is_mixed ? GpuTimer::Calls{profile::class_of(group_end)} : stream.calls;
  }
  static CallGroup::Call grouped(const Frame& frame, const profile::Call& call) {
    const Description& of = *frame.of;
    CallGroup::Call made{.of = profile::class_of(call),
                         .told = {call.bytes_in, call.bytes_out, call.end - call.begin, call.at_once != 0},
                         .arguments = NcclChoices::key_of(call),
                         .nccl = {}};
    if (!is_of_all(of)) return made;
    std::string_view name(of.name);
    name.remove_prefix(std::strlen("nccl"));
    if (name.ends_with("Config")) name.remove_suffix(std::strlen("Config"));
    const void* const output = frame.pointer(of.output);
    made.nccl = {name == "Bcast" ? "Broadcast" : name, of.input != nccl::kAbsent ? frame.pointer(of.input) : output,
                 output, std::max(call.bytes_in, call.bytes_out)};
    return made;
  }
  /// Calls of a group that has been done are retold with what NCCL chose for them.
  static void tell_choices(profile::Recorder& recorder, const InCall& in_call, CallGroup& group) {
    group.learn(choices_of(in_call.own()));
    for (CallGroup::Call& one : group.calls()) {
      if (one.how == 0 || one.of.how != 0) continue;  // not known, or a drop-in has said more
      profile::Class told = one.of;
      told.how = one.how;
      recorder.retell(in_call.thread(), one.of, told, one.told);
      one.of = told;
    }
    group.sort_anew();
  }

  static Handle handle_of(const Frame& frame, nccl::Argument argument) {
    return frame.bits[static_cast<std::size_t>(argument)];
  }

  /// Adds the communicator that a call has made. One of ncclCommInitRank has the id of its unique id, which all ranks
  /// have; one that was made of another has that of the parent, of how many were made of it before, and of the
  /// colour. Every rank of the parent counts the call, also one that is in none of what was made.
  static void learn(profile::Recorder& recorder, const Frame& frame, Handle parent) {
    KnownCommunicator* const from = known().find(parent);
    const std::uint32_t number = from != nullptr ? from->children.fetch_add(1, std::memory_order_relaxed) : 0;
    if (frame.of->made == nccl::kAbsent) return;
    auto* const* const at = frame.pointer<void*>(frame.of->made);
    if (at == nullptr || *at == nullptr) return;
    constexpr std::size_t kUniqueIdBytes = 128;
    profile::Communicator made{};
    int rank = frame.of->rank != nccl::kAbsent ? static_cast<int>(frame.integer(frame.of->rank)) : -1;
    if (frame.entry() == Entry::comm_init_rank || frame.entry() == Entry::comm_init_rank_config) {
      made.id = hash_of(frame.pointer(2), kUniqueIdBytes);
      made.size = static_cast<std::uint32_t>(frame.integer(frame.of->ranks));
      if (recorder.header().rank < 0) {
        recorder.header().rank = rank;
        recorder.header().ranks = static_cast<std::int32_t>(made.size);
      }
    } else if (from != nullptr) {
      const std::int64_t colour = frame.entry() == Entry::comm_split ? frame.integer(1) : 0;
      made.parent = from->id;
      made.id = hash_of(&colour, sizeof colour, hash_of(&number, sizeof number, from->id));
    }
    // One that does not block has no size yet: its calls are then counted without.
    int size = 0;
    if (rank < 0 && (user_rank_ == nullptr || user_rank_(*at, &rank) != 0)) rank = -1;
    made.rank = static_cast<std::uint32_t>(std::max(rank, 0));
    if (made.size == 0 && count_ != nullptr && count_(*at, &size) == 0) made.size = static_cast<std::uint32_t>(size);
    known().add(recorder, reinterpret_cast<std::uintptr_t>(*at), made, rank);
  }

  /// Collectives, and what has their arguments and a configuration more (ncclAllReduceConfig).
  static bool is_of_all(const Description& of) {
    return of.kind == Kind::collective ||
           (of.kind == Kind::enqueues && of.count != nccl::kAbsent && of.peer == nccl::kAbsent);
  }

  static void describe(const Frame& frame, Handle comm, MemoryKinds& kinds, profile::Call& call) {
    const Description& of = *frame.of;
    Role role = Role::unknown;
    if (KnownCommunicator* const found = comm != 0 ? known().find(comm) : nullptr) {
      call.communicator = found->index;
      if (found->own_rank >= 0 && of.root != nccl::kAbsent)
        role = found->own_rank == frame.integer(of.root) ? Role::root : Role::other;
      if (is_of_all(of)) call.sequence = found->next_call();
    }
    if (of.peer != nccl::kAbsent) call.peer = static_cast<std::int32_t>(frame.integer(of.peer));
    if (of.root != nccl::kAbsent) call.peer = static_cast<std::int32_t>(frame.integer(of.root));
    if (!is_of_all(of) && of.kind != Kind::message) return;
    if (of.op != nccl::kAbsent) {
      call.reduction = reduction_of(nccl::operator_of(static_cast<int>(frame.integer(of.op))));
    }
    std::uint64_t bytes = 0;
    if (of.count != nccl::kAbsent && of.type != nccl::kAbsent)
      if (const auto type = nccl::type_of(static_cast<int>(frame.integer(of.type)))) {
        bytes = static_cast<std::uint64_t>(frame.integer(of.count)) * device::bytes_of(*type);
        call.type = types_[static_cast<std::size_t>(*type)];
      }
    const bool sends = frame.entry() == Entry::send, receives = frame.entry() == Entry::recv;
    const Rooted rooted = rooted_of(std::string_view(of.name).substr(std::strlen("nccl")));
    const Sides sides = rooted == Rooted::none ? Sides{!receives, !sends} : sides_of(rooted, role);
    const void* const output = frame.pointer(of.output);
    const void* const input = of.input != nccl::kAbsent ? frame.pointer(of.input) : output;
    if (input != nullptr && sides.gives) {
      call.memory_in = kinds.of(input, memory_of);
      call.bytes_in = bytes;
    }
    if (output != nullptr && sides.takes) {
      call.memory_out = kinds.of(output, memory_of);
      call.bytes_out = bytes;
    }
    call.in_place = of.input != nccl::kAbsent && input == output ? 1 : 0;
  }

  static constinit inline std::atomic<GpuSide*> gpu_side_{nullptr};
  using Ask = int (*)(const void* comm, int* answer);
  static constinit inline Ask count_ = nullptr, user_rank_ = nullptr;  ///< NCCL's ncclCommCount, ncclCommUserRank
  static constinit inline std::array<std::uint16_t, nccl::kEntries> functions_{};
  static constinit inline std::array<std::uint16_t, device::kTypes> types_{};
};

}  // namespace

}  // namespace sennit::shim::recorder

extern "C" __attribute__((visibility("default"))) int sennit_observe_nccl(const sennit_observation* observation) {
  using namespace sennit::shim;
  if (observation->entries != nccl::kEntries) return 1;
  return recorder::NcclRecorder::begin(*observation) ? 0 : 1;
}
