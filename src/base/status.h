// Defines errors as values, which say what went wrong, where, and what to do about it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace sennit {

/// Names the kind of failure that a Status reports. The numbers are stable: the C API exposes them.
enum class Code : int {
  ok = 0,
  invalid_argument = 1,   ///< the caller passed something that can never work
  not_found = 2,          ///< a file, device, library or peer that should exist does not
  unsupported = 3,        ///< correct request, but this machine or build cannot do it
  out_of_memory = 4,      ///< an allocation, /dev/shm or the locked-memory limit is too small
  permission_denied = 5,  ///< the operating system or the driver forbids it
  timed_out = 6,          ///< a bounded wait passed its bound
  peer_lost = 7,          ///< another rank died or left
  mismatch = 8,           ///< ranks disagree about a call
  corrupt = 9,            ///< a document or a transfer does not hold what it should
  device_error = 10,      ///< the GPU or its driver reported an error
  system_error = 11,      ///< a system call failed
  aborted = 12,           ///< the communicator was aborted
};

/// Returns the field-standard lower-case name of `code`, e.g. "timed_out".
std::string_view name(Code code);

/// Outcome of an operation. Empty and cheap when ok; otherwise carries three sentences' worth:
/// `what` happened, `where` (operation, rank, peer, file, field …), and the `remedy`.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string what, std::string where = {}, std::string remedy = {})
      : code_(code), what_(std::move(what)), where_(std::move(where)), remedy_(std::move(remedy)) {}

  bool ok() const { return code_ == Code::ok; }
  explicit operator bool() const { return ok(); }
  Code code() const { return code_; }
  const std::string& what() const { return what_; }
  const std::string& where() const { return where_; }
  const std::string& remedy() const { return remedy_; }

  /// Prepends a frame to `where`, outermost first: "put 1 GiB to rank 3: open segment".
  Status in(std::string_view frame) &&;

  /// Returns one line for people: "timed_out: WHAT (WHERE). REMEDY".
  std::string text() const;

 private:
  Code code_ = Code::ok;
  std::string what_;
  std::string where_;
  std::string remedy_;
};

/// A T or the Status that says why there is none. Accessing the wrong side aborts the process:
/// that is a bug in the caller, never a condition of the machine.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Status status) : state_(std::in_place_index<1>, std::move(status)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// Returns the error, or an ok Status when there is a value.
  Status status() const& { return ok() ? Status{} : *std::get_if<1>(&state_); }
  Status status() && { return ok() ? Status{} : std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace sennit
