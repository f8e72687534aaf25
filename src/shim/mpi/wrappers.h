// The wrappers of functions that take memory: generated, over the few words defined here.
#pragma once

#include <new>

#include "shim/mpi/process.h"

namespace sennit::shim::mpi::wrappers {

inline Integers integers(const int* values) {
  return {values, false};
}
inline Integers integers(const std::int64_t* values) {
  return {values, true};
}

inline Part part(const void* address, Access access, bool significant, const Elements& elements) {
  return {address, access, significant, elements};
}
template <class Type>
Elements elements(std::int64_t count, Type type, int blocks) {
  Elements made;
  made.blocks = blocks;
  made.count = count;
  made.type = to_handle(type);
  return made;
}
inline Elements raw_bytes(std::int64_t count) {
  Elements made;
  made.count = count;
  return made;
}
template <class Int, class Type>
Elements elements_of_all(const Int* counts, const Call& call, Type type) {
  Elements made;
  made.blocks = call.place().size;
  made.counts = integers(counts);
  made.type = to_handle(type);
  return made;
}
template <class Int, class Type>
Elements elements_at(const Int* counts, const Call& call, Type type) {
  return elements(counts[call.place().rank], type, 1);
}
template <class Int, class Place, class Type>
Elements placed(const Int* counts, const Place* places, Type type, int blocks) {
  Elements made;
  made.blocks = blocks;
  made.counts = integers(counts);
  made.places = integers(places);
  made.type = to_handle(type);
  return made;
}
template <class Int, class Place, class Type>
Elements placed(const Int* counts, const Place* places, const Type* types, int blocks)
  requires(!std::is_same_v<Type, void>)
{
  Elements made;
  made.blocks = blocks;
  made.counts = integers(counts);
  made.places = integers(places);
  made.types = types;
  made.types_are_pointers = std::is_pointer_v<Type>;
  return made;
}

/// A collective call without GPU memory here: true, after the other ranks have been told.
template <class Abi>
bool stays_with_host(typename Abi::Comm comm, bool blocking) {
  if (blocking) drop_in<Abi>().pass(to_handle(comm));
  return true;
}

/// Bytes of the message that a status tells of; none of a cancelled one.
template <class Abi>
std::int64_t received(const typename Abi::Status& status) {
  const auto& library = *Process<Abi>::instance().library;
  int cancelled = 0;
  Count bytes = 0;
  if (library.call().test_cancelled(&status, &cancelled) != 0 || cancelled != 0) return 0;
  return library.call().get_elements_x(&status, library.byte(), &bytes) == 0 && bytes >= 0 ? bytes : -1;
}

/// Blocking calls without a status.
template <class Abi, class CallReal>
int perform(const Call& call, const CallReal& real, std::nullptr_t) {
  try {
    return drop_in<Abi>().perform(call, real);
  } catch (const std::bad_alloc&) {
    return drop_in<Abi>().fail(call, Status(Code::out_of_memory, "no memory"));
  }
}

/// Calls that end in a request.
template <class Abi, class CallReal>
int perform(const Call& call, const CallReal& real, typename Abi::Request* request) {
  DropIn& here = drop_in<Abi>();
  try {
    const auto since = std::chrono::steady_clock::now();
    auto shadows = here.begin(call);
    if (!shadows) return here.fail(call, shadows.status());
    const int code = real((*shadows)->memory(), request);
    if (code != 0) return code;
    const std::uint64_t bytes = (*shadows)->bytes();
    const bool persistent = call.form == Form::persistent;
    here.requests().add(to_handle(*request), {std::move(*shadows), nullptr, persistent, receives(call.family), !persistent});
    here.count(call, bytes, "staged: ends in a request", since);
    return 0;
  } catch (const std::bad_alloc&) {
    return here.fail(call, Status(Code::out_of_memory, "no memory"));
  }
}

/// Blocking calls with a status: of a message, or a file.
template <class Abi, class CallReal>
int perform(const Call& call, const CallReal& real, typename Abi::Status* status) {
  DropIn& here = drop_in<Abi>();
  try {
    const auto since = std::chrono::steady_clock::now();
    auto shadows = here.begin(call);
    if (!shadows) return here.fail(call, shadows.status());
    typename Abi::Status own{};
    const bool ignored = reinterpret_cast<std::intptr_t>(status) == Abi::kStatusIgnore;
    typename Abi::Status* const told = ignored ? &own : status;
    const int code = real((*shadows)->memory(), told);
    if (code != 0) return code;
    if (auto given = here.end(**shadows, receives(call.family) ? received<Abi>(*told) : -1); !given)
      return here.fail(call, given);
    here.count(call, (*shadows)->bytes(), "staged: no such call on GPUs", since);
    return 0;
  } catch (const std::bad_alloc&) {
    return here.fail(call, Status(Code::out_of_memory, "no memory"));
  }
}

template <class Abi>
bool is_device(const void* address) {
  return drop_in<Abi>().is_device(address);
}

/// Large counts as an MPI without them takes them.
class Narrow {
 public:
  int operator()(std::int64_t value) {
    fits_ = fits_ && value == static_cast<int>(value);
    return static_cast<int>(value);
  }
  /// An array; `known`: whether the program has given one.
  const int* operator()(const std::int64_t* values, bool known, int count) {
    if (!known || values == nullptr) return nullptr;
    arrays_.emplace_back();
    for (int i = 0; i < count; ++i) arrays_.back().push_back((*this)(values[i]));
    return arrays_.back().data();
  }
  bool fits() const { return fits_; }
  bool any_arrays() const { return !arrays_.empty(); }

 private:
  bool fits_ = true;
  std::vector<std::vector<int>> arrays_;
};
inline constexpr int kErrCount = 2;  // MPI_ERR_COUNT, in every ABI

/// The arrays stay until the request has completed.
template <class Abi>
void keep_until_done(Narrow& narrow, typename Abi::Request request, Form form) {
  if (!narrow.any_arrays()) return;
  OpenRequests& requests = drop_in<Abi>().requests();
  const auto open = requests.find(to_handle(request));
  auto kept = std::make_shared<Narrow>(std::move(narrow));
  if (open != nullptr)
    open->kept = std::move(kept);
  else
    requests.add(to_handle(request), {nullptr, std::move(kept), form == Form::persistent, false, true});
}

#include "wrappers.inc"

}  // namespace sennit::shim::mpi::wrappers
