// The calls of a communicator that end in a request, at one rank, until each has begun in earnest. No such call may
// wait for other ranks, and only when all have come to it is it known whether sennit does it (board.h); so it waits
// here for its turn, and the program gets a request that stands for it.
//
// 1. join(): the call is said on the board as soon as there is room, behind those before it.
// 2. The first one: when the answer is known, sennit begins it; or the real function is called, whose request is
//    hidden behind the one that the program has. So the real functions are called in the program's order, as MPI
//    demands; a call of host memory therefore waits behind others too, and costs nothing more where none waits.
// 3. Whoever makes a call that may wait for other ranks lets all of these begin before.
//
// sennit does one of them at a time: kernels that wait for their peers could stand in each other's way where several
// communicators have several in flight (one that waits for the one before it holds up another stream's behind it).
//
// What needs no MPI may be moved by a thread of our own too, so that a rank that computes keeps nobody waiting. Not
// thread-safe: its owner locks.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "base/status.h"

namespace sennit::shim::mpi {

/// Who moves calls on: the program, inside a call of MPI, or a thread that must not call MPI.
enum class Mover : std::uint8_t { program, helper };

/// One such call.
class Turn {
 public:
  enum class Kind : std::uint8_t {
    offered,    ///< sennit can do it, if all ranks can
    passed,     ///< this rank cannot
    uncounted,  ///< a call that no board counts, which has to keep the order
  };

  explicit Turn(Kind of_kind) : kind(of_kind) {}
  virtual ~Turn() = default;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  /// Calls the real function. Never by a helper.
  virtual void call_real() = 0;
  /// Lets sennit begin it, and whether it has ended. Errors: those of Counterpart::begin and ended.
  virtual Status begin() = 0;
  virtual Result<bool> ended() = 0;
  /// It is over, with this.
  virtual void end(const Status& status) = 0;

  const Kind kind;
  std::uint32_t signature = 0;  ///< of one that is offered (signature.h)
  std::uint64_t number = 0;     ///< on the board
  std::optional<bool> all;      ///< whether all ranks offered it
};

/// What a communicator's calls need of it.
class TurnsTable {
 public:
  virtual ~TurnsTable() = default;
  /// As Board::begin, pass, answer, looked. Errors: some ranks never come, or give other things (mismatch).
  virtual std::optional<std::uint64_t> begin(std::uint32_t signature) = 0;
  virtual void pass() = 0;
  virtual Result<std::optional<bool>> answer(std::uint64_t number) = 0;
  virtual void looked(std::uint64_t number) = 0;
  /// Whether sennit has a communicator beside this one to do `first` with, which all ranks offered; none while it is
  /// being made. Errors: as answer().
  virtual Result<std::optional<bool>> able(Turn& first) = 0;
};

class Turns {
 public:
  /// Whether none waits for its turn.
  bool empty() const { return waiting_.empty(); }
  /// Whether one waits, or sennit is doing one.
  bool active() const { return !waiting_.empty() || doing_ != nullptr; }

  void join(std::shared_ptr<Turn> turn) { waiting_.push_back(std::move(turn)); }
  /// Moves on what can be; never waits.
  void move(TurnsTable& table, Mover mover);

 private:
  void say(TurnsTable& table);
  /// Whether sennit does the first one; none while that is not known. Errors: nobody can do it.
  Result<std::optional<bool>> decide(Turn& first, TurnsTable& table);

  std::deque<std::shared_ptr<Turn>> waiting_;
  std::size_t said_ = 0;         // of those
  std::shared_ptr<Turn> doing_;  // sennit does it
};

}  // namespace sennit::shim::mpi
