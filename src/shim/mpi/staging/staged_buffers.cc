#include "shim/mpi/staging/staged_buffers.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <utility>

namespace sennit::shim::mpi {

namespace {

/// As a kernel's blocks copy them.
std::vector<path::CopyPieces::Piece> pieces_of(const Runs& runs) {
  std::vector<path::CopyPieces::Piece> pieces;
  for (const Run& run : runs.each)
    for (std::int64_t done = 0; done < run.bytes; done += path::CopyPieces::kMost)
      pieces.push_back(
          {run.first + done, static_cast<std::uint64_t>(std::min(path::CopyPieces::kMost, run.bytes - done))});
  return pieces;
}

/// What allocates may find that there is no memory, far below MPI's functions, which do not throw.
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
  for (StagedBuffer& buffer : staged_) host_.release(std::move(buffer.here), written_.value_or(buffer.bytes));
}

std::uint64_t StagedBuffers::bytes() const {
  std::uint64_t all = 0;
  for (const StagedBuffer& buffer : staged_) all += buffer.bytes;
  return all;
}

std::string_view StagedBuffers::how() const {
  for (const StagedBuffer& buffer : staged_) {
    if (buffer.dense) continue;
    if (!buffer.pieces.empty()) return ", piece by piece from several allocations";
    if (buffer.rows) return ", rows alone";
    return buffer.runs.empty() ? ", with what lies between" : ", the data alone";
  }
  return {};
}

namespace {

/// Whether data that does not begin in GPU memory goes on there.
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

/// Whether the call may be given another type for a buffer: an operator or a foreign representation asks what numbers
/// are in it, and parts of messages are found by its places.
bool takes_other_types(const Call& call, const Elements& elements) {
  return call.op == kNoHandle && elements.types == nullptr && elements.type != kNoHandle &&
         call.family != Family::Pack_external && call.family != Family::Unpack_external &&
         call.family != Family::Psend_init && call.family != Family::Precv_init;
}

}  // namespace

Status StagedBuffers::add(const Call& call, int index, const Holder& holder) {
  const Part& part = call.parts[static_cast<std::size_t>(index)];
  const auto* const address = static_cast<const std::byte*>(part.address);
  Held& held = held_[static_cast<std::size_t>(index)];
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
  std::vector<Piece> pieces;
  std::optional<std::vector<Run>> data;
  Handle of = kNoHandle;
  std::int64_t first = 0, last = 0;  // of the staged buffer
  const bool known = visit_blocks(call.mpi, part.elements, [&](const Block& block) {
    if (!data || of != block.type) {
      data = block.type != kNoHandle ? call.mpi.segments(block.type) : std::vector<Run>{{0, 1}};
      of = block.type;
    }
    if (!data) return false;
    for (std::int64_t element = 0; element < block.count; ++element) {
      std::int64_t here = type != kNoHandle ? (block.begin / shape.extent + element) * shape.size : 0;
      for (const Run& run : *data) {
        const std::int64_t there = block.begin + element * block.shape.extent + run.first;
        if (type == kNoHandle) here = there;
        if (!pieces.empty() && pieces.back().there + pieces.back().bytes == there &&
            pieces.back().here + pieces.back().bytes == here && data->size() == 1)
          pieces.back().bytes += run.bytes;
        else
          pieces.push_back({there, here, run.bytes, -1});
        first = pieces.size() == 1 ? here : std::min(first, here);
        last = std::max(pieces.size() == 1 ? here : last, here + run.bytes);
        here += run.bytes;
      }
    }
    return pieces.size() <= kMost;
  });
  if (!known)
    return Status(Code::unsupported, "a type that lies in several allocations, and whose parts cannot be told");
  if (type == kNoHandle) first = span.first, last = span.last;
  for (Piece& piece : pieces) {
    piece.here -= first;
    piece.device = holder(address + piece.there).device;
  }
  auto memory = host_.acquire(static_cast<std::uint64_t>(last - first), PinnedPool::Use::certain);
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
  return read ? down(staged_.back()) : Status();
}

Status StagedBuffers::copy_pieces(const StagedBuffer& buffer, bool up, std::int64_t most) {
  std::map<int, std::vector<path::SmallCopies::Piece>> of_gpus;
  for (const Piece& piece : buffer.pieces) {
    const std::int64_t bytes = std::min(most, piece.bytes);
    if (bytes <= 0) break;
    most -= bytes;
    std::byte* const there = buffer.there + piece.there;
    std::byte* const here = buffer.here.data() + piece.here;
    if (piece.device >= 0) {
      if (auto status = gpus_.still_held(there, piece.device); !status) return status;
      of_gpus[piece.device].push_back({there, here, static_cast<std::uint64_t>(bytes)});
    } else if (up) {
      std::memcpy(there, here, static_cast<std::size_t>(bytes));
    } else {
      std::memcpy(here, there, static_cast<std::size_t>(bytes));
    }
  }
  for (const auto& [device, some] : of_gpus)
    if (auto status = up ? gpus_.to_gpu(some, Held{device, false}) : gpus_.to_host(some, device); !status)
      return status;
  return {};
}

Status StagedBuffers::add(const Call& call, int index, const Held& held) {
  const Part& part = call.parts[static_cast<std::size_t>(index)];
  const auto span = span_of(call.mpi, part.elements);
  if (!span || span->bytes() <= 0) return {};  // the real function finds the fault, and reads nothing before
  const bool dense = is_dense(call.mpi, part.elements);
  // A launch takes as long as copying some tens of KiB.
  constexpr std::int64_t kLeastGap = 64 << 10;
  auto rows = dense ? std::nullopt : rows_of(call.mpi, part.elements);
  const bool written = part.access != Access::in;
  if (rows && !written && span->bytes() - rows->data() < kLeastGap) rows.reset();
  // What is received may come otherwise, and requests that wait for it may be many; but what writes to several places
  // at once needs pinned memory.
  const auto use = receives(call.family) && dense ? PinnedPool::Use::perhaps : PinnedPool::Use::certain;
  auto memory = host_.acquire(static_cast<std::uint64_t>(span->bytes()), use);
  if (!memory) return memory.status();
  if (rows && !host_.is_pinned(*memory)) rows.reset();
  if (rows) rows->first -= span->first;
  std::optional<std::vector<Runs>> runs;
  if (written && !dense && !rows) runs = runs_of(call.mpi, part.elements);
  // Behind the last element received memory stays as it was, and between them where it is not known where they lie.
  // Of messages in parts each comes whole, and perhaps before the receive is started.
  const bool in_parts = call.family == Family::Precv_init && runs;
  // What the MPI refuses and does not say so of stays as it was, too.
  const bool hidden = part.access == Access::out && call.form == Form::blocking && call.mpi.hides_errors(call.comm);
  const bool read = part.access != Access::out || call.in_place() || (!dense && !rows && !in_parts) || hidden;
  auto* const there = const_cast<std::byte*>(static_cast<const std::byte*>(part.address)) + span->first;
  memory_.at[static_cast<std::size_t>(index)] = memory->data() - span->first;
  staged_.push_back({there, span->first, std::move(*memory), static_cast<std::uint64_t>(span->bytes()), held, read,
                     written, dense, part.access == Access::out && (dense || rows), rows,
                     runs ? std::move(*runs) : std::vector<Runs>()});
  return read ? down(staged_.back()) : Status();
}

Status StagedBuffers::down(const StagedBuffer& buffer) {
  if (!buffer.pieces.empty())
    return without_throwing([&] { return copy_pieces(buffer, false, std::numeric_limits<std::int64_t>::max()); });
  if (!buffer.rows) return gpus_.to_host(buffer.here.data(), buffer.there, buffer.bytes, buffer.held);
  const auto data = static_cast<std::uint64_t>(buffer.rows->data());
  return gpus_.copy_rows(buffer.here.data(), buffer.there, *buffer.rows, data, buffer.held.device);
}

Status StagedBuffers::up(const StagedBuffer& buffer, std::int64_t received, SmallCopyBatch* copies) {
  if (!buffer.pieces.empty())
    return without_throwing([&] {
      return copy_pieces(buffer, true,
                         buffer.prefix && received >= 0 ? received : std::numeric_limits<std::int64_t>::max());
    });
  if (auto status = gpus_.still_held(buffer.there, buffer.held.device); !status) return status;
  if (!buffer.runs.empty()) return up(buffer, buffer.runs, 0);
  const std::uint64_t all = buffer.rows ? static_cast<std::uint64_t>(buffer.rows->data()) : buffer.bytes;
  const std::uint64_t bytes =
      buffer.prefix && received >= 0 ? std::min(all, static_cast<std::uint64_t>(received)) : all;
  if (!buffer.rows && copies != nullptr && SmallCopyBatch::takes(bytes))
    return copies->add(buffer.there, buffer.here.data(), bytes, buffer.held);
  if (!buffer.rows) return gpus_.to_gpu(buffer.there, buffer.here.data(), bytes, buffer.held);
  return gpus_.copy_rows(buffer.there, buffer.here.data(), *buffer.rows, bytes, buffer.held.device);
}

Status StagedBuffers::up(const StagedBuffer& buffer, std::span<const Runs> all, std::int64_t offset) {
  return without_throwing([&]() -> Status {
    for (const Runs& runs : all)
      if (auto status = up(buffer, runs, offset); !status) return status;
    return {};
  });
}

/// By a kernel, where there are many.
Status StagedBuffers::up(const StagedBuffer& buffer, const Runs& runs, std::int64_t offset) {
  // Defaults: as many copies take as long as a launch, and far more than what is worth two copies of all.
  constexpr std::size_t kFew = 16, kMany = 4096;
  std::byte* const to = buffer.there - buffer.first + offset;
  const std::byte* const from = buffer.here.data() - buffer.first + offset;
  if (runs.each.size() * static_cast<std::size_t>(runs.times) > kFew && host_.is_pinned(buffer.here)) {
    const auto pieces = pieces_of(runs);
    const std::span bytes = std::as_bytes(std::span(pieces));
    auto list = host_.acquire(bytes.size(), PinnedPool::Use::certain);
    if (list.ok() && host_.is_pinned(*list)) {
      std::ranges::copy(bytes, list->data());
      auto status = gpus_.copy_pieces({to, from, reinterpret_cast<const path::CopyPieces::Piece*>(list->data()),
                                       pieces.size(), static_cast<std::uint64_t>(runs.times), runs.stride},
                                      static_cast<std::uint64_t>(runs.bytes()), buffer.held.device);
      host_.release(std::move(*list));
      return status;
    }
  }
  if (runs.each.size() * static_cast<std::size_t>(runs.times) > kMany) return up_between(buffer, runs, offset);
  std::vector<path::SmallCopies::Piece> pieces;
  (void)runs.visit([&](const Run& run) {
    pieces.push_back({to + run.first, from + run.first, static_cast<std::uint64_t>(run.bytes)});
    return true;
  });
  return gpus_.to_gpu(pieces, buffer.held);
}

Status StagedBuffers::up_between(const StagedBuffer& buffer, const Runs& runs, std::int64_t offset) {
  auto now = host_.acquire(buffer.bytes);
  if (!now) return now.status();
  if (auto status = gpus_.to_host(now->data(), buffer.there, buffer.bytes, buffer.held); !status) return status;
  (void)runs.visit([&](const Run& run) {
    const std::int64_t place = run.first + offset - buffer.first;
    std::memcpy(now->data() + place, buffer.here.data() + place, static_cast<std::size_t>(run.bytes));
    return true;
  });
  auto status = gpus_.to_gpu(buffer.there, now->data(), buffer.bytes, buffer.held);
  host_.release(std::move(*now));
  return status;
}

Status StagedBuffers::copy_in() {
  for (const StagedBuffer& buffer : staged_) {
    if (!buffer.read) continue;
    auto status = buffer.pieces.empty() ? gpus_.still_held(buffer.there, buffer.held.device) : Status();
    if (status.ok()) status = down(buffer);
    if (!status) return status;
  }
  return {};
}

Status StagedBuffers::copy_out(std::int64_t received, SmallCopyBatch* copies) {
  mark_written(bytes());
  for (const StagedBuffer& buffer : staged_)
    if (buffer.written)
      if (auto status = up(buffer, received, copies); !status) return status;
  return {};
}

Status StagedBuffers::copy_in_part(std::int64_t from, std::int64_t bytes) {
  if (staged_.empty() || bytes <= 0) return {};
  const StagedBuffer& of = staged_.front();
  if (from < 0) return down(of);
  const std::uint64_t begin = std::min(static_cast<std::uint64_t>(from), of.bytes);
  const std::uint64_t some = std::min(static_cast<std::uint64_t>(bytes), of.bytes - begin);
  return gpus_.to_host(of.here.data() + begin, of.there + begin, some, of.held);
}

Status StagedBuffers::copy_out_part(std::span<const Runs> part, std::int64_t offset) {
  mark_written(this->bytes());
  if (staged_.empty()) return {};
  return up(staged_.front(), part, offset);
}

}  // namespace sennit::shim::mpi
