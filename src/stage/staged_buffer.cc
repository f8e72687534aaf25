#include "stage/staged_buffer.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <utility>

namespace sennit::stage {

namespace {

constexpr std::int64_t kAllBytes = std::numeric_limits<std::int64_t>::max();

/// Cuts segments into those that a kernel's blocks copy.
std::vector<Segment> cut(const std::vector<Segment>& segments) {
  std::vector<Segment> all;
  for (const Segment& one : segments)
    for (std::int64_t done = 0; done < one.bytes; done += SegmentCopy::kMost)
      all.push_back({one.first + done, std::min(SegmentCopy::kMost, one.bytes - done)});
  return all;
}

/// Runs work that allocates, far below functions that do not throw, and returns an error where there is no memory.
template <class Work>
Status without_throwing(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Status(Code::out_of_memory, "no memory for a list of what is to be copied");
  }
}

}  // namespace

Status StagedBuffer::copy_pieces(Gpus& gpus, bool out, std::int64_t most) const {
  std::map<int, std::vector<SmallCopies::Piece>> of_gpus;
  for (const Piece& piece : pieces) {
    const std::int64_t some = std::min(most, piece.bytes);
    if (some <= 0) break;
    most -= some;
    std::byte* const at_gpu = there + piece.there;
    std::byte* const at_host = here.data() + piece.here;
    if (piece.device >= 0) {
      if (auto status = gpus.still_held(at_gpu, piece.device); !status) return status;
      of_gpus[piece.device].push_back({at_gpu, at_host, static_cast<std::uint64_t>(some)});
    } else if (out) {
      std::memcpy(at_gpu, at_host, static_cast<std::size_t>(some));
    } else {
      std::memcpy(at_host, at_gpu, static_cast<std::size_t>(some));
    }
  }
  for (const auto& [device, some] : of_gpus)
    if (auto status = out ? gpus.to_gpu(some, MemInfo{device, false}) : gpus.to_host(some, device); !status)
      return status;
  return {};
}

Status StagedBuffer::copy_in(Gpus& gpus) const {
  if (!pieces.empty()) return without_throwing([&] { return copy_pieces(gpus, false, kAllBytes); });
  if (!rows) return gpus.to_host(here.data(), there, bytes, held);
  return gpus.copy_strided(here.data(), there, *rows, static_cast<std::uint64_t>(rows->data()), held.device);
}

Status StagedBuffer::copy_in(Gpus& gpus, std::uint64_t from, std::uint64_t most) const {
  const std::uint64_t begin = std::min(from, bytes);
  return gpus.to_host(here.data() + begin, there + begin, std::min(most, bytes - begin), held);
}

Status StagedBuffer::copy_out(Gpus& gpus, PinnedPool& host, std::int64_t received, SmallCopyBatch* batch) const {
  const bool partly = prefix && received >= 0;
  if (!pieces.empty())
    return without_throwing([&] { return copy_pieces(gpus, true, partly ? received : kAllBytes); });
  if (auto status = gpus.still_held(there, held.device); !status) return status;
  if (!segments.empty()) return copy_out(gpus, host, segments, 0);
  const std::uint64_t all = rows ? static_cast<std::uint64_t>(rows->data()) : bytes;
  const std::uint64_t some = partly ? std::min(all, static_cast<std::uint64_t>(received)) : all;
  if (rows) return gpus.copy_strided(there, here.data(), *rows, some, held.device);
  if (batch != nullptr && SmallCopyBatch::takes(some)) return batch->add(there, here.data(), some, held);
  return gpus.to_gpu(there, here.data(), some, held);
}

Status StagedBuffer::copy_out(Gpus& gpus, PinnedPool& host, std::span<const Segments> part,
                              std::int64_t offset) const {
  return without_throwing([&]() -> Status {
    for (const Segments& one : part)
      if (auto status = copy_out(gpus, host, one, offset); !status) return status;
    return {};
  });
}

/// Segments are copied by a kernel, where there are many.
Status StagedBuffer::copy_out(Gpus& gpus, PinnedPool& host, const Segments& part, std::int64_t offset) const {
  // Defaults: as many copies take as long as a launch, and far more than what is worth two copies of all.
  constexpr std::size_t kFew = 16, kMany = 4096;
  const std::size_t count = part.each.size() * static_cast<std::size_t>(part.times);
  std::byte* const to = there - first + offset;
  const std::byte* const from = here.data() - first + offset;
  if (count > kFew && host.is_pinned(here)) {
    const auto all = cut(part.each);
    const auto raw = std::as_bytes(std::span(all));
    auto list = host.acquire(raw.size(), PinnedPool::Use::certain);
    if (list.ok() && host.is_pinned(*list)) {
      std::ranges::copy(raw, list->data());
      auto status = gpus.copy_segments({to, from, reinterpret_cast<const Segment*>(list->data()), all.size(),
                                        static_cast<std::uint64_t>(part.times), part.stride},
                                       static_cast<std::uint64_t>(part.bytes()), held.device);
      host.release(std::move(*list));
      return status;
    }
  }
  if (count > kMany) return copy_out_between(gpus, host, part, offset);
  std::vector<SmallCopies::Piece> copies;
  (void)part.visit([&](const Segment& one) {
    copies.push_back({to + one.first, from + one.first, static_cast<std::uint64_t>(one.bytes)});
    return true;
  });
  return gpus.to_gpu(copies, held);
}

Status StagedBuffer::copy_out_between(Gpus& gpus, PinnedPool& host, const Segments& part, std::int64_t offset) const {
  auto now = host.acquire(bytes);
  if (!now) return now.status();
  if (auto status = gpus.to_host(now->data(), there, bytes, held); !status) return status;
  (void)part.visit([&](const Segment& one) {
    const std::int64_t place = one.first + offset - first;
    std::memcpy(now->data() + place, here.data() + place, static_cast<std::size_t>(one.bytes));
    return true;
  });
  auto status = gpus.to_gpu(there, now->data(), bytes, held);
  host.release(std::move(*now));
  return status;
}

}  // namespace sennit::stage
