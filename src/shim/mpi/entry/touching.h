// Tells whether a call has to do with GPU memory, which every call asks before anything else is done with it.
#pragma once

#include "shim/mpi/call/frame.h"
#include "shim/mpi/entry/process.h"

namespace sennit::shim::mpi::wrappers {

template <class Abi>
bool is_device(const void* address) {
  return Process<Abi>::instance().memories->is_device(address);
}

/// Returns whether data of elements whose address is not on a GPU is on one all the same.
template <class Abi>
[[gnu::noinline]] bool goes_on_elsewhere(const void* address, std::int64_t count, Handle type) {
  const auto& process = Process<Abi>::instance();
  if (count <= 0 || process.library->is_in_place(address)) return false;
  const auto* const at = static_cast<const std::byte*>(address);
  const auto places = process.library->far(type);
  Shape shape;
  if (places.empty()) return false;
  for (const std::int64_t place : places)
    if (is_device<Abi>(at + place)) return true;
  if (count == 1 || process.library->shape(type, shape) != 0) return false;
  return is_device<Abi>(at + (count - 1) * shape.extent + shape.true_lower) ||
         is_device<Abi>(at + (count - 1) * shape.extent + places.back());
}
/// Returns whether data of a buffer is on a GPU, while its address is not. To be asked where GPUs are used.
template <class Abi>
[[gnu::noinline]] bool lies_elsewhere(const Frame& frame, std::size_t number) {
  const auto& library = *Process<Abi>::instance().library;
  const Description& of = *frame.of;
  const BufferOf& buffer = of.buffer[number];
  const ElementsOf& elements = buffer.elements;
  const void* const address = frame.pointer(buffer.address);
  const Handle type = elements.layout != Layout::typed ? frame.handle(elements.type) : kNoHandle;
  const auto is_derived = [&](Handle one) { return !library.is_predefined(one); };
  if (buffer.where == Where::at_root) {
    // A type may be anything at other ranks.
    const Call call(library, Family::Bcast, Form::blocking, frame.handle(of.comm));
    const std::int64_t count = elements.layout == Layout::equal ? frame.integer(elements.count) : 1;
    return is_derived(type) && call.at_root(frame.number(of.root)) && goes_on_elsewhere<Abi>(address, count, type);
  }
  switch (elements.layout) {
    case Layout::bytes:
    case Layout::own:
    case Layout::packed: return false;
    case Layout::one: return is_derived(type) && goes_on_elsewhere<Abi>(address, 1, type);
    case Layout::equal:
      // A rank with a negative root may give anything in a call between two groups.
      if (of.root != kAbsent && frame.integer(of.root) < 0) return false;
      return is_derived(type) && goes_on_elsewhere<Abi>(address, frame.integer(elements.count), type);
    case Layout::placed: {
      const Integers counts{frame.pointer(elements.count), of.large};
      const Integers places{frame.pointer(elements.places), elements.wide_places};
      if (library.is_in_place(address) || counts.data == nullptr) return false;
      if (is_derived(type) && goes_on_elsewhere<Abi>(address, 1, type)) return true;
      // The data may begin at the first place. A rank without neighbours may have given no first place.
      Shape shape;
      if (of.kind != Kind::collective || places.data == nullptr || places[0] == 0 || counts[0] <= 0) return false;
      if (library.shape(type, shape) != 0) return false;
      return is_device<Abi>(static_cast<const std::byte*>(address) + places[0] * shape.extent + shape.true_lower);
    }
    case Layout::typed: {
      const Integers counts{frame.pointer(elements.count), of.large};
      const Integers places{frame.pointer(elements.places), elements.wide_places};
      if (library.is_in_place(address) || counts.data == nullptr) return false;
      const Call call(library, of.family, of.form, frame.handle(of.comm));
      const Elements all = frame.elements(elements, call);
      for (int i = 0; i < all.blocks; ++i) {
        if (counts[i] <= 0) continue;
        const auto* const at = static_cast<const std::byte*>(address) + places[i];
        if (is_derived(all.type_of(i)) ? goes_on_elsewhere<Abi>(at, counts[i], all.type_of(i))
                                       : address == nullptr && is_device<Abi>(at))
          return true;
      }
      return false;
    }
  }
  return false;
}

/// Returns whether any data of the call is in memory of a GPU.
template <class Abi>
bool touches(const Frame& frame) {
  const auto& process = Process<Abi>::instance();
  for (std::size_t i = 0; i < frame.of->buffers; ++i)
    if (is_device<Abi>(frame.pointer(frame.of->buffer[i].address))) return true;
  if (!process.memories->cuda_initialized()) return false;
  for (std::size_t i = 0; i < frame.of->buffers; ++i)
    if (lies_elsewhere<Abi>(frame, i)) return true;
  return false;
}

/// Returns whether no RTS fits into what a receive has room for.
template <class Abi>
bool too_short(std::int64_t count, Handle type) {
  if (count <= 0) return true;
  const auto size = Process<Abi>::instance().library->size(type);
  return !size || count * *size < static_cast<std::int64_t>(msg::kLeastLookedAt);  // what has no size the MPI refuses
}

/// Returns whether no send of these elements has to be noted (note()), as far as one look tells. Large counts may
/// wrap around: what has as many bytes as an RTS by that has a note too many.
template <class Abi>
bool needs_no_note(std::int64_t count, Handle type) {
  if (!drop_in<Abi>().transports.may_announce()) return true;
  const std::int64_t size = Process<Abi>::instance().library->size_of_predefined(type);
  return size >= 0 && !msg::Rts::step_of(static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size));
}

/// Notes a send before it begins: see Transports::note().
template <class Abi>
msg::LookAlikes::Sending note(std::int64_t count, Handle type, int dest, int tag, Handle comm, Form form) {
  if (count <= 0 || count > static_cast<std::int64_t>(msg::kLongestRts)) return {};
  if (!drop_in<Abi>().transports.may_announce()) return {};
  const auto size = Process<Abi>::instance().library->size(type);
  if (!size) return {};
  return drop_in<Abi>().transports.note(count * *size, dest, tag, comm, form == Form::persistent);
}

}  // namespace sennit::shim::mpi::wrappers
