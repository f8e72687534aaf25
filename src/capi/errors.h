// Turns C++ errors into the C API's: every function of the C API goes through here.
#pragma once

#include <exception>
#include <new>
#include <string_view>
#include <type_traits>

#include "base/status.h"
#include "sennit/sennit.h"

namespace sennit::capi {

/// Keeps the text of a failure for sennit_last_error() on this thread, and returns its number. Needs no memory to
/// succeed: without any, the text is shorter.
sennit_result report(const Status& status) noexcept;

/// invalid_argument: "`parameter` is null".
Status null_argument(std::string_view parameter);

/// Runs the body of every function of the C API that can fail. Whatever happens inside, also in a function of the
/// caller's and for lack of memory, leaves as a result.
template <class Body>
sennit_result guarded(Body&& body) noexcept {
  static_assert(std::is_same_v<std::invoke_result_t<Body>, Status>, "a body says how it went");
  try {
    return report(body());
  } catch (const std::bad_alloc&) {
    return report(Status(Code::out_of_memory, "no memory"));  // short enough to need none
  } catch (const std::exception& error) {
    return report(Status(Code::system_error, error.what()));
  } catch (...) {
    return report(Status(Code::system_error, "an exception"));
  }
}

}  // namespace sennit::capi
