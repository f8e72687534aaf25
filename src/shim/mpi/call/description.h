// A description tells which argument of a function of MPI is what, and what memory a call touches. generate.py writes
// the table of them from functions.txt; entering.h, observing.h and frame.cc read it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "shim/mpi/call/call.h"

namespace sennit::shim::mpi {

/// The kind of a function decides how its calls are carried out; functions.txt says what each kind means. From `own`
/// on there is no generated wrapper.
enum class Kind : std::uint8_t {
  collective,
  neighbor,
  send,
  receive,
  exchange,
  local,
  file,
  split,
  partitioned,
  rma,
  maker,
  grouped,
  filed,
  own,
  requests,
  counted,
  watched,
  host,
  left,
  used,
};

/// An argument's number; kAbsent: the function has none of this meaning.
using Argument = std::int8_t;
inline constexpr Argument kAbsent = -1;
inline constexpr std::size_t kMostArguments = 16;
inline constexpr Entry kNoEntry = Entry{0xffff};

/// Says how a function's arguments describe the elements of a buffer.
enum class Layout : std::uint8_t {
  one,     ///< one element of the type
  bytes,   ///< `count` bytes
  equal,   ///< `count` elements of the type in each block
  own,     ///< as many as the array `count` has for this rank
  packed,  ///< as many in each block as the array `count` says, one block behind the other
  placed,  ///< the same, each block at its place
  typed,   ///< the same, each of a type of its own, places in bytes
};
/// Says for whom a buffer has blocks; `nobody`: it is one block.
enum class Blocks : std::uint8_t { nobody, members, ranks, sources, destinations, partitions };
/// Says at which ranks a buffer is significant.
enum class Where : std::uint8_t { everywhere, at_root, but_root };

struct ElementsOf {
  Layout layout = Layout::equal;
  Argument count = kAbsent, places = kAbsent, type = kAbsent;
  Blocks blocks = Blocks::nobody;
  bool wide_places = false;  ///< MPI_Aint, else int
};

struct BufferOf {
  Argument address = kAbsent;
  Access access = Access::in;
  Where where = Where::everywhere;
  ElementsOf elements;
  bool differs_in_place = false;  ///< where the other buffer is MPI_IN_PLACE, `in_place` describes this one
  ElementsOf in_place{};
};

struct Description {
  const char* name = "";  ///< "MPI_Allreduce"
  Kind kind{};
  Family family{};
  Form form{};
  bool large = false;             ///< counts are MPI_Count (MPI 4.0)
  bool all_of_file = false;       ///< it may wait for all ranks of a file
  bool request_is_value = false;  ///< `request` is a handle, not where one is
  Entry nonblocking = kNoEntry;   ///< of a message that another rank may wait for: the form that ends in a request
  Entry synchronous = kNoEntry;   ///< of a send that ends in a request: MPI_Issend, with the same arguments
  Entry small = kNoEntry;         ///< of one with large counts: the one without
  Argument comm = kAbsent, op = kAbsent, root = kAbsent, dest = kAbsent, source = kAbsent, tag = kAbsent;
  Argument send_tag = kAbsent;  ///< of what is sent, where `tag` is that of what is received
  Argument request = kAbsent, status = kAbsent, message = kAbsent, file = kAbsent, window = kAbsent;
  Argument group = kAbsent, peer_comm = kAbsent, local_leader = kAbsent, remote_leader = kAbsent;
  Argument partitions = kAbsent, target_rank = kAbsent, target_place = kAbsent, target_count = kAbsent;
  Argument target_type = kAbsent;
  Argument made = kAbsent, freed = kAbsent;  ///< where a new communicator or window is put, or the one is that goes
  /// These belong to functions that end requests: several of them, or their states; how many ended, and which.
  Argument requests = kAbsent, request_count = kAbsent, statuses = kAbsent, flag = kAbsent, completed = kAbsent;
  Argument indices = kAbsent;
  Argument position = kAbsent;  ///< an integer that MPI_Pack and MPI_Unpack read and write
  std::uint32_t wide = 0;       ///< bits of the other integers that are `int` in `small`
  std::uint8_t buffers = 0;
  std::array<BufferOf, 3> buffer{};

  constexpr bool blocks_all() const { return kind == Kind::collective && form == Form::blocking; }
  constexpr bool takes_turns() const {
    return (kind == Kind::collective || kind == Kind::neighbor) && form == Form::nonblocking;
  }
  /// Returns whether all ranks must have come before the MPI gets the call, since it alone carries it out.
  constexpr bool comes_first() const {
    const bool of_all = kind == Kind::collective || kind == Kind::neighbor;
    return (of_all && !takes_turns() && !blocks_all()) || all_of_file || is_without_memory();
  }
  constexpr bool is_without_memory() const {
    return kind == Kind::maker || kind == Kind::grouped || kind == Kind::filed;
  }
  /// Returns the argument of a request or a status, which the program's call may get another one of.
  constexpr Argument tail() const { return request != kAbsent ? request : status; }
};

#include "descriptions.inc"

constexpr const Description& description_of(Entry entry) {
  return kDescriptions[static_cast<std::size_t>(entry)];
}
/// Returns the function that a description is of: one of the table.
inline Entry entry_of(const Description& of) {
  return static_cast<Entry>(&of - kDescriptions.data());
}

}  // namespace sennit::shim::mpi
