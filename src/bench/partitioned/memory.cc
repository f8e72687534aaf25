#include "bench/partitioned/memory.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::bench::partitioned {

namespace {

/// It is odd, so that all words of a message differ.
constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;

std::uint64_t word(std::uint64_t index, int iteration) {
  return index * kStep + std::uint64_t(iteration) * 0x0101010101010101;
}

template <class Visit>
void each_word(std::size_t bytes, int iteration, const Visit& visit) {
  for (std::size_t at = 0; at < bytes; at += 8)
    visit(at, std::min<std::size_t>(8, bytes - at), word(at / 8, iteration));
}

}  // namespace

void fill(std::span<std::byte> message, int iteration) {
  each_word(message.size(), iteration, [&](std::size_t at, std::size_t bytes, std::uint64_t value) {
    std::memcpy(message.data() + at, &value, bytes);
  });
}

void spoil(std::span<std::byte> message, int iteration) {
  each_word(message.size(), iteration, [&](std::size_t at, std::size_t bytes, std::uint64_t value) {
    value = ~value;
    std::memcpy(message.data() + at, &value, bytes);
  });
}

std::optional<std::uint64_t> first_wrong(std::span<const std::byte> message, int iteration) {
  std::optional<std::uint64_t> wrong;
  each_word(message.size(), iteration, [&](std::size_t at, std::size_t bytes, std::uint64_t value) {
    if (wrong || std::memcmp(message.data() + at, &value, bytes) == 0) return;
    std::array<std::byte, 8> right{};
    std::memcpy(right.data(), &value, 8);
    const auto* const found = std::mismatch(message.data() + at, message.data() + at + bytes, right.data()).first;
    wrong = std::uint64_t(found - message.data());
  });
  return wrong;
}

std::uint64_t last_level_cache() {
  std::uint64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream stream(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));
    std::string text;
    if (!(stream >> text)) break;
    if (const auto bytes = parse_bytes(text)) largest = std::max(largest, *bytes);
  }
  return largest > 0 ? largest : 32 * MiB;
}

void Flush::operator()() {
  constexpr std::size_t kLine = 64;  // of every processor that this runs on, or more
  for (std::size_t at = 0; at < lines_.size(); at += kLine) {
    volatile std::uint8_t& byte = lines_[at];
    byte = std::uint8_t(byte + 1);
  }
}

}  // namespace sennit::bench::partitioned
