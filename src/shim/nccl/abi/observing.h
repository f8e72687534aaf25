// Makes an observer's functions, which stand before all of NCCL's. A library that exports SENNIT_OBSERVE_NCCL
// (front.h) makes them with
//
//   struct Mine { template <class Call> static auto observe(const Frame& frame, const Call& call) { return call(); }
//   }; Observing<Mine>::begin(observation);
//
// and needs no drop-in: a frame's description says what each argument is. Calls that NCCL makes of its own functions
// are not observed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "shim/front/front.h"
#include "shim/nccl/abi/abi.h"
#include "shim/nccl/abi/code_range.h"

namespace sennit::shim::nccl {

/// An argument's number.
using Argument = std::int8_t;
inline constexpr Argument kAbsent = -1;
inline constexpr std::size_t kMostArguments = 12;

#include "nccl_descriptions.inc"

/// The arguments of one call: a pointer, a handle, or an integer with its sign. Of a struct that is passed by value
/// it is the address.
struct Frame {
  const Description* of = nullptr;
  std::array<std::uint64_t, kMostArguments> bits{};

  Entry entry() const { return static_cast<Entry>(of - kDescriptions.data()); }
  std::int64_t integer(Argument i) const { return static_cast<std::int64_t>(bits[static_cast<std::size_t>(i)]); }
  /// Null where the function has no such argument.
  template <class T = void>
  T* pointer(Argument i) const {
    return i == kAbsent ? nullptr : reinterpret_cast<T*>(bits[static_cast<std::size_t>(i)]);
  }
};

template <class T>
std::uint64_t to_bits(const T& value) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<std::uintptr_t>(value);
  else if constexpr (std::is_class_v<T>)
    return reinterpret_cast<std::uintptr_t>(&value);
  else
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

/// Observer::observe(const Frame&, const auto& call) makes each call by call(), and returns what that does, or what
/// the program is told instead.
template <class Observer>
class Observing {
 public:
  static void begin(const sennit_observation& observation) {
    observation_ = &observation;
    for (std::size_t i = 0; i < kEntries && own_code_.end == 0; ++i)
      if (observation.real[i] != nullptr) own_code_ = code_around(observation.real[i]);
    put(true);
  }
  /// Stands aside: calls cost what they cost without an observer.
  static void end() { put(false); }

 private:
  template <Entry entry, class R, class... A>
  static R call(A... a) {
    using Function = R (*)(A...);
    const bool is_own = own_code_.holds(__builtin_return_address(0));
    const auto& table = is_own ? observation_->real : observation_->next;
    const auto next = reinterpret_cast<Function>(table[std::size_t(entry)]);
    if (is_own) return next(a...);
    const Frame frame{&kDescriptions[std::size_t(entry)], {to_bits(a)...}};
    return Observer::observe(frame, [&] { return next(a...); });
  }
  template <Entry entry, class R, class... A>
  static void* pointer(R (*)(A...)) {
    return reinterpret_cast<void*>(&call<entry, R, A...>);
  }
  static void put(bool there) {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      (observation_->observe(
           i, there ? pointer<Entry(i)>(static_cast<typename Prototype<Entry(i)>::Type*>(nullptr)) : nullptr),
       ...);
    }
    (std::make_index_sequence<kEntries>());
  }

  static constinit inline const sennit_observation* observation_ = nullptr;
  static constinit inline CodeRange own_code_{};
};

}  // namespace sennit::shim::nccl
