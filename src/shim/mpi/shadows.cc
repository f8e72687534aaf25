#include "shim/mpi/shadows.h"

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

Shadows::~Shadows() {
  for (Shadow& shadow : shadows_) host_.give(std::move(shadow.here), written_.value_or(shadow.bytes));
}

std::uint64_t Shadows::bytes() const {
  std::uint64_t all = 0;
  for (const Shadow& shadow : shadows_) all += shadow.bytes;
  return all;
}

std::string_view Shadows::how() const {
  for (const Shadow& shadow : shadows_) {
    if (shadow.dense) continue;
    if (!shadow.pieces.empty()) return ", piece by piece from several allocations";
    if (shadow.rows) return ", rows alone";
    return shadow.runs.empty() ? ", with what lies between" : ", the data alone";
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

Status Shadows::add(const Call& call, int index, const Holder& holder) {
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

Status Shadows::add_pieces(const Call& call, int index, const Span& span, const Holder& holder) {
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
  std::int64_t first = 0, last = 0;  // of the shadow
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
  auto memory = host_.take(static_cast<std::uint64_t>(last - first), HostMemory::Use::certain);
  if (!memory) return memory.status();
  const bool prefix = part.access == Access::out && type != kNoHandle;
  const bool hidden = call.form == Form::blocking && call.mpi.hides_errors(call.comm);
  const bool read = part.access != Access::out || call.in_place() || !prefix || hidden;
  memory_.at[at] = memory->data() - first;
  memory_.types[at] = type;
  scattered_[at] = true;
  shadows_.push_back({address + first,
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
  shadows_.back().there = address;  // which pieces count from
  return read ? down(shadows_.back()) : Status();
}

Status Shadows::copy_pieces(const Shadow& shadow, bool up, std::int64_t most) {
  std::map<int, std::vector<path::SmallCopies::Piece>> of_gpus;
  for (const Piece& piece : shadow.pieces) {
    const std::int64_t bytes = std::min(most, piece.bytes);
    if (bytes <= 0) break;
    most -= bytes;
    std::byte* const there = shadow.there + piece.there;
    std::byte* const here = shadow.here.data() + piece.here;
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

Status Shadows::add(const Call& call, int index, const Held& held) {
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
  const auto use = receives(call.family) && dense ? HostMemory::Use::perhaps : HostMemory::Use::certain;
  auto memory = host_.take(static_cast<std::uint64_t>(span->bytes()), use);
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
  shadows_.push_back({there, span->first, std::move(*memory), static_cast<std::uint64_t>(span->bytes()), held, read,
                      written, dense, part.access == Access::out && (dense || rows), rows,
                      runs ? std::move(*runs) : std::vector<Runs>()});
  return read ? down(shadows_.back()) : Status();
}

Status Shadows::down(const Shadow& shadow) {
  if (!shadow.pieces.empty())
    return without_throwing([&] { return copy_pieces(shadow, false, std::numeric_limits<std::int64_t>::max()); });
  if (!shadow.rows) return gpus_.to_host(shadow.here.data(), shadow.there, shadow.bytes, shadow.held);
  const auto data = static_cast<std::uint64_t>(shadow.rows->data());
  return gpus_.copy_rows(shadow.here.data(), shadow.there, *shadow.rows, data, shadow.held.device);
}

Status Shadows::up(const Shadow& shadow, std::int64_t received, Bringing* bringing) {
  if (!shadow.pieces.empty())
    return without_throwing([&] {
      return copy_pieces(shadow, true,
                         shadow.prefix && received >= 0 ? received : std::numeric_limits<std::int64_t>::max());
    });
  if (auto status = gpus_.still_held(shadow.there, shadow.held.device); !status) return status;
  if (!shadow.runs.empty()) return up(shadow, shadow.runs, 0);
  const std::uint64_t all = shadow.rows ? static_cast<std::uint64_t>(shadow.rows->data()) : shadow.bytes;
  const std::uint64_t bytes =
      shadow.prefix && received >= 0 ? std::min(all, static_cast<std::uint64_t>(received)) : all;
  if (!shadow.rows && bringing != nullptr && Bringing::takes(bytes))
    return bringing->add(shadow.there, shadow.here.data(), bytes, shadow.held);
  if (!shadow.rows) return gpus_.to_gpu(shadow.there, shadow.here.data(), bytes, shadow.held);
  return gpus_.copy_rows(shadow.there, shadow.here.data(), *shadow.rows, bytes, shadow.held.device);
}

Status Shadows::up(const Shadow& shadow, std::span<const Runs> all, std::int64_t offset) {
  return without_throwing([&]() -> Status {
    for (const Runs& runs : all)
      if (auto status = up(shadow, runs, offset); !status) return status;
    return {};
  });
}

/// By a kernel, where there are many.
Status Shadows::up(const Shadow& shadow, const Runs& runs, std::int64_t offset) {
  // Defaults: as many copies take as long as a launch, and far more than what is worth two copies of all.
  constexpr std::size_t kFew = 16, kMany = 4096;
  std::byte* const to = shadow.there - shadow.first + offset;
  const std::byte* const from = shadow.here.data() - shadow.first + offset;
  if (runs.each.size() * static_cast<std::size_t>(runs.times) > kFew && host_.is_pinned(shadow.here)) {
    const auto pieces = pieces_of(runs);
    const std::span bytes = std::as_bytes(std::span(pieces));
    auto list = host_.take(bytes.size(), HostMemory::Use::certain);
    if (list.ok() && host_.is_pinned(*list)) {
      std::ranges::copy(bytes, list->data());
      auto status = gpus_.copy_pieces({to, from, reinterpret_cast<const path::CopyPieces::Piece*>(list->data()),
                                       pieces.size(), static_cast<std::uint64_t>(runs.times), runs.stride},
                                      static_cast<std::uint64_t>(runs.bytes()), shadow.held.device);
      host_.give(std::move(*list));
      return status;
    }
  }
  if (runs.each.size() * static_cast<std::size_t>(runs.times) > kMany) return up_between(shadow, runs, offset);
  std::vector<path::SmallCopies::Piece> pieces;
  (void)runs.visit([&](const Run& run) {
    pieces.push_back({to + run.first, from + run.first, static_cast<std::uint64_t>(run.bytes)});
    return true;
  });
  return gpus_.to_gpu(pieces, shadow.held);
}

Status Shadows::up_between(const Shadow& shadow, const Runs& runs, std::int64_t offset) {
  auto now = host_.take(shadow.bytes);
  if (!now) return now.status();
  if (auto status = gpus_.to_host(now->data(), shadow.there, shadow.bytes, shadow.held); !status) return status;
  (void)runs.visit([&](const Run& run) {
    const std::int64_t place = run.first + offset - shadow.first;
    std::memcpy(now->data() + place, shadow.here.data() + place, static_cast<std::size_t>(run.bytes));
    return true;
  });
  auto status = gpus_.to_gpu(shadow.there, now->data(), shadow.bytes, shadow.held);
  host_.give(std::move(*now));
  return status;
}

Status Shadows::fill() {
  for (const Shadow& shadow : shadows_) {
    if (!shadow.read) continue;
    auto status = shadow.pieces.empty() ? gpus_.still_held(shadow.there, shadow.held.device) : Status();
    if (status.ok()) status = down(shadow);
    if (!status) return status;
  }
  return {};
}

Status Shadows::give_back(std::int64_t received, Bringing* bringing) {
  mark_written(bytes());
  for (const Shadow& shadow : shadows_)
    if (shadow.written)
      if (auto status = up(shadow, received, bringing); !status) return status;
  return {};
}

Status Shadows::fill_part(std::int64_t from, std::int64_t bytes) {
  if (shadows_.empty() || bytes <= 0) return {};
  const Shadow& of = shadows_.front();
  if (from < 0) return down(of);
  const std::uint64_t begin = std::min(static_cast<std::uint64_t>(from), of.bytes);
  const std::uint64_t some = std::min(static_cast<std::uint64_t>(bytes), of.bytes - begin);
  return gpus_.to_host(of.here.data() + begin, of.there + begin, some, of.held);
}

Status Shadows::give_back_part(std::span<const Runs> part, std::int64_t offset) {
  mark_written(this->bytes());
  if (shadows_.empty()) return {};
  return up(shadows_.front(), part, offset);
}

}  // namespace sennit::shim::mpi
