#include "bench/mpi/contents.h"

#include <algorithm>
#include <cstring>

#include "bench/collective/numbers.h"

namespace sennit::bench::mpi {

namespace {

device::Type type_of(const Layout& layout, const device::Reduction& reduction) {
  return is_atomic(layout.what.operation) ? device::Type::int64 : reduction.type;
}

std::vector<std::byte> message(const Layout& layout, const device::Reduction& reduction, std::uint64_t whole,
                               unsigned number) {
  const std::uint64_t bytes = std::min(whole, collective::kPeriod);
  return reduces(layout.what.operation) ? collective::numbers(type_of(layout, reduction), bytes, number)
                                        : collective::noise(bytes, number);
}

}  // namespace

std::vector<std::byte> given(const Layout& layout, const device::Reduction& reduction, unsigned index) {
  return message(layout, reduction, layout.piece_given(index).bytes, layout.number_given(index));
}

std::vector<std::byte> before(const Layout& layout, const device::Reduction& reduction) {
  return given(layout, reduction, 0);
}

std::vector<std::byte> expected(const Layout& layout, const device::Reduction& reduction, unsigned index) {
  const bool fetched = is_one_sided(layout.what.operation) && !layout.is_target();
  if (!reduces(layout.what.operation) || fetched)
    return message(layout, reduction, layout.piece_taken(index).bytes,
                   layout.number_taken(index, layout.source(index)));
  auto result = message(layout, reduction, layout.what.bytes, layout.number_taken(index, 0));
  // One after the other: there may be more ranks than one step takes.
  for (int rank = 1; rank < layout.contributors(); ++rank) {
    const auto next = message(layout, reduction, layout.what.bytes, layout.number_taken(index, rank));
    device::Operands operands;
    operands.from[operands.sources++] = result.data();
    operands.from[operands.sources++] = next.data();
    operands.to[operands.destinations++] = result.data();
    device::reduce_on_host({type_of(layout, reduction), reduction.op}, operands, result.size(), {0b11, true});
  }
  return result;
}

std::optional<std::uint64_t> first_wrong(std::span<const std::byte> got, std::span<const std::byte> right) {
  for (std::uint64_t at = 0; at < got.size(); at += right.size()) {
    const auto part = got.subspan(at, std::min<std::uint64_t>(right.size(), got.size() - at));
    if (std::memcmp(part.data(), right.data(), part.size()) == 0) continue;
    return at + static_cast<std::uint64_t>(std::ranges::mismatch(part, right).in1 - part.begin());
  }
  return std::nullopt;
}

}  // namespace sennit::bench::mpi
