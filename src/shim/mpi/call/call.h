// Describes one call of a function of MPI that has GPU memory among its buffers, in words that are the same for every
// ABI and every form. The generated wrappers make these.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/function_ref.h"
#include "shim/mpi/abi/handle.h"
#include "shim/mpi/abi/mpi.h"
#include "shim/mpi/abi/table.h"

namespace sennit::shim::mpi {

enum class Form : std::uint8_t { blocking, nonblocking, persistent };
/// A function of MPI: MPI_Isend is Send in its non-blocking form.
struct Function {
  Family family{};
  Form form = Form::blocking;
};
enum class Access : std::uint8_t { in, out, both };

/// An array of counts or places: int, or as wide as the large forms have them.
struct Integers {
  const void* data = nullptr;
  bool wide = false;
  std::int64_t operator[](int index) const {
    return wide ? static_cast<const std::int64_t*>(data)[index] : static_cast<const int*>(data)[index];
  }
};

/// Says what a call touches of a buffer: `blocks` runs of elements, one behind the other unless places are given.
struct Elements {
  int blocks = 1;
  std::int64_t count = 0;          ///< of each block, where there are no counts
  Integers counts;                 ///< of every block
  Integers places;                 ///< of every block, in extents of the type, or bytes where types differ
  Handle type = kNoHandle;         ///< kNoHandle: bytes
  const void* types = nullptr;     ///< every block's own, where they differ
  bool types_are_pointers = true;  ///< else ints

  std::int64_t count_of(int block) const { return counts.data != nullptr ? counts[block] : count; }
  Handle type_of(int block) const {
    if (types == nullptr) return type;
    return types_are_pointers ? to_handle(static_cast<void* const*>(types)[block])
                              : to_handle(static_cast<const int*>(types)[block]);
  }
};

/// One buffer.
struct Part {
  const void* address = nullptr;
  Access access = Access::in;
  bool significant = true;  ///< at this rank
  Elements elements;
  bool absolute = false;  ///< its address is null, MPI_BOTTOM, and its places are addresses

  std::int64_t count() const;
  /// Returns whether the call touches any memory of this buffer.
  bool used() const { return significant && (address != nullptr || absolute) && count() != 0; }
};

/// One block of elements that has any.
struct Block {
  Handle type = kNoHandle;
  Shape shape;
  std::int64_t begin = 0;  ///< of its first element, in bytes from the buffer's address
  std::int64_t count = 0;
};
/// Calls visit(block) of each, until it returns false. False: then, or for a type or count that MPI does not take.
template <class Visit>
bool visit_blocks(const Mpi& mpi, const Elements& elements, const Visit& visit) {
  Block block;
  block.shape = {1, 0, 1, 0, 1};
  std::int64_t next = 0;  // where the next one begins, in extents
  for (int i = 0; i < elements.blocks; ++i) {
    // A block without elements may have no type.
    if (elements.types != nullptr && elements.count_of(i) == 0) continue;
    block.type = elements.type_of(i);
    if (block.type != kNoHandle && (i == 0 || elements.types != nullptr) && mpi.shape(block.type, block.shape) != 0)
      return false;
    block.count = elements.count_of(i);
    if (block.count < 0) return false;
    const std::int64_t place = elements.places.data != nullptr ? elements.places[i] : next;
    next += block.count;
    if (block.count == 0) continue;
    block.begin = elements.types != nullptr ? place : place * block.shape.extent;
    if (!visit(block)) return false;
  }
  return true;
}

/// Bytes [first, last) from a buffer's address that a call may touch.
struct Span {
  std::int64_t first = 0, last = 0;
  std::int64_t bytes() const { return last - first; }
};
/// Returns the span of the elements. No value for an invalid type: the real function is left to complain about that.
std::optional<Span> span_of(const Mpi& mpi, const Elements& elements);
/// Returns whether every byte of the span is data, in the order of addresses. Then nothing between has to be kept as
/// it is, and a message of so many bytes fills the first ones.
bool is_dense(const Mpi& mpi, const Elements& elements);

/// Returns where the data is, from the buffer's address on, if it lies in rows; no value otherwise.
std::optional<stage::Strided> strided_of(const Mpi& mpi, const Elements& elements);

struct Call {
  Call(const Mpi& of, Family of_family, Form in_form, Handle over)
      : mpi(of), family(of_family), form(in_form), comm(over) {}

  const Mpi& mpi;
  const Family family;
  const Form form;
  const Handle comm;
  Handle op = kNoHandle;
  int root = -1, dest = -1, tag = -1;
  std::optional<int> source;  ///< of a receive that MPI matches by its source and `tag`
  std::array<Part, 3> parts;
  int count = 0;  ///< of parts

  Function function() const { return {family, form}; }
  void add(const Part& part);
  std::span<const Part> all() const { return {parts.data(), static_cast<std::size_t>(count)}; }
  bool in_place() const;

  const CommShape& place() const;  ///< of this rank in the communicator
  void know(const CommShape& place) { place_ = place; }
  int blocks() const { return place().inter ? place().remote_size : place().size; }
  int sources() const;
  int destinations() const;
  bool at_root(int rank) const { return place().inter ? mpi.is_inter_root(rank) : place().rank == rank; }

 private:
  mutable std::optional<CommShape> place_;
};

/// Says that of a call's two buffers part `inner` lies in part `outer`, `place` bytes from its address on. MPI
/// forbids it, and some MPIs say so.
struct Overlap {
  std::size_t outer, inner;
  std::int64_t place;
};
std::optional<Overlap> overlap_of(const Call& call);

/// Holds what stands in for a call's buffers, in the order of parts: addresses, and types where the data lies
/// otherwise there.
struct StandIns {
  std::array<void*, 3> at{};
  std::array<Handle, 3> types{kNoHandle, kNoHandle, kNoHandle};
  operator void* const*() const { return at.data(); }
};
/// The program's call itself, with other memory, and request or status.
using RealCall = FunctionRef<int(const StandIns& memory, void* tail)>;

}  // namespace sennit::shim::mpi
