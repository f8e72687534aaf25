// The observer of NCCL's calls. A record has the host's time of the call, which only enqueues it.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "shim/front/front.h"
#include "shim/nccl/abi/observing.h"
#include "shim/nccl/abi/types.h"
#include "shim/recorder/call_group.h"
#include "shim/recorder/communicators.h"
#include "shim/recorder/gpu_times.h"
#include "shim/recorder/graph_replays.h"
#include "shim/recorder/kernel_window.h"
#include "shim/recorder/process_profile.h"

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
    count_ = reinterpret_cast<Count>(dlsym(observation.library, "ncclCommCount"));
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
    const Description& of = *frame.of;
    profile::Call call{};
    profile::Recorder::Found<profile::Sum> found;
    call.function = functions_[std::size_t(frame.entry())];
    call.peer = call.tag = -1;
    call.at_once = in_call.others();
    call.phase = the_process.phase.load(std::memory_order_relaxed);
    const Handle comm = of.comm != nccl::kAbsent ? handle_of(frame, of.comm) : 0;
    describe(frame, comm, call);
    if (of.kind == Kind::ends) known().forget(comm);
    const auto make = [&] {
      call.begin = recorder->now();
      const auto result = next();
      call.end = recorder->now();
      // A drop-in speaks of the calls in a group at the group's end.
      if (frame.entry() != Entry::group_end) call.how = in_call.own().how;
      return result;
    };
    const auto result = timed(*recorder, frame, group_of(in_call.own()), call, make);
    recorder->begin_run(call.begin);
    if (of.stream != nccl::kAbsent) note_graph(*recorder, in_call.thread(), frame.pointer(of.stream), call);
    if (of.kind == Kind::makes) learn(*recorder, frame, comm);
    recorder->record(in_call.thread(), call, found);
    return result;
  }

 private:
  static KnownCommunicators& known() {
    static auto* const made = new KnownCommunicators;  // never destroyed, as the recorder
    return *made;
  }

  /// Null where no times are wanted, or the program has not loaded CUDA.
  static GpuTimer* timer(profile::Recorder& recorder) {
    const profile::GpuTimes wanted = wanted_gpu_times();
    if (wanted == profile::GpuTimes::none || wanted == profile::GpuTimes::kernel) return nullptr;
    return made_where_cuda_is(timer_, [&](const GpuDriver& driver) {
      recorder.header().gpu_times = wanted;
      std::atexit([] {
        if (profile::Recorder* const last = current_profile()) timer_.load()->collect(*last, true);
      });
      return new GpuTimer(driver, wanted == profile::GpuTimes::all);  // never destroyed, as the recorder
    });
  }

  /// Where the stream is being captured the call has done nothing yet.
  static void note_graph(profile::Recorder& recorder, profile::Recorder::Thread& thread, void* stream,
                         const profile::Call& call) {
    GraphReplays* const replays = graph_replays();
    if (replays == nullptr) return;
    const profile::Class of = profile::class_of(call);
    if (replays->note(stream, of, std::max(call.bytes_in, call.bytes_out))) recorder.add_captured(thread, of);
    constexpr unsigned kNowAndThen = 64;
    static std::atomic<unsigned> calls{0};
    if (calls.fetch_add(1, std::memory_order_relaxed) % kNowAndThen == 0) replays->collect(recorder);
  }

  /// Null where nothing is to be put onto GPUs, or the program has not loaded CUDA.
  static GraphReplays* graph_replays() {
    if (wanted_gpu_times() == profile::GpuTimes::none) return nullptr;
    return made_where_cuda_is(replays_, [](const GpuDriver& driver) {
      std::atexit([] {
        if (profile::Recorder* const last = current_profile()) replays_.load()->collect(*last);
      });
      return new GraphReplays(driver);  // never destroyed, as the recorder
    });
  }

  /// Returns an object that needs CUDA's driver, made by one of the first calls that find it loaded.
  template <class Of, class Make>
  static Of* made_where_cuda_is(std::atomic<Of*>& place, const Make& make) {
    constexpr int kTries = 100;
    static std::mutex making;
    static int tries = 0;
    if (Of* const made = place.load(std::memory_order_acquire)) return made;
    const std::lock_guard lock(making);
    if (place.load(std::memory_order_relaxed) != nullptr || tries >= kTries) return place;
    ++tries;
    if (const auto driver = GpuDriver::of_process()) place = make(*driver);
    return place;
  }

  /// A call on a communicator that does not block may be put onto the stream later: its end is then unknown.
  template <class R>
  static void end_or_drop(GpuTimer& gpu, GpuTimer::Pair& pair, void* stream, const GpuTimer::Calls& calls,
                          GpuTimer::Launch launch, R result) {
    if (result == R{})
      gpu.end(pair, stream, calls, launch);
    else
      gpu.drop(pair);
  }

  /// Makes the call, with events around it if it is its turn. A call of a group begins at the group's end.
  template <class Make>
  static auto timed(profile::Recorder& recorder, const Frame& frame, CallGroup& group, const profile::Call& call,
                    const Make& make) {
    const Entry entry = frame.entry();
    const bool runs_group = entry == Entry::group_end && group.ends() && !group.streams().empty();
    const bool enqueues = frame.of->stream != nccl::kAbsent;
    const bool runs = enqueues && !group.is_open();
    const KernelsOfCall kernels(recorder, runs || runs_group);
    GpuTimer* const gpu = (runs || runs_group) && !kernels.collects() ? timer(recorder) : nullptr;
    if (gpu == nullptr) {
      const auto result = make();
      if (kernels.collects())
        kernels.end(runs ? KernelTimes::Calls{profile::class_of(call)} : group.all(profile::class_of(call)));
      if (enqueues && !runs) group.add(frame.pointer(frame.of->stream), profile::class_of(call));
      if (entry == Entry::group_start) group.start();
      if (entry == Entry::group_end || entry == Entry::group_simulate_end) group.end();
      return result;
    }
    // Now and then of all contexts: a thread may drive several GPUs and make none of them its own.
    constexpr unsigned kOfAll = 64;
    static std::atomic<unsigned> calls{0};
    gpu->collect(recorder, calls.fetch_add(1, std::memory_order_relaxed) % kOfAll == 0);
    CallGroup alone;
    if (runs) alone.add(frame.pointer(frame.of->stream), profile::class_of(call));
    auto& streams = runs ? alone.streams() : group.streams();
    for (CallGroup::OnStream& one : streams) {
      if (one.is_mixed) one.calls = {profile::class_of(call), 1};
      one.calls.each = gpu->is_due(one.calls.of);
      if (one.calls.each != 0) one.pair = gpu->begin(one.stream);
    }
    const auto result = make();
    if (runs) streams.front().calls.of = profile::class_of(call);  // how it was done is known now
    // The first of several streams has its kernel before the others; and sennit enqueues bit by bit.
    const auto launch =
        streams.size() == 1 && !own_thread.is_sennits ? GpuTimer::Launch::last : GpuTimer::Launch::meanwhile;
    for (const CallGroup::OnStream& one : streams)
      if (one.pair != nullptr) end_or_drop(*gpu, *one.pair, one.stream, one.calls, launch, result);
    if (runs_group) group.end();
    return result;
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
    if (frame.of->rank != nccl::kAbsent) made.rank = static_cast<std::uint32_t>(frame.integer(frame.of->rank));
    if (frame.entry() == Entry::comm_init_rank || frame.entry() == Entry::comm_init_rank_config) {
      made.id = hash_of(frame.pointer(2), kUniqueIdBytes);
      made.size = static_cast<std::uint32_t>(frame.integer(frame.of->ranks));
      if (recorder.header().rank < 0) {
        recorder.header().rank = static_cast<std::int32_t>(made.rank);
        recorder.header().ranks = static_cast<std::int32_t>(made.size);
      }
    } else if (from != nullptr) {
      const std::int64_t colour = frame.entry() == Entry::comm_split ? frame.integer(1) : 0;
      made.parent = from->id;
      made.id = hash_of(&colour, sizeof colour, hash_of(&number, sizeof number, from->id));
    }
    // One that does not block has no size yet: its calls are then counted without.
    int size = 0;
    if (made.size == 0 && count_ != nullptr && count_(*at, &size) == 0) made.size = static_cast<std::uint32_t>(size);
    known().add(recorder, reinterpret_cast<std::uintptr_t>(*at), made);
  }

  static void describe(const Frame& frame, Handle comm, profile::Call& call) {
    const Description& of = *frame.of;
    if (KnownCommunicator* const found = comm != 0 ? known().find(comm) : nullptr) {
      call.communicator = found->index;
      if (of.kind == Kind::collective) call.sequence = found->next_call();
    }
    if (of.peer != nccl::kAbsent) call.peer = static_cast<std::int32_t>(frame.integer(of.peer));
    if (of.root != nccl::kAbsent) call.peer = static_cast<std::int32_t>(frame.integer(of.root));
    if (of.kind != Kind::collective && of.kind != Kind::message) return;
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
    const void* const input = frame.pointer(sends ? (of.input != nccl::kAbsent ? of.input : of.output) : of.input);
    const void* const output = sends ? nullptr : frame.pointer(of.output);
    if (input != nullptr && !receives) {
      call.memory_in = memory_of(input);
      call.bytes_in = bytes;
    }
    if (output != nullptr) {
      call.memory_out = memory_of(output);
      call.bytes_out = bytes;
    }
    call.in_place = input == output ? 1 : 0;
  }

  static constinit inline std::atomic<GpuTimer*> timer_{nullptr};
  static constinit inline std::atomic<GraphReplays*> replays_{nullptr};
  using Count = int (*)(const void* comm, int* ranks);
  static constinit inline Count count_ = nullptr;  ///< NCCL's ncclCommCount
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
