// What calls of one ABI's MPI come to, from their arguments and the MPI's answers: remembered for equal calls
// (call_memo.h), as long as nothing is freed that they name.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "shim/mpi/abi/library.h"
#include "shim/mpi/call/message_size.h"
#include "shim/recorder/call_memo.h"
#include "shim/recorder/communicators.h"
#include "shim/recorder/function_facts.h"
#include "shim/recorder/process_profile.h"
#include "shim/recorder/rooted.h"
#include "shim/recorder/session_world.h"

namespace sennit::shim::recorder {

/// One in a process: an observer's functions have no object.
template <class Abi>
class MpiCalls {
 protected:
  using Description = mpi::Description;
  using Frame = mpi::Frame;

  /// `as_library`: the MPI as dlopen() names it.
  static void open(profile::Recorder& recorder, void* as_library, std::unique_ptr<mpi::Library<Abi>> library) {
    mpi_ = as_library;
    library_ = library.release();  // as long as the process: calls may come until its end
    for (std::size_t i = 0; i < mpi::kEntries; ++i)
      facts_[i] = facts_of(static_cast<mpi::Entry>(i), recorder.function(mpi::kDescriptions[i].name));
    for (const mpi::Predefined& one : mpi::kPredefined)
      if (one.kind == "type")
        if (const mpi::Handle type = mpi::Library<Abi>::predefined(one, as_library); type != 0)
          types_.try_emplace(type, recorder.type(one.name));
    derived_ = recorder.type("made by the program");
  }

  /// The handle that lies where the argument points.
  static mpi::Handle handle_at(const Frame& frame, mpi::Argument argument) {
    const auto* const at = frame.pointer<typename Abi::Comm>(argument);
    return at != nullptr ? mpi::to_handle(*at) : mpi::kNoHandle;
  }

  static KnownCommunicator* know(profile::Recorder& recorder, mpi::Handle handle) {
    if (handle == mpi::kNoHandle || handle == library_->comm_null()) return nullptr;
    mpi::CommShape shape;
    std::vector<int> members, world_ranks;
    if (library_->shape(handle, shape) != 0 || !find_ranks(handle, shape, members, world_ranks)) return nullptr;
    KnownCommunicator& known = communicators_.add(recorder, handle, shape, std::move(members), std::move(world_ranks),
                                                  library_->name(handle));
    ++epoch_;
    return &known;
  }

  /// The job's ranks of all of a communicator's processes, and of those that messages go to.
  static bool find_ranks(mpi::Handle handle, const mpi::CommShape& shape, std::vector<int>& members,
                         std::vector<int>& world_ranks) {
    if (!session_world_.has_begun()) {
      if (library_->all_world_ranks(handle, members) != 0) return false;
      if (library_->world_ranks(handle, world_ranks) != 0) world_ranks.clear();
      return true;
    }
    if (!session_world_.add_ranks(*library_, handle, shape.inter, world_ranks)) return false;
    if (shape.inter && !session_world_.add_ranks(*library_, handle, false, members)) return false;
    members.insert(members.end(), world_ranks.begin(), world_ranks.end());
    return true;
  }

  static KnownCommunicator* find_or_know(profile::Recorder& recorder, mpi::Handle handle) {
    KnownCommunicator* const found = communicators_.find(handle);
    return found != nullptr ? found : know(recorder, handle);
  }

  /// Before the call: once it has returned, another thread may get a new thing with the same handle.
  static void free_handle(const Frame& frame) {
    if (begun_ && frame.of->freed != mpi::kAbsent) communicators_.forget(handle_at(frame, frame.of->freed));
    ++epoch_;
  }

  /// The call as one before with the same arguments, or described anew.
  static CallMemos::Memo& described(profile::Recorder& recorder, const Frame& frame, const FunctionFacts& facts,
                                    CallMemos& memos) {
    if (!begun_ || !facts.deciding.are_few()) {
      CallMemos::Memo& memo = memos.unkept();
      describe(recorder, frame, facts, memo);
      return memo;
    }
    DecidingArguments::Key key;
    facts.deciding.read(
        frame, [](const void* address) { return address == nullptr               ? 1u
                                                : library_->is_in_place(address) ? 2u
                                                                                 : 0u; },
        key);
    bool is_new = false;
    CallMemos::Memo& memo = memos.find(facts.deciding, std::size_t(mpi::entry_of(*frame.of)),
                                       epoch_.load(std::memory_order_relaxed), key, is_new);
    if (is_new) describe(recorder, frame, facts, memo);
    return memo;
  }

  /// Reads what the call's arguments say.
  static void describe(profile::Recorder& recorder, const Frame& frame, const FunctionFacts& facts,
                       CallMemos::Memo& memo) {
    const Description& of = *frame.of;
    DescribedCall& made = memo.described;
    profile::Call& call = made.call;
    call.function = facts.index;
    call.peer = call.tag = -1;
    if (!begun_) return;
    const mpi::Handle comm = frame.handle(of.comm);
    if (of.comm != mpi::kAbsent) {
      made.communicator = communicators_.find(comm);
      if (made.communicator == nullptr) {
        made.communicator = know(recorder, comm);  // made where nobody looked
        memo.epoch = 0;
      }
    }
    if (made.communicator != nullptr) call.communicator = made.communicator->index;
    if (of.op != mpi::kAbsent) call.reduction = reduction_of(library_->op(frame.handle(of.op)));
    for (const mpi::Argument peer : {of.root, of.dest, of.source, of.target_rank})
      if (peer != mpi::kAbsent && call.peer < 0) call.peer = frame.number(peer);
    if (of.buffers == 0 || (of.comm != mpi::kAbsent && made.communicator == nullptr)) return;
    const mpi::Handle without = session_world_.has_begun() ? library_->comm_null() : library_->comm_world();
    const mpi::Call described = frame.describe(*library_, of.comm != mpi::kAbsent ? comm : without,
                                               made.communicator != nullptr ? &made.communicator->shape : nullptr);
    const std::uint64_t bytes = mpi::message_size(described);
    for (const mpi::Part& part : described.all())
      if (call.type == 0 && part.elements.type != mpi::kNoHandle) call.type = type_of(part.elements.type);
    call.in_place = described.in_place() ? 1 : 0;
    const Rooted rooted = rooted_of(mpi::kFamilyNames[static_cast<std::size_t>(of.family)]);
    const Sides sides = sides_of(rooted, role_in(described));
    const bool has_lengths = of.family == mpi::Family::Gatherv || of.family == mpi::Family::Scatterv;
    mpi::Elements last;  // of the only buffer, where the call is in place
    for (std::size_t i = 0; i < of.buffers; ++i) {
      const mpi::Part& part = described.parts[i];
      if (!part.used() || library_->is_in_place(part.address)) continue;
      last = part.elements;
      const std::uint64_t of_side = has_lengths ? bytes_of(described, part.elements) : bytes;
      if (part.access != mpi::Access::out && sides.gives && made.input == mpi::kAbsent) {
        made.input = of.buffer[i].address;
        call.bytes_in = of_side;
      }
      if (part.access != mpi::Access::in && sides.takes && made.output == mpi::kAbsent) {
        made.output = of.buffer[i].address;
        call.bytes_out = of_side;
      }
    }
    if (call.in_place != 0 && (made.input == mpi::kAbsent) != (made.output == mpi::kAbsent)) {
      std::uint64_t& missing = made.input == mpi::kAbsent ? call.bytes_in : call.bytes_out;
      missing = std::max(call.bytes_in, call.bytes_out);
      if (has_lengths) {  // its own block
        last.count = last.count_of(described.place().rank);
        last.counts = last.places = {};
        last.blocks = 1;
        missing = bytes_of(described, last);
      }
    }
    if (made.communicator == nullptr) return;
    if (facts.sends) made.to = made.communicator->world_rank(frame.number(of.dest));
  }

  static Role role_in(const mpi::Call& call) {
    if (call.at_root(call.root)) return call.place().inter ? Role::root_of_others : Role::root;
    return call.place().inter && call.root == Abi::kProcNull ? Role::apart : Role::other;
  }

  static std::uint64_t bytes_of(const mpi::Call& call, const mpi::Elements& elements) {
    mpi::Call alone(call.mpi, call.family, call.form, call.comm);
    alone.know(call.place());
    alone.add({.address = &alone, .elements = elements});
    return mpi::message_size(alone);
  }

  static std::uint16_t type_of(mpi::Handle type) {
    const auto found = types_.find(type);
    return found != types_.end() ? found->second : derived_;
  }

  static constinit inline const mpi::Library<Abi>* library_ = nullptr;
  static constinit inline void* mpi_ = nullptr;  ///< as dlopen() names it
  static constinit inline std::array<FunctionFacts, mpi::kEntries> facts_{};
  static inline std::unordered_map<mpi::Handle, std::uint16_t>& types_ =  // never destroyed, as the recorder
      *new std::unordered_map<mpi::Handle, std::uint16_t>;
  static constinit inline std::uint16_t derived_ = 0;            ///< the name of all other types
  static constinit inline std::atomic<bool> begun_{false};       ///< MPI answers
  static constinit inline std::atomic<std::uint64_t> epoch_{1};  ///< see CallMemos
  static inline SessionWorld<Abi>& session_world_ = *new SessionWorld<Abi>;
  static inline KnownCommunicators& communicators_ = *new KnownCommunicators;
};

}  // namespace sennit::shim::recorder
