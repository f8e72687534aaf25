// Checks that a path really carries bytes: drivers lie, above all in virtual machines and containers, where a copy
// between GPUs can report success and write elsewhere, or never end.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "bench/measure/rig.h"

namespace sennit::bench::measure {

/// Enqueues a copy over some path and returns the lane whose end is the end of the copy.
using Carry = std::function<Result<device::Lane*>(path::End dst, path::End src, std::uint64_t bytes)>;

/// Fills in bytes that depend on the seed and on every position, so that a shifted, repeated or stale part shows.
void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed);
/// Returns the position of the first byte that is not the pattern's.
std::optional<std::size_t> first_difference(std::span<const std::byte> bytes, std::uint64_t seed);

/// Waits for all work of `lane`, at most `limit`. Errors: timed_out, and those of the lane.
Status wait_within(device::Lane& lane, std::chrono::nanoseconds limit);

class Verifier {
 public:
  /// `limit`: how long each copy of a check may take.
  static Result<Verifier> create(Rig& rig, std::chrono::nanoseconds limit);

  /// 1. Writes a pattern to the source, and to the destination its complement, with a margin on both sides.
  /// 2. Carries 1 MiB, and odd numbers of bytes between odd addresses.
  /// 3. Reads the destination back; every byte must be the source's and the margins as they were.
  /// A check of a path between a GPU and host memory uses that path in the first and third step too.
  /// Errors, naming both ends: corrupt (wrong bytes), timed_out, and those of the carrier.
  Status check(const Stop& from, const Stop& to, const Carry& carry);

 private:
  Verifier(Rig& rig, std::chrono::nanoseconds limit) : rig_(&rig), limit_(limit) {}
  Status check(const Stop& from, const Stop& to, const Carry& carry, std::uint64_t bytes, std::uint64_t offset);
  Status move(const Stop& stop, std::byte* dst, const std::byte* src, std::uint64_t bytes);

  Rig* rig_;
  std::chrono::nanoseconds limit_;
  device::Memory scratch_;  // pinned
  std::uint64_t seed_ = 1;
};

}  // namespace sennit::bench::measure
