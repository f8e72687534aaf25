#include "shim/mpi/shadows.h"

#include <algorithm>
#include <cstring>
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
    if (shadow.rows) return ", rows alone";
    return shadow.runs.empty() ? ", with what lies between" : ", the data alone";
  }
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
  const bool read = part.access != Access::out || call.in_place() || (!dense && !rows && !in_parts);
  auto* const there = const_cast<std::byte*>(static_cast<const std::byte*>(part.address)) + span->first;
  memory_[index] = memory->data() - span->first;
  shadows_.push_back({there, span->first, std::move(*memory), static_cast<std::uint64_t>(span->bytes()), held, read,
                      written, dense, part.access == Access::out && (dense || rows), rows,
                      runs ? std::move(*runs) : std::vector<Runs>()});
  return read ? down(shadows_.back()) : Status();
}

Status Shadows::down(const Shadow& shadow) {
  if (!shadow.rows) return gpus_.to_host(shadow.here.data(), shadow.there, shadow.bytes, shadow.held);
  const auto data = static_cast<std::uint64_t>(shadow.rows->data());
  return gpus_.copy_rows(shadow.here.data(), shadow.there, *shadow.rows, data, shadow.held.device);
}

Status Shadows::up(const Shadow& shadow, std::int64_t received, Bringing* bringing) {
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
    auto status = gpus_.still_held(shadow.there, shadow.held.device);
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
