#include "bench/put/checking.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "base/units.h"
#include "bench/measure/verify.h"

namespace sennit::bench::put {

namespace {

/// Bytes that are made, moved and compared at a time.
constexpr std::uint64_t kPiece = MiB;
/// So many bytes are looked at on either side of a message.
constexpr std::uint64_t kGuard = 256;

Status wrong(std::string what) {
  return Status(Code::corrupt, std::move(what), {},
                "The driver, the hypervisor or the IOMMU misdirects this path: see `sennit doctor`");
}

}  // namespace

void pattern(int side, std::uint64_t position, std::span<std::byte> bytes) {
  std::vector<std::byte> whole;
  for (std::uint64_t done = 0; done < bytes.size();) {
    const std::uint64_t piece = (position + done) / kPiece, within = (position + done) % kPiece;
    const std::uint64_t length = std::min(kPiece - within, bytes.size() - done);
    const std::uint64_t seed = 1 + std::uint64_t(side) + 2 * piece;
    const auto part = bytes.subspan(done, length);
    if (within == 0) {
      measure::fill_pattern(part, seed);
    } else {
      whole.resize(within + length);
      measure::fill_pattern(whole, seed);
      std::memcpy(part.data(), whole.data() + within, length);
    }
    done += length;
  }
}

Result<Checker> Checker::create(Rig& rig) {
  Checker checker(rig);
  for (device::Memory* memory : {&checker.up_, &checker.down_}) {
    auto made = rig.node().executor().allocate_pinned(kPiece);
    if (!made) return std::move(made).status().in("verification");
    *memory = std::move(*made);
  }
  for (int side = 0; side < 2; ++side) {
    if (!rig.owns(side)) continue;
    const device::Memory& source = rig.side(side).source;
    for (std::uint64_t at = 0; at < source.bytes(); at += kPiece) {
      const std::uint64_t length = std::min(kPiece, source.bytes() - at);
      pattern(side, at, {checker.up_.data(), length});
      if (auto status = checker.move(side, source.data() + at, checker.up_.data(), length); !status) return status;
    }
  }
  return checker;
}

Status Checker::move(int side, std::byte* dst, const std::byte* src, std::uint64_t bytes) {
  Side& owner = rig_->side(side);
  if (owner.device == path::kHost) {
    std::memcpy(dst, src, bytes);
    return {};
  }
  if (auto status = owner.lane->copy(dst, src, bytes); !status) return status;
  return owner.lane->synchronize();
}

Status Checker::poison(int side, std::uint64_t offset, std::uint64_t bytes) {
  // Never 0, which fresh memory often is.
  last_poison_ = last_poison_ % 255 + 1;
  poison_[std::size_t(side)] = last_poison_;
  std::memset(up_.data(), last_poison_, kPiece);
  std::byte* const begin = rig_->side(side).destination.data() + offset - kGuard;
  const std::uint64_t whole = bytes + 2 * kGuard;
  for (std::uint64_t at = 0; at < whole; at += kPiece)
    if (auto status = move(side, begin + at, up_.data(), std::min(kPiece, whole - at)); !status) return status;
  return {};
}

Status Checker::compare_poison(int side, std::uint64_t offset, std::uint64_t bytes) {
  if (auto status = move(side, down_.data(), rig_->side(side).destination.data() + offset, bytes); !status)
    return status;
  if (std::all_of(down_.data(), down_.data() + bytes,
                  [&](std::byte each) { return each == std::byte(poison_[std::size_t(side)]); }))
    return {};
  return wrong("a message wrote beyond its destination");
}

Status Checker::compare(int side, const Message& message) {
  if (auto status = compare_poison(side, message.destination - kGuard, kGuard); !status) return status;
  if (auto status = compare_poison(side, message.destination + message.bytes, kGuard); !status) return status;
  const std::byte* const begin = rig_->side(side).destination.data() + message.destination;
  for (std::uint64_t at = 0; at < message.bytes;) {
    // Up to a boundary of the pattern, so that whole pieces are made at once.
    const std::uint64_t length = std::min(kPiece - (message.source + at) % kPiece, message.bytes - at);
    if (auto status = move(side, down_.data(), begin + at, length); !status) return status;
    pattern(1 - side, message.source + at, {up_.data(), length});
    if (std::memcmp(down_.data(), up_.data(), length) != 0) {
      const auto* first = std::mismatch(down_.data(), down_.data() + length, up_.data()).first;
      return wrong(fmt::format("byte {} of {} is wrong after a message that was reported done",
                               at + std::uint64_t(first - down_.data()), message.bytes));
    }
    at += length;
  }
  return {};
}

}  // namespace sennit::bench::put
