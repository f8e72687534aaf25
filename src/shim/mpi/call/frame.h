// Holds the arguments of one call of a function of MPI, as 64 bits each, so that one piece of code reads, changes and
// makes calls of all functions, whatever their arguments are.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "shim/mpi/call/description.h"

namespace sennit::shim::mpi {

/// An argument: a pointer, a handle, or an integer with its sign.
using Bits = std::uint64_t;

template <class T>
Bits to_bits(T value) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<std::uintptr_t>(value);
  else
    return static_cast<Bits>(static_cast<std::int64_t>(value));
}
template <class T>
T from_bits(Bits bits) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<T>(bits);
  else
    return static_cast<T>(static_cast<std::int64_t>(bits));
}

/// Calls `function`, an int(A...), with arguments of these bits.
template <class... A>
int call_with_bits(void* function, const Bits* bits) {
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return reinterpret_cast<int (*)(A...)>(function)(from_bits<A>(bits[i])...);
  }
  (std::index_sequence_for<A...>{});
}

struct Frame {
  using Caller = int (*)(void* function, const Bits* bits);

  const Description* of = nullptr;
  std::array<Bits, kMostArguments> bits{};
  void* function = nullptr;             ///< the program's own
  Caller caller = nullptr;              ///< call_with_bits() for its arguments
  int (*pass)(const Frame&) = nullptr;  ///< how the drop-in leaves the call to the MPI: entering.h
  bool handles_are_pointers = true;     ///< else ints

  Bits& operator[](Argument i) { return bits[static_cast<std::size_t>(i)]; }
  std::int64_t integer(Argument i) const { return static_cast<std::int64_t>(bits[static_cast<std::size_t>(i)]); }
  int number(Argument i) const { return static_cast<int>(integer(i)); }
  /// kNoHandle where the function has no such argument.
  Handle handle(Argument i) const {
    if (i == kAbsent) return kNoHandle;
    const Bits given = bits[static_cast<std::size_t>(i)];
    return handles_are_pointers ? given : static_cast<std::uint32_t>(given);
  }
  /// Null where the function has no such argument.
  template <class T = void>
  T* pointer(Argument i) const {
    return i == kAbsent ? nullptr : reinterpret_cast<T*>(bits[static_cast<std::size_t>(i)]);
  }

  /// Calls the program's own function.
  int call() const { return caller(function, bits.data()); }
  /// Leaves the call to the MPI with other memory, and another request or status.
  int call(const StandIns& memory, void* tail) const;
  /// Leaves the call to the MPI as a message of `length` bytes of the type `byte` instead. `other`: another function
  /// of the same arguments, which is called then; may be null.
  int send(void* other, const void* data, int length, Handle byte, void* tail) const;
  /// Describes the call as all ABIs and forms have it. `comm`: whose error handler hears of it. `place`: of this rank
  /// there, for who knows it; else the MPI is asked where it matters.
  Call describe(const Mpi& mpi, Handle comm, const CommShape* place = nullptr) const;
  /// Visits the arrays among the arguments, as far as this rank has given them: calls visit(argument, bytes of an
  /// element, whether the program has given it, elements) once for each.
  template <class Visit>
  void visit_arrays(const Call& call, const Visit& visit) const;
  Elements elements(const ElementsOf& of, const Call& call) const;

 private:
  Integers integers(Argument i, bool wide) const { return {pointer(i), wide}; }
  int blocks(Blocks blocks, const Call& call) const;
};

template <class Visit>
void Frame::visit_arrays(const Call& call, const Visit& visit) const {
  std::array<bool, kMostArguments> seen{};
  for (std::size_t i = 0; i < of->buffers; ++i) {
    const BufferOf& buffer = of->buffer[i];
    const ElementsOf& elements = buffer.elements;
    const bool counts = elements.layout >= Layout::own, places = elements.layout >= Layout::placed;
    const std::array<std::pair<Argument, std::size_t>, 3> arrays = {{
        {counts ? elements.count : kAbsent, of->large ? sizeof(Count) : sizeof(int)},
        {places ? elements.places : kAbsent, elements.wide_places ? sizeof(Aint) : sizeof(int)},
        {elements.layout == Layout::typed ? elements.type : kAbsent,
         handles_are_pointers ? sizeof(void*) : sizeof(int)},
    }};
    const auto shared = [&](Argument argument) {  // by both buffers
      return i < 2 && of->buffers > 1 && of->buffer[1 - i].elements.count == argument;
    };
    for (const auto& [argument, bytes] : arrays) {
      if (argument == kAbsent || std::exchange(seen[static_cast<std::size_t>(argument)], true)) continue;
      bool known =
          buffer.where == Where::everywhere || call.at_root(number(of->root)) == (buffer.where == Where::at_root);
      // MPI does not look at arguments that describe one buffer alone where that buffer is MPI_IN_PLACE.
      if (!shared(argument)) known = known && !call.mpi.is_in_place(pointer(buffer.address));
      const Blocks who = elements.blocks == Blocks::nobody ? Blocks::members : elements.blocks;
      visit(argument, bytes, known, blocks(who, call));
    }
  }
}

}  // namespace sennit::shim::mpi
