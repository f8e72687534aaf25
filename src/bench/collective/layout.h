// Says where a rank's messages lie in its two buffers, and which of them it should find there afterwards. Pure.
#pragma once

#include "coll/operation.h"

namespace sennit::bench::collective {

struct Layout {
  coll::Operation operation = coll::Operation::allreduce;
  int rank = 0, size = 1;
  bool in_place = false;      ///< one buffer
  std::uint64_t message = 0;  ///< bytes that one rank gives another, or all of them

  static constexpr int kRoot = 0;

  /// `bytes` as nccl-tests counts them: of the larger buffer of any rank. Rounded down to whole elements of `width`
  /// for every rank.
  Layout(coll::Operation what, std::uint64_t bytes, unsigned width, bool same_buffer, int who, int ranks)
      : operation(what),
        rank(who),
        size(ranks),
        in_place(same_buffer && coll::works_in_place(what)),
        message(bytes / (width * parts(what, ranks)) * width) {}

  /// Returns the number of messages in the larger buffer.
  static unsigned parts(coll::Operation operation, int size) {
    return coll::gathers(operation) || coll::scatters(operation) ? static_cast<unsigned>(size) : 1;
  }
  /// Returns the bytes that a call's plan is chosen by.
  std::uint64_t planned_bytes() const { return operation == coll::Operation::all_to_all_v ? 0 : message; }
  std::uint64_t bytes() const { return message * parts(operation, size); }

  /// Returns the number of messages that this rank gives; taken(): that it gets.
  unsigned given() const {
    if (!coll::gives(operation, rank == kRoot)) return 0;
    return coll::scatters(operation) ? static_cast<unsigned>(size) : 1;
  }
  unsigned taken() const {
    if (!coll::takes(operation, rank == kRoot)) return 0;
    return coll::gathers(operation) ? static_cast<unsigned>(size) : 1;
  }
  /// Returns where the first of the messages begins in the input; output_at(): in the output.
  std::uint64_t input_at() const { return in_place && coll::gathers(operation) ? own() : 0; }
  std::uint64_t output_at() const { return in_place && coll::scatters(operation) ? own() : 0; }

  /// Returns the number of the message that `from` gives to `to`: tells what is in it.
  unsigned number(int from, int to) const {
    return static_cast<unsigned>(from * size + (coll::scatters(operation) ? to : 0));
  }
  /// Returns the rank whose message is at place `index` of the output; where the operation reduces, it is of all
  /// ranks (for one `to`).
  int source(unsigned index) const {
    if (operation == coll::Operation::sendrecv) return (rank + size - 1) % size;
    return taken() > 1 ? static_cast<int>(index) : kRoot;
  }

  /// Returns the factor that nccl-tests multiplies size / time with, so that the result compares with a link.
  double bus_factor() const {
    switch (operation) {
      case coll::Operation::allreduce: return 2.0 * (size - 1) / size;
      case coll::Operation::broadcast:
      case coll::Operation::reduce:
      case coll::Operation::sendrecv: return 1;
      default: return double(size - 1) / size;
    }
  }

 private:
  std::uint64_t own() const { return static_cast<unsigned>(rank) * message; }
};

}  // namespace sennit::bench::collective
