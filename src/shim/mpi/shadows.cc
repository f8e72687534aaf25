#include "shim/mpi/shadows.h"

#include <mutex>

namespace sennit::shim::mpi {

Shadows::~Shadows() {
  for (Shadow& shadow : shadows_) host_.give(std::move(shadow.here), written_.value_or(shadow.bytes));
}

std::uint64_t Shadows::bytes() const {
  std::uint64_t all = 0;
  for (const Shadow& shadow : shadows_) all += shadow.bytes;
  return all;
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
  // What lies between may be another request's, or a kernel's.
  if (rows && !written && span->bytes() - rows->data() < kLeastGap) rows.reset();
  // What is received may come otherwise, and requests that wait for it may be many; but rows need pinned memory.
  const auto use = receives(call.family) && !rows ? HostMemory::Use::perhaps : HostMemory::Use::certain;
  auto memory = host_.take(static_cast<std::uint64_t>(span->bytes()), use);
  if (!memory) return memory.status();
  if (rows && !host_.is_pinned(*memory)) rows.reset();
  if (rows) rows->first -= span->first;
  // Between the elements, and behind the last one received, memory stays as it was.
  const bool read = part.access != Access::out || call.in_place() || (!dense && !rows);
  auto* const there = const_cast<std::byte*>(static_cast<const std::byte*>(part.address)) + span->first;
  memory_[index] = memory->data() - span->first;
  shadows_.push_back(
      {there, std::move(*memory), static_cast<std::uint64_t>(span->bytes()), held, read, written,
       part.access == Access::out && (dense || rows), rows,
       written && !dense && !rows && receives(call.family) ? gaps_of(call.mpi, part.elements, *span) : std::nullopt});
  const Shadow& made = shadows_.back();
  return made.read ? down(made, whole(made)) : Status();
}

std::optional<Shadows::Gaps> Shadows::gaps_of(const Mpi& mpi, const Elements& elements, const Span& span) {
  Shape shape;
  constexpr std::int64_t kMostPacked = 1 << 30;  // what MPI_Pack counts in an int
  if (elements.blocks != 1 || elements.types != nullptr || mpi.shape(elements.type, shape) != 0) return std::nullopt;
  const std::int64_t data = elements.count_of(0) * shape.size;
  if (data <= 0 || data >= span.bytes() || data > kMostPacked) return std::nullopt;
  Gaps gaps{&mpi, kNoHandle, nullptr, data, span.first};
  gaps.type = mpi.keep(elements.type, gaps.keeper);
  return gaps.type != kNoHandle ? std::optional(gaps) : std::nullopt;
}

Status Shadows::down(const Shadow& shadow, const Range& range) {
  if (!shadow.rows)
    return gpus_.to_host(shadow.here.data() + range.from, shadow.there + range.from, range.bytes, shadow.held);
  const auto data = static_cast<std::uint64_t>(shadow.rows->data());
  return gpus_.copy_rows(shadow.here.data(), shadow.there, *shadow.rows, data, shadow.held.device);
}

Status Shadows::up(const Shadow& shadow, std::int64_t received, Bringing* bringing) {
  if (shadow.gaps) return up_between(shadow, *shadow.gaps);
  const std::uint64_t all = shadow.rows ? static_cast<std::uint64_t>(shadow.rows->data()) : shadow.bytes;
  const std::uint64_t bytes =
      shadow.prefix && received >= 0 ? std::min(all, static_cast<std::uint64_t>(received)) : all;
  if (!shadow.rows && bringing != nullptr && Bringing::takes(bytes))
    return bringing->add(shadow.there, shadow.here.data(), bytes, shadow.held);
  if (!shadow.rows) return gpus_.to_gpu(shadow.there, shadow.here.data(), bytes, shadow.held);
  return gpus_.copy_rows(shadow.there, shadow.here.data(), *shadow.rows, bytes, shadow.held.device);
}

Status Shadows::up_between(const Shadow& shadow, const Gaps& gaps) {
  static std::mutex one_at_a_time;  // of several threads' requests, each reads what the others have written
  const std::lock_guard lock(one_at_a_time);
  auto now = host_.take(shadow.bytes), packed = host_.take(static_cast<std::uint64_t>(gaps.data));
  if (!now) return now.status();
  if (!packed) return packed.status();
  if (auto status = gpus_.to_host(now->data(), shadow.there, shadow.bytes, shadow.held); !status) return status;
  if (gaps.mpi->pack(shadow.here.data() - gaps.first, gaps.type, gaps.data, packed->data()) != 0 ||
      gaps.mpi->unpack(packed->data(), gaps.data, now->data() - gaps.first, gaps.type) != 0)
    return Status(Code::unsupported, "the MPI cannot pack a type that was received");
  auto status = gpus_.to_gpu(shadow.there, now->data(), shadow.bytes, shadow.held);
  host_.give(std::move(*now));
  host_.give(std::move(*packed));
  return status;
}

Status Shadows::fill() {
  for (const Shadow& shadow : shadows_)
    if (shadow.read)
      if (auto status = down(shadow, whole(shadow)); !status) return status;
  return {};
}

Status Shadows::give_back(std::int64_t received, Bringing* bringing) {
  mark_written(bytes());
  for (const Shadow& shadow : shadows_)
    if (shadow.written)
      if (auto status = up(shadow, received, bringing); !status) return status;
  return {};
}

std::optional<Shadows::Range> Shadows::part(std::int64_t from, std::int64_t bytes) const {
  if (shadows_.empty() || bytes <= 0) return std::nullopt;
  const std::uint64_t all = shadows_.front().bytes;
  if (from < 0) return Range{0, all};  // types whose parts go backwards
  const std::uint64_t begin = std::min(static_cast<std::uint64_t>(from), all);
  return Range{begin, std::min(static_cast<std::uint64_t>(bytes), all - begin)};
}

Status Shadows::fill_part(std::int64_t from, std::int64_t bytes) {
  const auto range = part(from, bytes);
  return range ? down(shadows_.front(), *range) : Status();
}

Status Shadows::give_back_part(std::int64_t from, std::int64_t bytes) {
  mark_written(this->bytes());
  const auto range = part(from, bytes);
  if (!range) return {};
  const Shadow& of = shadows_.front();
  if (of.rows) return up(of, -1, nullptr);
  return gpus_.to_gpu(of.there + range->from, of.here.data() + range->from, range->bytes, of.held);
}

}  // namespace sennit::shim::mpi
