// Describes one thing that is measured, and where a rank's messages lie in its two buffers meanwhile. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bench/mpi/operation.h"
#include "bench/mpi/part.h"

namespace sennit::bench::mpi {

/// Says where the two sides of a message, or of a one-sided call, have their buffers; all ranks of a collective have
/// theirs where the first side has. Managed memory is on all sides.
enum class Buffers { gpu, host, gpu_host, host_gpu, managed };
std::string_view name(Buffers buffers);
/// Errors: invalid_argument.
Result<Buffers> parse_buffers(std::string_view text);
/// Returns whether the side that sends first (or the one that receives) has GPU memory.
constexpr bool on_gpu(Buffers buffers, bool first) {
  return buffers == Buffers::gpu || buffers == (first ? Buffers::gpu_host : Buffers::host_gpu);
}
constexpr bool any_gpu(Buffers buffers) {
  return buffers != Buffers::host;
}

/// Says what carries the messages of an exchange.
enum class Over { mpi, nccl };
constexpr std::string_view name(Over over) {
  return over == Over::nccl ? "nccl" : "mpi";
}

/// `bytes`: of one message, as the OSU benchmarks count them: what one rank gives another, or the root, or all.
struct Case {
  Operation operation = Operation::latency;
  Buffers buffers = Buffers::host;
  std::uint64_t bytes = 0;
  int window = 1;  ///< messages in flight
  bool in_place = false;
  Style style = Style::blocking;
  std::shared_ptr<const Pattern> pattern = nullptr;  ///< of an exchange; null of all others
  Over over = Over::mpi;

  Benchmark benchmark() const { return {operation, style}; }
  /// Counts the messages of one call that follow each other, and share its time.
  int messages() const { return is_ping_pong(operation) ? 2 : window; }
  bool operator==(const Case&) const = default;
};
/// "bandwidth of 4 KiB, window 64, gpu buffers".
std::string describe(const Case& what);

struct Layout {
  Case what;
  int rank = 0, size = 1;
  int nodes = 1;                               ///< that ranks are taken for
  std::shared_ptr<const Part> part = nullptr;  ///< of an exchange: what this rank sends and receives

  static constexpr int kRoot = 0;
  static constexpr int kNobody = -1;

  int pairs() const { return has_pairs(what.operation) ? size / 2 : 1; }
  /// Returns the rank at the other end of a message.
  int peer() const {
    if (rank < pairs()) return rank + pairs();
    return rank < 2 * pairs() ? rank - pairs() : kNobody;
  }
  bool is_first() const { return is_of_two(what.operation) ? rank < pairs() : true; }
  /// Returns whether this rank makes the one-sided call; is_target(): whether the call reaches this rank's memory.
  bool is_caller() const {
    return is_one_sided(what.operation) && peer() != kNobody && (is_first() || is_bidirectional(what.operation));
  }
  bool is_target() const {
    return is_one_sided(what.operation) && peer() != kNobody && (!is_first() || is_bidirectional(what.operation));
  }
  /// Returns the number of ranks on either side in a ring, of which two ranks have one.
  int neighbours() const { return size == 2 ? 1 : 2; }
  int neighbour(int index) const { return (rank + (index == 0 ? size - 1 : 1)) % size; }
  bool on_gpu() const { return mpi::on_gpu(what.buffers, is_first()); }

  /// Returns the number of messages that this rank gives in one call; taken(): that it gets.
  unsigned given() const;
  unsigned taken() const;
  /// Returns how many ranks, the first ones, go into what this rank gets, where the operation reduces.
  int contributors() const;
  /// Returns where the message at place `index` lies, from the first of those given, or taken.
  Piece piece_given(unsigned index) const {
    return part ? part->sent[index].piece : Piece{index * what.bytes, what.bytes};
  }
  Piece piece_taken(unsigned index) const {
    return part ? part->received[index].piece : Piece{index * what.bytes, what.bytes};
  }
  std::uint64_t input_bytes() const { return part ? part->sent_bytes() : given() * what.bytes; }
  std::uint64_t output_bytes() const { return part ? part->received_bytes() : taken() * what.bytes; }

  /// Returns whether input and output are in one buffer: they are in place, and always in a bcast.
  bool one_buffer() const { return what.in_place || what.operation == Operation::bcast; }
  /// Returns where the first of the messages given begins: in place a rank's own lies where it is to stay.
  std::uint64_t input_at() const {
    return what.in_place && gathers(what.operation) ? static_cast<unsigned>(rank) * what.bytes : 0;
  }
  /// Returns the bytes of the larger of the buffers of any rank.
  static std::uint64_t room(const Case& what, int ranks);

  /// Returns the number that tells the contents of the message that this rank gives at place `index`. number_taken()
  /// returns that of the message that comes at place `index`: where the operation reduces, of `from`'s message that
  /// goes into it.
  unsigned number_given(unsigned index) const { return part ? part->sent[index].number : number(rank, index); }
  unsigned number_taken(unsigned index, int from) const;
  /// Returns the rank whose message comes at place `index`, where nothing is reduced.
  int source(unsigned index) const;

 private:
  unsigned number(int from, unsigned index) const;
  /// Returns the number of messages that a rank which scatters or gathers has to do with.
  unsigned others() const { return static_cast<unsigned>(is_of_neighbours(what.operation) ? neighbours() : size); }
};

}  // namespace sennit::bench::mpi
