// Puts an observer's functions before all of MPI's. A library that exports SENNIT_OBSERVE_MPI (front.h) makes them
// with
//
//   struct Mine { static int observe(Frame& frame) { …; return frame.call(); } };
//   Observing<Abi, Mine>::begin(observation);
//
// and needs no drop-in: a frame's description (description.h) says what each argument is, and Frame::describe() over
// a Library<Abi> of its own says which memory the call touches, and how much (message_size.h).
#pragma once

#include <cstddef>
#include <initializer_list>
#include <utility>

#include "shim/front/front.h"
#include "shim/mpi/abi/prototypes.h"
#include "shim/mpi/call/frame.h"

namespace sennit::shim::mpi {

/// Observer::observe(Frame&) makes each call by frame.call(), and returns what the program is told.
template <class Abi, class Observer>
class Observing {
 public:
  /// Stands before every function that `chosen` names; to be called again for others.
  template <class Chosen>
  static void begin(const sennit_observation& observation, const Chosen& chosen) {
    observation_ = &observation;
    each([&]<Entry entry>() {
      void* const own = pointer<entry>(static_cast<FunctionOf<Abi, entry>*>(nullptr));
      observation.observe(std::size_t(entry), chosen(description_of(entry)) ? own : nullptr);
    });
  }
  static void begin(const sennit_observation& observation) {
    begin(observation, [](const Description&) { return true; });
  }
  /// Stands aside: calls cost what they cost without an observer. Those that have begun end as they would have.
  static void end() {
    begin(*observation_, [](const Description&) { return false; });
  }

 private:
  template <Entry entry, class... A>
  static int call(A... a) {
    static_assert(sizeof...(A) <= kMostArguments);
    Frame frame{.of = &description_of(entry),
                .bits = {to_bits(a)...},
                .function = observation_->next[std::size_t(entry)],
                .caller = &call_with_bits<A...>,
                .handles_are_pointers = std::is_pointer_v<typename Abi::Comm>};
    return Observer::observe(frame);
  }
  template <Entry entry, class... A>
  static void* pointer(int (*)(A...)) {
    return reinterpret_cast<void*>(&call<entry, A...>);
  }
  template <class Visit>
  static void each(const Visit& visit) {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      // A fold would nest deeper than compilers allow.
      (void)std::initializer_list<int>{(visit.template operator()<Entry(i)>(), 0)...};
    }
    (std::make_index_sequence<kEntries>());
  }

  static constinit inline const sennit_observation* observation_ = nullptr;
};

}  // namespace sennit::shim::mpi
