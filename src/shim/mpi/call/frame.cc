#include "shim/mpi/call/frame.h"

namespace sennit::shim::mpi {

namespace {

/// Returns whether a buffer's type describes no other buffer too, and so may be replaced.
bool has_own_type(const Description& of, std::size_t buffer) {
  const ElementsOf& elements = of.buffer[buffer].elements;
  if (elements.type == kAbsent || elements.layout == Layout::typed) return false;
  for (std::size_t i = 0; i < of.buffers; ++i)
    if (i != buffer && of.buffer[i].elements.type == elements.type) return false;
  return true;
}

}  // namespace

int Frame::call(const StandIns& memory, void* tail) const {
  Frame changed = *this;
  for (std::size_t i = 0; i < of->buffers; ++i) {
    const BufferOf& buffer = of->buffer[i];
    changed[buffer.address] = to_bits(memory.at[i]);
    if (memory.types[i] != kNoHandle && has_own_type(*of, i)) changed[buffer.elements.type] = memory.types[i];
  }
  if (of->tail() != kAbsent) changed[of->tail()] = to_bits(tail);
  return pass(changed);
}

int Frame::send(void* other, const void* data, int length, Handle byte, void* tail) const {
  Frame changed = *this;
  const BufferOf& buffer = of->buffer[0];
  changed[buffer.address] = to_bits(data);
  changed[buffer.elements.count] = to_bits(length);
  changed[buffer.elements.type] = byte;
  if (of->request != kAbsent) changed[of->request] = to_bits(tail);
  if (other == nullptr) return pass(changed);
  changed.function = other;
  return changed.call();
}

int Frame::blocks(Blocks blocks, const Call& call) const {
  switch (blocks) {
    case Blocks::nobody: return 1;
    case Blocks::members: return call.place().size;
    case Blocks::ranks: return call.blocks();
    case Blocks::sources: return call.sources();
    case Blocks::destinations: return call.destinations();
    case Blocks::partitions: return number(of->partitions);
  }
  return 1;
}

Elements Frame::elements(const ElementsOf& described, const Call& call) const {
  Elements made;
  if (described.layout != Layout::typed) made.type = handle(described.type);
  const bool wide = of->large;
  switch (described.layout) {
    case Layout::one: made.count = 1; break;
    case Layout::bytes: made.count = integer(described.count); break;
    case Layout::own: made.count = integers(described.count, wide)[call.place().rank]; break;
    case Layout::equal:
      made.blocks = blocks(described.blocks, call);
      made.count = integer(described.count);
      break;
    case Layout::packed:
      made.blocks = call.place().size;
      made.counts = integers(described.count, wide);
      break;
    case Layout::typed:
      made.types = pointer(described.type);
      made.types_are_pointers = handles_are_pointers;
      [[fallthrough]];
    case Layout::placed:
      made.blocks = blocks(described.blocks, call);
      made.counts = integers(described.count, wide);
      made.places = integers(described.places, described.wide_places);
      break;
  }
  return made;
}

Call Frame::describe(const Mpi& mpi, Handle comm, const CommShape* place) const {
  Call call(mpi, of->family, of->form, comm);
  if (place != nullptr) call.know(*place);
  call.op = handle(of->op);
  if (of->root != kAbsent) call.root = number(of->root);
  if (of->dest != kAbsent) call.dest = number(of->dest);
  if (of->source != kAbsent) call.source = number(of->source);
  if (of->tag != kAbsent) call.tag = number(of->tag);
  for (std::size_t i = 0; i < of->buffers; ++i) {
    const BufferOf& buffer = of->buffer[i];
    Part part;
    part.address = pointer(buffer.address);
    part.access = buffer.access;
    part.significant =
        buffer.where == Where::everywhere || call.at_root(call.root) == (buffer.where == Where::at_root);
    const bool in_place = buffer.differs_in_place && mpi.is_in_place(pointer(of->buffer[1 - i].address));
    part.elements = elements(in_place ? buffer.in_place : buffer.elements, call);
    call.add(part);
  }
  return call;
}

}  // namespace sennit::shim::mpi
