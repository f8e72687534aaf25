#include "device/reduction.h"

#include <algorithm>

namespace sennit::device {

namespace {

/// Numbers computed before the next are begun: a default that keeps their values in the first-level cache.
constexpr std::uint64_t kTogether = 512;

// Source by source over a short run of numbers, so that the compiler sees plain loops over arrays. The first pass
// copies what may be unaligned.
template <class Rule>
void reduce_run(const Rule& rule, const Operands& operands, std::uint64_t at, std::uint64_t count, Stage stage) {
  using Stored = typename Rule::Stored;
  typename Rule::Value value[kTogether];
  Stored stored[kTogether];
  const auto read = [&](unsigned k) {
    std::memcpy(stored, static_cast<const std::byte*>(operands.from[k]) + at * sizeof(Stored),
                count * sizeof(Stored));
    return (stage.raw >> k & 1) != 0;
  };
  const bool first_raw = read(0);
  for (std::uint64_t i = 0; i < count; ++i) value[i] = rule.lift(stored[i], first_raw);
  for (unsigned k = 1; k < operands.sources; ++k) {
    const bool raw = read(k);
    for (std::uint64_t i = 0; i < count; ++i) value[i] = rule.combine(value[i], rule.lift(stored[i], raw));
  }
  for (std::uint64_t i = 0; i < count; ++i) stored[i] = rule.lower(value[i], stage.last);
  for (unsigned k = 0; k < operands.destinations; ++k)
    std::memcpy(static_cast<std::byte*>(operands.to[k]) + at * sizeof(Stored), stored, count * sizeof(Stored));
}

template <class Rule>
void reduce_all(const Rule& rule, const Operands& operands, std::uint64_t bytes, Stage stage) {
  const std::uint64_t count = bytes / sizeof(typename Rule::Stored);
  for (std::uint64_t at = 0; at < count; at += kTogether)
    reduce_run(rule, operands, at, std::min(kTogether, count - at), stage);
}

}  // namespace

Pack<8> reduce_pack_on_host(const Reduction& reduction, const Pack<8> (&from)[kMostOperands], unsigned sources,
                            Stage stage) {
  Pack<8> result{};
  rules::with_rule(reduction, [&](auto rule) { result = Fixed<decltype(rule)>{rule}(from, sources, stage); });
  return result;
}

void reduce_on_host(const Reduction& reduction, const Operands& operands, std::uint64_t bytes, Stage stage) {
  // Bitwise rules take words of four bytes; what is left over goes through a padded one.
  rules::with_rule(reduction, [&](auto rule) {
    using Stored = typename decltype(rule)::Stored;
    const std::uint64_t whole = bytes / sizeof(Stored) * sizeof(Stored);
    reduce_all(rule, operands, whole, stage);
    if (whole == bytes) return;
    const std::uint64_t rest = bytes - whole;
    Stored padded[kMostOperands] = {}, result{};
    Operands tail;
    tail.sources = operands.sources;
    for (unsigned k = 0; k < operands.sources; ++k) {
      std::memcpy(&padded[k], static_cast<const std::byte*>(operands.from[k]) + whole, rest);
      tail.from[k] = &padded[k];
    }
    tail.to[0] = &result;
    tail.destinations = 1;
    reduce_run(rule, tail, 0, 1, stage);
    for (unsigned k = 0; k < operands.destinations; ++k)
      std::memcpy(static_cast<std::byte*>(operands.to[k]) + whole, &result, rest);
  });
}

}  // namespace sennit::device
