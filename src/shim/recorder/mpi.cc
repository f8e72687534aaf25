// The observer of MPI's calls: each becomes one record of the profile. What a record needs of the call's arguments is
// read before the call, which may free them; the clock is read next to the call itself.
#include <cstring>
#include <type_traits>

#include "shim/front/front.h"
#include "shim/mpi/abi/library.h"
#include "shim/mpi/call/message_size.h"
#include "shim/mpi/call/observing.h"
#include "shim/recorder/communicators.h"
#include "shim/recorder/process_profile.h"

namespace sennit::shim::recorder {

namespace {

/// What is written of each function, found once.
struct FunctionFacts {
  std::uint16_t index = 0;
  bool of_all = false;                   ///< a collective call, not one that is only prepared
  bool sends = false, receives = false;  ///< messages, as this rank's
};

template <class Abi>
class MpiRecorder {
  using Description = mpi::Description;
  using Entry = mpi::Entry;
  using Frame = mpi::Frame;
  using Kind = mpi::Kind;

 public:
  static bool begin(const sennit_observation& observation) {
    profile::Recorder* const recorder = begin_profile();
    auto library = mpi::Library<Abi>::open(observation.library);
    if (recorder == nullptr || library == nullptr) return false;
    library_ = library.release();  // as long as the process: calls may come until its end
    for (std::size_t i = 0; i < mpi::kEntries; ++i) {
      const Description& of = mpi::kDescriptions[i];
      const bool runs = of.form != mpi::Form::persistent;
      facts_[i] = {recorder->function(of.name), runs && is_of_all(of),
                   runs && (of.kind == Kind::send || of.kind == Kind::exchange), runs && of.kind == Kind::receive};
    }
    mpi::Observing<Abi, MpiRecorder>::begin(observation);
    return true;
  }

  static int observe(Frame& frame) {
    profile::Recorder* const recorder = current_profile();
    const InCall in_call;
    if (recorder == nullptr || !in_call.outermost()) return frame.call();
    const Entry entry = mpi::entry_of(*frame.of);
    if (entry == Entry::Finalize) return finalize(*recorder, frame);
    profile::Call call{};
    call.function = facts_[std::size_t(entry)].index;
    call.peer = call.tag = -1;
    call.at_once = in_call.others();
    const mpi::Handle freed =
        frame.of->freed != mpi::kAbsent && begun_ ? handle_at(frame, frame.of->freed) : mpi::kNoHandle;
    if (begun_) describe(*recorder, frame, facts_[std::size_t(entry)], call);
    call.begin_ns = profile::now_ns();
    const int code = frame.call();
    call.end_ns = profile::now_ns();
    if (entry == Entry::Init || entry == Entry::Init_thread) begin_run(*recorder, call.end_ns);
    if (code == 0 && begun_) {
      if (freed != mpi::kNoHandle) communicators_.forget(freed);
      if (frame.of->made != mpi::kAbsent && !is_window(*frame.of)) know(*recorder, handle_at(frame, frame.of->made));
    }
    recorder->record(call);
    return code;
  }

 private:
  static bool is_of_all(const Description& of) {
    return of.kind == Kind::collective || of.kind == Kind::neighbor || std::strcmp(of.name, "MPI_Barrier") == 0 ||
           std::strcmp(of.name, "MPI_Ibarrier") == 0;
  }
  static bool is_window(const Description& of) { return std::strncmp(of.name, "MPI_Win_", 8) == 0; }

  /// The handle that lies where the argument points.
  static mpi::Handle handle_at(const Frame& frame, mpi::Argument argument) {
    const auto* const at = frame.pointer<typename Abi::Comm>(argument);
    return at != nullptr ? mpi::to_handle(*at) : mpi::kNoHandle;
  }

  static int finalize(profile::Recorder& recorder, Frame& frame) {
    profile::Call call{};
    call.function = facts_[std::size_t(Entry::Finalize)].index;
    call.peer = call.tag = -1;
    call.begin_ns = profile::now_ns();
    recorder.end_run(call.begin_ns, profile::End::finalized);
    begun_ = false;
    const int code = frame.call();
    call.end_ns = profile::now_ns();
    recorder.record(call);
    return code;
  }

  static void begin_run(profile::Recorder& recorder, std::uint64_t ns) {
    mpi::CommShape world;
    if (library_->shape(library_->comm_world(), world) != 0) return;
    recorder.header().rank = world.rank;
    recorder.header().ranks = world.size;
    const std::string_view flavours[] = {"MPI", "MPICH", "Open MPI"};
    const std::string_view flavour = flavours[static_cast<std::size_t>(Abi::kFlavour)];
    profile::set(recorder.header().mpi, flavour);
    begun_ = true;
    know(recorder, library_->comm_world());
    recorder.begin_run(ns);
  }

  static KnownCommunicator* know(profile::Recorder& recorder, mpi::Handle handle) {
    if (handle == mpi::kNoHandle || handle == library_->comm_null()) return nullptr;
    mpi::CommShape shape;
    std::vector<int> members, world_ranks;
    if (library_->shape(handle, shape) != 0 || library_->all_world_ranks(handle, members) != 0) return nullptr;
    if (library_->world_ranks(handle, world_ranks) != 0) world_ranks.clear();
    return &communicators_.add(recorder, handle, static_cast<std::uint32_t>(shape.rank), std::move(members),
                               std::move(world_ranks), library_->name(handle));
  }

  /// Reads what the call's arguments say.
  static void describe(profile::Recorder& recorder, const Frame& frame, const FunctionFacts& facts,
                       profile::Call& call) {
    const Description& of = *frame.of;
    const mpi::Handle comm = frame.handle(of.comm);
    KnownCommunicator* communicator = nullptr;
    if (of.comm != mpi::kAbsent) {
      communicator = communicators_.find(comm);
      if (communicator == nullptr) communicator = know(recorder, comm);  // made where nobody looked
    }
    if (communicator != nullptr) {
      call.communicator = communicator->index;
      if (facts.of_all) call.sequence = communicator->next_call();
    }
    if (of.tag != mpi::kAbsent) call.tag = frame.number(of.tag);
    if (of.op != mpi::kAbsent) {
      call.reduction = reduction_of(library_->op(frame.handle(of.op)));
    }
    for (const mpi::Argument peer : {of.root, of.dest, of.source, of.target_rank})
      if (peer != mpi::kAbsent && call.peer < 0) call.peer = frame.number(peer);
    if (of.buffers == 0 || (of.comm != mpi::kAbsent && communicator == nullptr)) return;
    const mpi::Call described = frame.describe(*library_, of.comm != mpi::kAbsent ? comm : library_->comm_world());
    const std::uint64_t bytes = mpi::message_size(described);
    call.in_place = described.in_place() ? 1 : 0;
    for (const mpi::Part& part : described.all()) {
      if (!part.used()) continue;
      const profile::Memory memory = memory_of(part.address);
      if (part.access != mpi::Access::out && call.memory_in == profile::Memory::absent) {
        call.memory_in = memory;
        call.bytes_in = bytes;
      }
      if (part.access != mpi::Access::in && call.memory_out == profile::Memory::absent) {
        call.memory_out = memory;
        call.bytes_out = bytes;
      }
    }
    if (call.in_place != 0 && call.memory_in == profile::Memory::absent) {
      call.memory_in = call.memory_out;
      call.bytes_in = call.bytes_out;
    }
    if (communicator != nullptr && facts.sends)
      recorder.count_message(communicator->world_rank(frame.number(of.dest)), true, bytes);
    if (communicator != nullptr && facts.receives)
      recorder.count_message(communicator->world_rank(frame.number(of.source)), false, bytes);
  }

  static constinit inline const mpi::Library<Abi>* library_ = nullptr;
  static constinit inline std::array<FunctionFacts, mpi::kEntries> facts_{};
  static constinit inline std::atomic<bool> begun_{false};                     ///< MPI answers
  static inline KnownCommunicators& communicators_ = *new KnownCommunicators;  // never destroyed, as the recorder
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
