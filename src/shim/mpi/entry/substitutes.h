// Stands in the place of wrappers: of functions that the MPI lacks, and of those that other ranks cannot match.
#pragma once

#include "shim/mpi/entry/entering.h"
#include "shim/mpi/entry/narrow.h"
#include "shim/mpi/entry/unmatched.h"

namespace sennit::shim::mpi::wrappers {

/// Enters functions that other ranks cannot match: on MPI_COMM_WORLD, where some have counted another number of
/// calls, they fail.
template <class Abi, Entry entry, class... A>
auto unmatched(int (*)(A...)) {
  return +[](A... a) {
    const Frame frame = frame_of<Abi, entry>(a...);
    const bool world = frame.handle(frame.of->comm) == mpi<Abi>().comm_world();
    return world ? refuse<Abi>(frame.of->name) : enter_frame<Abi>(frame);
  };
}

/// Calls a function with large counts in terms of the one without, for libraries that lack it (MPI 3). `small`: how
/// that is called.
template <class Abi>
int narrowed(const Frame& frame, Frame::Caller small) {
  const Description& of = *frame.of;
  const Call call(mpi<Abi>(), of.family, of.form, frame.handle(of.comm));
  Frame other = frame;
  other.of = &description_of(of.small);
  other.caller = small;
  other.function = Process<Abi>::instance().front->table[static_cast<std::size_t>(of.small)];
  std::array<std::size_t, kMostArguments> widths{};
  other.visit_arrays(call,
                     [&](Argument i, std::size_t bytes, bool, int) { widths[static_cast<std::size_t>(i)] = bytes; });
  Narrow narrow;
  frame.visit_arrays(call, [&](Argument i, std::size_t bytes, bool known, int count) {
    if (widths[static_cast<std::size_t>(i)] == bytes) return;
    other[i] = to_bits(narrow(frame.pointer<const std::int64_t>(i), known, count));
  });
  for (std::size_t i = 0; i < kMostArguments; ++i)
    if ((of.wide >> i & 1u) != 0) other.bits[i] = to_bits(narrow(static_cast<std::int64_t>(frame.bits[i])));
  auto* const position = frame.pointer<Count>(of.position);
  int narrow_position = position != nullptr ? narrow(*position) : 0;
  if (position != nullptr) other[of.position] = to_bits(&narrow_position);
  if (!narrow.fits()) return call.mpi.fail(call.comm, kErrCount);
  const int code = other.call();
  if (position != nullptr) *position = narrow_position;
  if (code == 0 && of.request != kAbsent)
    keep_until_done<Abi>(narrow, *frame.pointer<typename Abi::Request>(of.request), of.form);
  return code;
}
template <class Abi, Entry entry, class... Large, class... Small>
auto substitute(int (*)(Large...), int (*)(Small...)) {
  return +[](Large... a) {
    return guard<Abi>(frame_of<Abi, entry>(a...),
                      [](const Frame& frame) { return narrowed<Abi>(frame, &call_with_bits<Small...>); });
  };
}

}  // namespace sennit::shim::mpi::wrappers
