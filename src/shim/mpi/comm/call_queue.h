// Holds the calls of a communicator that end in a request, at one rank, until each has really begun. No such call may
// wait for other ranks, and only when all have come to it is it known whether sennit does it (collective_vote.h); so
// it waits here, and the program gets a request that stands for it.
//
// 1. enqueue(): this rank votes on the call as soon as there is room, behind those before it.
// 2. The first one: when the answer is known, sennit begins it; or the real function is called, whose request is
//    hidden behind the one that the program has. So the real functions are called in the program's order, as MPI
//    demands; a call of host memory therefore waits behind others too, and costs nothing more where none waits.
// 3. Whoever makes a call that may wait for other ranks lets all of these begin before.
//
// sennit does one of them at a time: kernels that wait for their peers could stand in each other's way where several
// communicators have several in flight (one that waits for the one before it holds up another stream's behind it).
//
// A thread of our own may move what needs no MPI, too, so that a rank that computes keeps no other waiting. Not
// thread-safe: its owner locks.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "base/status.h"

namespace sennit::shim::mpi {

/// Says who moves calls on: the program, inside a call of MPI, or a thread that must not call MPI.
enum class Mover : std::uint8_t { program, progress_thread };

/// A call in such a queue.
class QueuedCall {
 public:
  enum class Kind : std::uint8_t {
    offered,    ///< sennit can do it, if all ranks can
    passed,     ///< this rank cannot
    uncounted,  ///< a call that no vote counts, which has to keep the order
  };

  explicit QueuedCall(Kind of_kind) : kind(of_kind) {}
  virtual ~QueuedCall() = default;
  QueuedCall(const QueuedCall&) = delete;
  QueuedCall& operator=(const QueuedCall&) = delete;

  /// Calls the real function. The progress thread never does so.
  virtual void call_real() = 0;
  /// Lets sennit begin it, and whether it has ended. Errors: those of Communicator::begin and ended.
  virtual Status begin() = 0;
  virtual Result<bool> ended() = 0;
  /// It is over, with this.
  virtual void end(const Status& status) = 0;

  const Kind kind;
  std::uint32_t signature = 0;  ///< of one that is offered (signature.h)
  std::uint64_t number = 0;     ///< in the vote
  std::optional<bool> all;      ///< whether all ranks offered it
};

/// Provides the votes that a communicator's queue needs.
class QueueVotes {
 public:
  virtual ~QueueVotes() = default;
  /// These do as CollectiveVote's begin, vote_no, outcome and looked. Errors: some ranks never come, or give other
  /// things (mismatch).
  virtual std::optional<std::uint64_t> begin(std::uint32_t signature) = 0;
  virtual void vote_no() = 0;
  virtual Result<std::optional<bool>> outcome(std::uint64_t number) = 0;
  virtual void looked(std::uint64_t number) = 0;
  /// Returns whether sennit has a communicator beside this one to do `first` with, which all ranks offered; no value
  /// while it is being made. Errors: as outcome().
  virtual Result<std::optional<bool>> able(QueuedCall& first) = 0;
};

class CallQueue {
 public:
  /// Returns whether no call waits.
  bool empty() const { return waiting_.empty(); }
  /// Returns whether one waits, or sennit is doing one.
  bool active() const { return !waiting_.empty() || doing_ != nullptr; }

  void enqueue(std::shared_ptr<QueuedCall> call) { waiting_.push_back(std::move(call)); }
  /// Moves on what can be; never waits.
  void move(QueueVotes& table, Mover mover);

 private:
  void say(QueueVotes& table);
  /// Returns whether sennit does the first call; no value while that is not known. Errors: it can be done neither
  /// way.
  Result<std::optional<bool>> decide(QueuedCall& first, QueueVotes& table);

  std::deque<std::shared_ptr<QueuedCall>> waiting_;
  std::size_t said_ = 0;               // of those
  std::shared_ptr<QueuedCall> doing_;  // sennit does it
};

}  // namespace sennit::shim::mpi
