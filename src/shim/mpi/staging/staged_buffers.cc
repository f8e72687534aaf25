#include "shim/mpi/staging/staged_buffers.h"

#include <algorithm>
#include <new>
#include <utility>

#include "shim/mpi/call/segments.h"

namespace sennit::shim::mpi {

namespace {

/// Runs work that allocates, far below MPI's functions, which do not throw, and returns an error where there is no
/// memory.
template <class Work>
Status without_throwing(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Status(Code::out_of_memory, "no memory for a list of what is to be copied");
  }
}

}  // namespace

StagedBuffers::~StagedBuffers() {
  for (stage::StagedBuffer& buffer : staged_) host_.release(std::move(buffer.here), written_.value_or(buffer.bytes));
}

std::uint64_t StagedBuffers::bytes() const {
  std::uint64_t all = 0;
  for (const stage::StagedBuffer& buffer : staged_) all += buffer.bytes;
  return all;
}

std::string_view StagedBuffers::how() const {
  for (const stage::StagedBuffer& buffer : staged_) {
    if (buffer.dense) continue;
    if (!buffer.pieces.empty()) return ", piece by piece from several allocations";
    if (buffer.rows) return ", rows alone";
    return buffer.segments.empty() ? ", with what lies between" : ", the data alone";
  }
  return {};
}

namespace {

/// Returns whether data that does not begin in GPU memory goes on there.
template <class Holder>
bool goes_on_elsewhere(const Call& call, const Part& part, const Holder& holder) {
  const auto* const address = static_cast<const std::byte*>(part.address);
  const Elements& elements = part.elements;
  std::int64_t left = 0;  // blocks of one type: the first one and the last
  bool found = false;
  (void)visit_blocks(call.mpi, elements, [&](const Block&) { return ++left != 0; });
  (void)visit_blocks(call.mpi, elements, [&](const Block& block) {
    const bool looked_at = --left == 0 || elements.types != nullptr;
    const std::int64_t last = block.begin + (block.count - 1) * block.shape.extent;
    for (const std::int64_t begin : {block.begin, last}) {
      if (!looked_at && begin == last) break;
      found = found || (block.shape.size > 0 && holder(address + begin + block.shape.true_lower).device >= 0);
      if (block.type == kNoHandle) continue;
      for (const std::int64_t place : call.mpi.far(block.type))
        found = found || holder(address + begin + place).device >= 0;
    }
    return !found;
  });
  return found;
}

/// Returns whether the call may be given another type for a buffer. An operator, or a foreign representation, asks
/// what numbers are in it, and parts of messages are found by its places.
bool takes_other_types(const Call& call, const Elements& elements) {
  return call.op == kNoHandle && elements.types == nullptr && elements.type != kNoHandle &&
         call.family != Family::Pack_external && call.family != Family::Unpack_external &&
         call.family != Family::Psend_init && call.family != Family::Precv_init;
}

}  // namespace

Status StagedBuffers::add(const Call& call, int index, const Holder& holder) {
  const Part& part = call.parts[static_cast<std::size_t>(index)];
  const auto* const address = static_cast<const std::byte*>(part.address);
  stage::MemInfo& held = held_[static_cast<std::size_t>(index)];
  if (is_dense(call.mpi, part.elements)) {
    held = holder(address);
    return held.device >= 0 ? add(call, index, held) : Status();
  }
  const auto span = span_of(call.mpi, part.elements);
  if (!span || span->bytes() <= 0) return {};  // the real function finds the fault, and reads nothing before
  held = holder(address + span->first);
  const bool scattered = held.device >= 0
                             ? !gpus_.in_one(address + span->first, static_cast<std::uint64_t>(span->bytes()))
                             : goes_on_elsewhere(call, part, holder);
  if (scattered) return without_throwing([&] { return add_pieces(call, index, *span, holder); });
  return held.device >= 0 ? add(call, index, held) : Status();
}

Status StagedBuffers::add_pieces(const Call& call, int index, const Span& span, const Holder& holder) {
  constexpr std::size_t kMost = 1 << 22;
  const auto at = static_cast<std::size_t>(index);
  const Part& part = call.parts[at];
  auto* const address = const_cast<std::byte*>(static_cast<const std::byte*>(part.address));
  Shape shape;
  Handle type = kNoHandle;
  if (takes_other_types(call, part.elements) && call.mpi.shape(part.elements.type, shape) == 0 && shape.extent != 0)
    type = call.mpi.type_of_bytes(shape.size);
  std::vector<stage::StagedBuffer::Piece> pieces;
  std::optional<std::vector<stage::Segment>> data;
  Handle of = kNoHandle;
  std::int64_t first = 0, last = 0;  // of the staged buffer
  const bool known = visit_blocks(call.mpi, part.elements, [&](const Block& block) {
    if (!data || of != block.type) {
      data = block.type != kNoHandle ? call.mpi.segments(block.type) : std::vector<stage::Segment>{{0, 1}};
      of = block.type;
    }
    if (!data) return false;
    for (std::int64_t element = 0; element < block.count; ++element) {
      std::int64_t here = type != kNoHandle ? (block.begin / shape.extent + element) * shape.size : 0;
      for (const stage::Segment& one : *data) {
        const std::int64_t there = block.begin + element * block.shape.extent + one.first;
        if (type == kNoHandle) here = there;
        if (!pieces.empty() && pieces.back().there + pieces.back().bytes == there &&
            pieces.back().here + pieces.back().bytes == here && data->size() == 1)
          pieces.back().bytes += one.bytes;
        else
          pieces.push_back({there, here, one.bytes, -1});
        first = pieces.size() == 1 ? here : std::min(first, here);
        last = std::max(pieces.size() == 1 ? here : last, here + one.bytes);
        here += one.bytes;
      }
    }
    return pieces.size() <= kMost;
  });
  if (!known)
    return Status(Code::unsupported, "a type that lies in several allocations, and whose parts cannot be told");
  if (type == kNoHandle) first = span.first, last = span.last;
  for (auto& piece : pieces) {
    piece.here -= first;
    piece.device = holder(address + piece.there).device;
  }
  auto memory = host_.acquire(static_cast<std::uint64_t>(last - first), stage::PinnedPool::Use::certain);
  if (!memory) return memory.status();
  const bool prefix = part.access == Access::out && type != kNoHandle;
  const bool hidden = call.form == Form::blocking && call.mpi.hides_errors(call.comm);
  const bool read = part.access != Access::out || call.in_place() || !prefix || hidden;
  memory_.at[at] = memory->data() - first;
  memory_.types[at] = type;
  scattered_[at] = true;
  staged_.push_back({address + first,
                     first,
                     std::move(*memory),
                     static_cast<std::uint64_t>(last - first),
                     held_[at],
                     read,
                     part.access != Access::in,
                     false,
                     prefix,
                     std::nullopt,
                     {},
                     std::move(pieces)});
  staged_.back().there = address;  // which pieces count from
  return read ? staged_.back().copy_in(gpus_) : Status();
}

Status StagedBuffers::add(const Call& call, int index, const stage::MemInfo& held) {
  const Part& part = call.parts[static_cast<std::size_t>(index)];
  const auto span = span_of(call.mpi, part.elements);
  if (!span || span->bytes() <= 0) return {};  // the real function finds the fault, and reads nothing before
  const bool dense = is_dense(call.mpi, part.elements);
  // A launch takes as long as copying some tens of KiB.
  constexpr std::int64_t kLeastGap = 64 << 10;
  auto rows = dense ? std::nullopt : strided_of(call.mpi, part.elements);
  const bool written = part.access != Access::in;
  if (rows && !written && span->bytes() - rows->data() < kLeastGap) rows.reset();
  // A message received may come in another way, and requests that wait for one may be many; but a copy that writes to
  // several places at once needs pinned memory.
  const auto use = receives(call.family) && dense ? stage::PinnedPool::Use::perhaps : stage::PinnedPool::Use::certain;
  auto memory = host_.acquire(static_cast<std::uint64_t>(span->bytes()), use);
  if (!memory) return memory.status();
  if (rows && !host_.is_pinned(*memory)) rows.reset();
  if (rows) rows->first -= span->first;
  std::optional<std::vector<stage::Segments>> segments;
  if (written && !dense && !rows) segments = segments_of(call.mpi, part.elements);
  // Memory behind the last element received stays as it was, and so does memory between elements where it is not
  // known where they lie. Each part of a message in parts comes whole, and perhaps before the receive is started.
  const bool in_parts = call.family == Family::Precv_init && segments;
  // Memory stays as it was, too, where the MPI refuses a call and does not say so.
  const bool hidden = part.access == Access::out && call.form == Form::blocking && call.mpi.hides_errors(call.comm);
  const bool read = part.access != Access::out || call.in_place() || (!dense && !rows && !in_parts) || hidden;
  auto* const there = const_cast<std::byte*>(static_cast<const std::byte*>(part.address)) + span->first;
  memory_.at[static_cast<std::size_t>(index)] = memory->data() - span->first;
  staged_.push_back({there, span->first, std::move(*memory), static_cast<std::uint64_t>(span->bytes()), held, read,
                     written, dense, part.access == Access::out && (dense || rows), rows,
                     segments ? std::move(*segments) : std::vector<stage::Segments>()});
  return read ? staged_.back().copy_in(gpus_) : Status();
}

Status StagedBuffers::copy_in() {
  for (const stage::StagedBuffer& buffer : staged_) {
    if (!buffer.read) continue;
    auto status = buffer.pieces.empty() ? gpus_.still_held(buffer.there, buffer.held.device) : Status();
    if (status.ok()) status = buffer.copy_in(gpus_);
    if (!status) return status;
  }
  return {};
}

Status StagedBuffers::copy_out(std::int64_t received, stage::SmallCopyBatch* copies) {
  mark_written(bytes());
  for (const stage::StagedBuffer& buffer : staged_)
    if (buffer.written)
      if (auto status = buffer.copy_out(gpus_, host_, received, copies); !status) return status;
  return {};
}

Status StagedBuffers::copy_in_part(std::int64_t from, std::int64_t bytes) {
  if (staged_.empty() || bytes <= 0) return {};
  const stage::StagedBuffer& of = staged_.front();
  if (from < 0) return of.copy_in(gpus_);
  return of.copy_in(gpus_, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(bytes));
}

Status StagedBuffers::copy_out_part(std::span<const stage::Segments> part, std::int64_t offset) {
  mark_written(this->bytes());
  if (staged_.empty()) return {};
  return staged_.front().copy_out(gpus_, host_, part, offset);
}

}  // namespace sennit::shim::mpi
