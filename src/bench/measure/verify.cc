#include "bench/measure/verify.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::bench::measure {

namespace {

/// Room on either side of the destination that no copy may touch.
constexpr std::uint64_t kMargin = 64;

struct Shape {
  std::uint64_t bytes, offset;
};
/// A whole MiB between aligned addresses, and odd ones: a path may be right for one engine's word and wrong for a
/// part.
constexpr Shape kShapes[] = {{MiB, 0}, {1, 3}, {4099, 5}, {MiB + 3, 1}};
constexpr std::uint64_t kLargest = MiB + 3;

/// Eight bytes of the pattern (splitmix64: every bit depends on seed and position).
std::uint64_t word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15ull + index * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

std::byte pattern_at(std::uint64_t seed, std::size_t at) {
  return std::byte(word(seed, at / 8) >> (at % 8 * 8) & 0xff);
}

}  // namespace

void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed) {
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t value = word(seed, at / 8);
    std::memcpy(bytes.data() + at, &value, std::min<std::size_t>(8, bytes.size() - at));
  }
}

std::optional<std::size_t> first_difference(std::span<const std::byte> bytes, std::uint64_t seed) {
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t value = word(seed, at / 8);
    const std::size_t length = std::min<std::size_t>(8, bytes.size() - at);
    if (std::memcmp(bytes.data() + at, &value, length) == 0) continue;
    for (std::size_t i = at;; ++i)
      if (bytes[i] != pattern_at(seed, i)) return i;
  }
  return std::nullopt;
}

Status wait_within(device::Lane& lane, std::chrono::nanoseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const Result<bool> idle = lane.idle();
    if (!idle) return idle.status();
    if (*idle) return lane.synchronize();  // returns at once; says whether a block gave up
    if (std::chrono::steady_clock::now() > deadline)
      return Status(Code::timed_out,
                    fmt::format("did not end within {} ms",
                                std::chrono::duration_cast<std::chrono::milliseconds>(limit).count()),
                    {}, "The driver, the hypervisor or the IOMMU keeps this path from working; avoid it");
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

Result<Verifier> Verifier::create(Rig& rig, std::chrono::nanoseconds limit) {
  Verifier verifier(rig, limit);
  auto scratch = rig.executor().allocate_pinned(2 * (kLargest + 4 * kMargin));
  if (!scratch) return std::move(scratch).status().in("verification");
  verifier.scratch_ = std::move(*scratch);
  return verifier;
}

Status Verifier::move(const Stop& stop, std::byte* dst, const std::byte* src, std::uint64_t bytes) {
  if (stop.is_host()) {
    std::memcpy(dst, src, bytes);
    return {};
  }
  auto lane = rig_->lane(stop.device);
  if (!lane) return lane.status();
  if (auto status = (*lane)->copy(dst, src, bytes); !status) return status;
  return wait_within(**lane, limit_);
}

Status Verifier::check(const Stop& from, const Stop& to, const Carry& carry) {
  for (const Shape& shape : kShapes)
    if (auto status = check(from, to, carry, shape.bytes, shape.offset); !status)
      return std::move(status).in(fmt::format("{} → {}", from.id, to.id));
  return {};
}

Status Verifier::check(const Stop& from, const Stop& to, const Carry& carry, std::uint64_t bytes,
                       std::uint64_t offset) {
  const std::uint64_t seed = seed_++;
  std::byte* const sent = scratch_.data();
  std::byte* const back = scratch_.data() + kLargest + 4 * kMargin;
  const std::uint64_t whole = bytes + 2 * kMargin;
  // Source and destination have different alignments for odd shapes.
  const std::uint64_t source_offset = offset, target_offset = kMargin + 2 * offset;

  fill_pattern({sent, bytes}, seed);
  fill_pattern({back, whole}, ~seed);
  for (std::uint64_t i = 0; i < bytes; ++i) back[kMargin + i] = ~sent[i];
  if (auto status = move(from, from.from(source_offset).at_owner, sent, bytes); !status) return status;
  if (auto status = move(to, to.to(target_offset - kMargin).at_owner, back, whole); !status) return status;

  Result<device::Lane*> lane = carry(to.to(target_offset), from.from(source_offset), bytes);
  if (!lane) return std::move(lane).status();
  if (auto status = wait_within(**lane, limit_); !status) return status;

  // The bytes there before the reading must differ from what comes back.
  for (std::uint64_t i = 0; i < whole; ++i) back[i] = ~back[i];
  for (std::uint64_t i = 0; i < bytes; ++i) back[kMargin + i] = ~sent[i];
  if (auto status = move(to, back, to.to(target_offset - kMargin).at_owner, whole); !status) return status;

  const auto lies = [](std::string what) {
    return Status(Code::corrupt, std::move(what), {},
                  "The driver, the hypervisor or the IOMMU misdirects this path; avoid it (SENNIT_PEER=0 forbids all "
                  "paths between GPUs)");
  };
  if (const auto at = first_difference({back + kMargin, bytes}, seed))
    return lies(fmt::format("byte {} of {} is wrong after a copy that reported success", *at, bytes));
  for (std::uint64_t i = 0; i < whole; ++i)
    if ((i < kMargin || i >= kMargin + bytes) && back[i] != pattern_at(~seed, i))
      return lies(fmt::format("a copy of {} bytes wrote beyond its destination", bytes));
  return {};
}

}  // namespace sennit::bench::measure
