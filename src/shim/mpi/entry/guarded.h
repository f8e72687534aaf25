// Stands before every wrapper: no exception of the drop-in's own reaches the program, which may be in C.
#pragma once

#include <cstddef>
#include <new>
#include <stdexcept>
#include <tuple>
#include <type_traits>

#include "shim/mpi/abi/abi.h"

namespace sennit::shim::mpi {

/// A wrapper as an entry point. Where memory ends, Fail::fail(the call's arguments) says what the program is told.
/// Other exceptions are no business of the drop-in: a program's error handlers and operators may throw theirs through
/// calls of MPI.
template <auto wrapper, class Fail>
struct Guarded;

template <class... Arguments, int (*wrapper)(Arguments...), class Fail>
struct Guarded<wrapper, Fail> {
  static int call(Arguments... arguments) {
    try {
      return wrapper(arguments...);
    } catch (const std::bad_alloc&) {
    } catch (const std::length_error&) {  // more than any memory has
    }
    return Fail::fail(arguments...);
  }
};

/// Says what has an error handler that is told of a call's errors.
enum class Handler { none, communicator, window };

struct Told {
  Handler handler = Handler::none;
  std::size_t argument = 0;  ///< its number
};

/// Finds the argument whose error handler is told, from the function's type in the standard's ABI, where every kind
/// of handle is a type of its own.
template <class... Arguments>
constexpr Told told(int (*)(Arguments...)) {
  Told found;
  std::size_t number = 0;
  [[maybe_unused]] const auto look = [&](Handler handler) {
    if (found.handler == Handler::none && handler != Handler::none) found = {handler, number};
    ++number;
  };
  (look(std::is_same_v<Arguments, Standard::Comm>  ? Handler::communicator
        : std::is_same_v<Arguments, Standard::Win> ? Handler::window
                                                   : Handler::none),
   ...);
  return found;
}

/// Teller::fail(Handler, Handle) tells the program that there is no memory.
template <class Teller, Told told>
struct OutOfMemory {
  template <class... Arguments>
  static int fail(const Arguments&... arguments) {
    if constexpr (told.handler == Handler::none)
      return Teller::fail(told.handler, kNoHandle);
    else
      return Teller::fail(told.handler, to_handle(std::get<told.argument>(std::tie(arguments...))));
  }
};

}  // namespace sennit::shim::mpi
