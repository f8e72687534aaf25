// The observer of MPI's calls: each becomes one record of the profile. What a record needs of the call's arguments is
// read before the call, which may free them; the clock is read next to the call itself.
#include <algorithm>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "base/environment.h"
#include "shim/front/front.h"
#include "shim/mpi/call/observing.h"
#include "shim/recorder/kernel_window.h"
#include "shim/recorder/mpi_calls.h"
#include "shim/recorder/process_profile.h"
#include "shim/recorder/requests.h"
#include "shim/recorder/variables.h"

namespace sennit::shim::recorder {

namespace {

template <class Abi>
class MpiRecorder : MpiCalls<Abi> {
  using Calls = MpiCalls<Abi>;
  using Calls::begun_, Calls::communicators_, Calls::described, Calls::epoch_, Calls::facts_, Calls::free_handle,
      Calls::handle_at, Calls::know, Calls::library_, Calls::mpi_, Calls::session_world_;
  using Description = mpi::Description;
  using Entry = mpi::Entry;
  using Frame = mpi::Frame;
  using Kind = mpi::Kind;
  using Status = typename Abi::Status;

 public:
  static bool begin(const sennit_observation& observation) {
    profile::Recorder* const recorder = begin_profile();
    auto library = mpi::Library<Abi>::open(observation.library);
    if (recorder == nullptr || library == nullptr) return false;
    Calls::open(*recorder, observation.library, std::move(library));
    mpi::Observing<Abi, MpiRecorder>::begin(observation);
    return true;
  }

  static int observe(Frame& frame) {
    profile::Recorder* const recorder = current_profile();
    const InCall in_call(recorder);
    const Description& of = *frame.of;
    const Entry entry = mpi::entry_of(of);
    if (!in_call.outermost()) {
      // A callback of the program's may free what a call before was described by.
      if (recorder != nullptr && facts_[std::size_t(entry)].frees) free_handle(frame);
      return frame.call();
    }
    if (entry == Entry::Finalize) return finalize(*recorder, frame);
    const FunctionFacts& facts = facts_[std::size_t(entry)];
    if (is_paused()) return pass(*recorder, in_call.own(), frame, facts);
    CallMemos::Memo& memo = described(*recorder, frame, facts, memos_of(in_call.own()));
    DescribedCall& known = memo.described;
    profile::Call call = known.call;
    call.at_once = in_call.others();
    if (of.tag != mpi::kAbsent) call.tag = frame.number(of.tag);
    if (known.input != mpi::kAbsent) call.memory_in = memory_of(frame.pointer(known.input));
    if (known.output != mpi::kAbsent) call.memory_out = memory_of(frame.pointer(known.output));
    if (call.in_place != 0 && known.input == mpi::kAbsent) call.memory_in = call.memory_out;
    if (call.in_place != 0 && known.output == mpi::kAbsent) call.memory_out = call.memory_in;
    if (facts.of_all && known.communicator != nullptr) call.sequence = known.communicator->next_call();
    call.phase = the_process.phase.load(std::memory_order_relaxed);
    if (facts.frees) free_handle(frame);
    profile::Recorder::Thread& thread = in_call.thread();
    if (facts.ending != Ending::none || facts.tells)
      return observe_ending(*recorder, in_call.own(), frame, facts, known, call);
    if (of.kind == Kind::requests) before_requests(frame, entry);
    if (facts.registers) memory_.before(*recorder, frame, entry, index_of);
    const KernelsOfCall kernels(*recorder, on_gpu(call));
    call.begin = recorder->now();
    const int code = frame.call();
    call.end = recorder->now();
    call.how = in_call.own().how;
    if (kernels.collects()) kernels.end({profile::class_of(call)});
    if (code == 0) begin_run(*recorder, frame, entry, call.end);
    if (code == 0 && begun_ && of.made != mpi::kAbsent && !is_window(of)) know(*recorder, handle_at(frame, of.made));
    if (code == 0 && begun_ && facts.begins) begin_request(*recorder, thread, frame, facts, known, call);
    if (code == 0 && begun_ && of.kind == Kind::requests) after_requests(*recorder, thread, frame, entry, call);
    if (code == 0 && facts.registers) memory_.after(*recorder, frame, entry, index_of);
    if (entry == Entry::Pcontrol) begin_level(frame.number(0));
    if (facts.polls && code == 0) call.missed = *frame.pointer<int>(of.flag) == 0 ? 1 : 0;
    if (!facts.prepares) recorder->count_message(thread, known.to, true, call.bytes_in, known.sent);
    recorder->record(thread, call, known.sum);
    sample(*recorder, in_call.own(), call.end);
    return code;
  }

 private:
  static bool on_gpu(const profile::Call& call) {
    return call.memory_in == profile::Memory::device || call.memory_out == profile::Memory::device;
  }
  static std::uint16_t index_of(Entry entry) { return facts_[std::size_t(entry)].index; }
  static bool is_window(const Description& of) { return std::strncmp(of.name, "MPI_Win_", 8) == 0; }

  /// A call in a pause: nothing is written of it, but what later calls go by is kept. That is the communicators, the
  /// numbers of their calls, which requests are open, and what memory is registered.
  static int pass(profile::Recorder& recorder, OwnThread& own, Frame& frame, const FunctionFacts& facts) {
    const Description& of = *frame.of;
    const Entry entry = mpi::entry_of(of);
    if (begun_ && facts.of_all && of.comm != mpi::kAbsent)
      if (KnownCommunicator* const known = Calls::find_or_know(recorder, frame.handle(of.comm))) known->next_call();
    if (facts.frees) free_handle(frame);
    if (of.kind == Kind::requests) before_requests(frame, entry);
    if (facts.registers) memory_.before(recorder, frame, entry, index_of);
    const EndingCall<Abi> ending(frame, begun_ ? facts.ending : Ending::none, memos_of(own).room());
    const int code = frame.call();
    if (code == 0 && facts.registers) memory_.after(recorder, frame, entry, index_of);
    if (code == 0) begin_run(recorder, frame, entry, recorder.now());
    if (entry == Entry::Pcontrol) begin_level(frame.number(0));
    if (code == 0 && begun_ && of.made != mpi::kAbsent && !is_window(of)) know(recorder, handle_at(frame, of.made));
    const auto end = [&](mpi::Handle request) {
      if (const auto ended = requests_.end(request)) recorder.end_unseen(*own.written, ended->of);
    };
    if (code == 0)
      ending.visit([&](mpi::Handle request, const Status&) { end(request); });
    else
      ending.visit_gone(library_->request_null(), end);
    return code;
  }

  /// A call that ends requests, or receives a message.
  static int observe_ending(profile::Recorder& recorder, OwnThread& own, Frame& frame, const FunctionFacts& facts,
                            DescribedCall& known, profile::Call& call) {
    const Description& of = *frame.of;
    profile::Recorder::Thread& thread = *own.written;
    const EndingCall<Abi> ending(frame, facts.ending, memos_of(own).room());
    const KernelsOfCall kernels(recorder, on_gpu(call));
    call.begin = recorder.now();
    const int code = frame.call();
    call.end = recorder.now();
    // A drop-in speaks of the calls that began requests while these end.
    if (facts.ending == Ending::none) call.how = own.how;
    if (kernels.collects()) kernels.end({profile::class_of(call)});
    if (code == 0 && begun_) {
      ending.visit([&](mpi::Handle request, const Status& status) {
        if (request != library_->request_null()) end_request(recorder, thread, request, status, call);
      });
      if (of.flag != mpi::kAbsent) call.missed = *frame.pointer<int>(of.flag) == 0 ? 1 : 0;
      if (of.completed != mpi::kAbsent) call.missed = *frame.pointer<int>(of.completed) == 0 ? 1 : 0;
      if (facts.tells) {
        call.received = bytes_of(ending.status());
        if (facts.receives) call.peer = ending.status().source;
        count_received(recorder, thread, known.communicator, ending.status(), call.received, known.received);
      }
    } else {
      ending.visit_gone(library_->request_null(), [](mpi::Handle request) { requests_.forget(request); });
    }
    recorder.count_message(thread, known.to, true, call.bytes_in, known.sent);
    recorder.record(thread, call, known.sum);
    sample(recorder, own, call.end);
    return code;
  }

  static void sample(profile::Recorder& recorder, OwnThread& own, std::uint64_t now) {
    if (own.calls++ % Variables<Abi>::kCalls == 0) variables_.sample(recorder, now);
  }

  static std::uint64_t bytes_of(const Status& status) {
    // The quick question first, whose answer is an int.
    int few = 0;
    if (library_->call().get_count(&status, library_->byte(), &few) == 0 && few >= 0)
      return static_cast<std::uint64_t>(few);
    mpi::Count bytes = 0;
    const bool known = library_->call().get_elements_x(&status, library_->byte(), &bytes) == 0 && bytes > 0;
    return known ? static_cast<std::uint64_t>(bytes) : 0;
  }
  static void count_received(profile::Recorder& recorder, profile::Recorder::Thread& thread,
                             const KnownCommunicator* communicator, const Status& status, std::uint64_t bytes,
                             profile::Recorder::Found<profile::Peer>& found) {
    if (communicator != nullptr)
      recorder.count_message(thread, communicator->world_rank(status.source), false, bytes, found);
  }

  static void begin_request(profile::Recorder& recorder, profile::Recorder::Thread& thread, const Frame& frame,
                            const FunctionFacts& facts, const DescribedCall& known, const profile::Call& call) {
    const auto* const at = frame.pointer<const typename Abi::Request>(frame.of->request);
    if (at == nullptr || mpi::to_handle(*at) == library_->request_null()) return;
    const mpi::Handle request = mpi::to_handle(*at);
    Operation begun{.of = profile::class_of(call),
                    .begun = facts.prepares ? 0 : call.begin,
                    .bytes = std::max(call.bytes_in, call.bytes_out),
                    .communicator = known.communicator,
                    .to = known.to,
                    .receives = facts.receives,
                    .persistent = facts.prepares};
    if (facts.of_all && on_gpu(call)) {
      begun.is_collective = true;
      begun.took = static_cast<std::uint32_t>(std::min<std::uint64_t>(call.end - call.begin, UINT32_MAX));
      begun.gives = call.bytes_in != 0;
      begun.takes = call.bytes_out != 0;
      begun.at_once = call.at_once != 0;
    }
    const bool met = requests_.add(request, begun);
    if (met && request != shared_request_.load(std::memory_order_relaxed) && !is_complete(request))
      for (const Operation& older : requests_.end_unseen(request)) recorder.end_unseen(thread, older.of);
  }

  /// A request that has not ended has its handle alone.
  static bool is_complete(mpi::Handle request) {
    bool done = false;
    mpi::Received received;
    return library_->look_at(request, false, done, received) != 0 || done;
  }

  /// The handle of sends that have ended at once, if they all have one.
  static mpi::Handle find_shared_request() {
    mpi::Handle sent[2] = {library_->request_null(), library_->request_null()};
    for (mpi::Handle& one : sent)
      (void)library_->begin_send(library_->comm_world(), nullptr, 0, Abi::kProcNull, 0, one);
    const mpi::Handle shared = sent[0] == sent[1] ? sent[0] : library_->request_null();
    for (mpi::Handle& one : sent) {
      bool done = false;
      mpi::Received received;
      if (one != library_->request_null()) (void)library_->look_to_end(one, library_->comm_world(), done, received);
    }
    return shared;
  }

  static void end_request(profile::Recorder& recorder, profile::Recorder::Thread& thread, mpi::Handle request,
                          const Status& status, const profile::Call& by) {
    const auto of = requests_.end(request);
    if (!of) return;
    int cancelled = 0;
    if (of->cancelled && library_->call().test_cancelled(&status, &cancelled) == 0 && cancelled != 0) return;
    profile::Ended ended{.flight = by.end - of->begun, .waited = by.end - by.begin};
    if (of->receives) {
      ended.received = bytes_of(status);
      profile::Recorder::Found<profile::Peer> found;
      count_received(recorder, thread, of->communicator, status, ended.received, found);
    }
    profile::Class told = of->of;
    if (of->is_collective && told.how == 0 && own_thread.how != 0 && !own_thread.hows_differ) {
      told.how = own_thread.how;
      recorder.retell(thread, of->of, told,
                      {.bytes_in = of->gives ? of->bytes : 0,
                       .bytes_out = of->takes ? of->bytes : 0,
                       .time = of->took,
                       .at_once = of->at_once});
    }
    recorder.end_request(thread, told, ended);
  }

  /// Requests that are freed or cancelled: their handles may go with the call.
  static void before_requests(const Frame& frame, Entry entry) {
    if (!begun_ || (entry != Entry::Request_free && entry != Entry::Cancel)) return;
    const auto* const at = frame.pointer<const typename Abi::Request>(frame.of->request);
    if (at == nullptr) return;
    if (entry == Entry::Cancel)
      requests_.cancel(mpi::to_handle(*at));
    else
      requests_.forget(mpi::to_handle(*at));
  }
  /// Persistent ones that have started.
  static void after_requests(profile::Recorder& recorder, profile::Recorder::Thread& thread, const Frame& frame,
                             Entry entry, const profile::Call& call) {
    if (entry != Entry::Start && entry != Entry::Startall) return;
    const bool one = entry == Entry::Start;
    const auto* const at = frame.pointer<const typename Abi::Request>(one ? frame.of->request : frame.of->requests);
    const int count = one ? 1 : frame.number(frame.of->request_count);
    for (int i = 0; i < count; ++i)
      if (const auto of = requests_.start(mpi::to_handle(at[i]), call.begin)) {
        profile::Recorder::Found<profile::Peer> found;
        recorder.count_message(thread, of->to, true, of->bytes, found);
      }
  }

  /// What MPI says of levels: 1 is what there is without.
  static void begin_level(int level) { begin_phase(level == 1 ? std::string() : fmt::format("level {}", level)); }

  static int finalize(profile::Recorder& recorder, Frame& frame) {
    profile::Call call{};
    call.function = facts_[std::size_t(Entry::Finalize)].index;
    call.peer = call.tag = -1;
    call.begin = recorder.now();
    recorder.end_run(call.begin, profile::End::finalized);
    begun_ = false;
    ++epoch_;
    variables_.end();
    const int code = frame.call();
    call.end = recorder.now();
    recorder.record(call);
    return code;
  }

  /// By MPI_Init, or a first session, whatever `entry` is of these.
  static void begin_run(profile::Recorder& recorder, const Frame& frame, Entry entry, std::uint64_t time) {
    if (entry == Entry::Session_init) {
      if (begun_ && !session_world_.has_begun()) return;  // the program has MPI_COMM_WORLD
      const auto* const session = frame.pointer<const typename Abi::Session>(kSession);
      if (!session_world_.begin(*library_, mpi_, *session)) return;
      tell_job(recorder, session_world_.rank(), session_world_.size());
      begun_ = true;
      recorder.begin_run(time);
      return;
    }
    if (entry != Entry::Init && entry != Entry::Init_thread) return;
    mpi::CommShape world;
    if (library_->shape(library_->comm_world(), world) != 0) return;
    session_world_.end();
    tell_job(recorder, world.rank, world.size);
    shared_request_ = find_shared_request();
    begun_ = true;
    know(recorder, library_->comm_world());
    recorder.begin_run(time);
    const std::string patterns = environment("SENNIT_PROFILE_PVAR");
    variables_.begin(recorder, *library_, mpi_, patterns);
  }

  static void tell_job(profile::Recorder& recorder, int rank, int ranks) {
    recorder.header().rank = rank;
    recorder.header().ranks = ranks;
    const std::string_view flavours[] = {"MPI", "MPICH", "Open MPI"};
    profile::set(recorder.header().mpi, flavours[static_cast<std::size_t>(Abi::kFlavour)]);
  }

  static constexpr mpi::Argument kSession{2};                           ///< of MPI_Session_init
  static constinit inline std::atomic<mpi::Handle> shared_request_{0};  ///< see find_shared_request()
  static inline MpiMemory<Abi>& memory_ = *new MpiMemory<Abi>;
  static inline OpenRequests& requests_ = *new OpenRequests;
  static inline Variables<Abi>& variables_ = *new Variables<Abi>;
};

}  // namespace

}  // namespace sennit::shim::recorder

extern "C" __attribute__((visibility("default"))) int sennit_observe_mpi(const sennit_observation* observation) {
  using namespace sennit::shim;
  if (observation->entries != mpi::kEntries) return 1;
  switch (static_cast<mpi::Flavour>(observation->flavour)) {
    case mpi::Flavour::standard: return recorder::MpiRecorder<mpi::Standard>::begin(*observation) ? 0 : 1;
    case mpi::Flavour::mpich: return recorder::MpiRecorder<mpi::Mpich>::begin(*observation) ? 0 : 1;
    case mpi::Flavour::openmpi: return recorder::MpiRecorder<mpi::OpenMpi>::begin(*observation) ? 0 : 1;
  }
  return 1;
}
