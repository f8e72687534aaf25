// Checks that messages arrived: sources hold a pattern, destinations poison, and afterwards every byte is compared on
// the host.
#pragma once

#include <array>
#include <span>

#include "bench/put/rig.h"
#include "bench/put/variants.h"

namespace sennit::bench::put {

class Checker {
 public:
  /// Writes the pattern to the sources that this process owns; they keep it for good. Errors: of the executor.
  static Result<Checker> create(Rig& rig);

  /// Fills [offset - margin, offset + bytes + margin) of the side's destination with one byte, another one each time.
  Status poison(int side, std::uint64_t offset, std::uint64_t bytes);
  /// Reads it back: the message must be what lies at `source` of the other side, and the margins still be poison.
  /// Errors: corrupt says where.
  Status compare(int side, const Message& message);

 private:
  explicit Checker(Rig& rig) : rig_(&rig) {}
  Status move(int side, std::byte* dst, const std::byte* src, std::uint64_t bytes);
  Status compare_poison(int side, std::uint64_t offset, std::uint64_t bytes);

  Rig* rig_;
  device::Memory up_, down_;  // pinned
  int last_poison_ = 0;
  std::array<int, 2> poison_{};  // by side
};

/// Writes bytes [position, position + size) of the pattern that the source of `side` holds.
void pattern(int side, std::uint64_t position, std::span<std::byte> bytes);

}  // namespace sennit::bench::put
