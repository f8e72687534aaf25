#include "bench/partitioned/noise.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numbers>
#include <utility>

#include <fmt/format.h>

namespace sennit::bench::partitioned {

namespace {

using NoiseKind = Noise::Kind;

constexpr std::array<std::pair<std::string_view, NoiseKind>, 7> kNoises = {{{"none", NoiseKind::none},
                                                                            {"single", NoiseKind::single},
                                                                            {"uniform", NoiseKind::uniform},
                                                                            {"gaussian", NoiseKind::gaussian},
                                                                            {"laggard", NoiseKind::laggard},
                                                                            {"exponential", NoiseKind::exponential},
                                                                            {"replay", NoiseKind::replayed}}};
constexpr std::string_view kPerMegabyte = "us/MB";
constexpr double kMostAmount = 1e6;  // of an amount: a limit that keeps every time finite

/// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): every bit depends on every bit.
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

bool number_from(std::string_view text, double& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc{} && read.ptr == text.data() + text.size() && std::isfinite(number) && number >= 0;
}

Status unknown(std::string_view text) {
  return Status(Code::invalid_argument, fmt::format("'{}' is no noise", text), "--noise",
                "Use none, single:4, uniform:4, gaussian:4 or exponential:4 (%), laggard:100us/MB, or replay:FILE");
}

Result<Noise> replayed(std::string_view file) {
  std::ifstream stream{std::string(file)};
  if (!stream)
    return Status(Code::invalid_argument, fmt::format("{} cannot be read", file), "--noise", "Check the name");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  auto recorded = parse_recorded(text);
  if (!recorded) return std::move(recorded).status().in(file);
  return Noise{NoiseKind::replayed, 0, std::string(file), std::make_shared<const Recorded>(std::move(*recorded))};
}

}  // namespace

double uniform(std::uint64_t seed, std::uint64_t first, std::uint64_t second, std::uint64_t third) {
  const std::uint64_t bits = mixed(mixed(mixed(mixed(seed) ^ first) ^ second) ^ third);
  return double(bits >> 11) * 0x1p-53;
}

std::string Noise::text() const {
  const auto name = std::ranges::find(kNoises, kind, &std::pair<std::string_view, NoiseKind>::second)->first;
  if (kind == NoiseKind::none) return std::string(name);
  if (kind == NoiseKind::replayed) return fmt::format("{}:{}", name, std::filesystem::path(file).filename().string());
  return fmt::format("{}:{:g}{}", name, amount, kind == NoiseKind::laggard ? kPerMegabyte : "");
}

Result<Noise> parse_noise(std::string_view text) {
  const auto colon = text.find(':');
  const auto found =
      std::ranges::find(kNoises, text.substr(0, colon), &std::pair<std::string_view, NoiseKind>::first);
  if (found == kNoises.end()) return unknown(text);
  Noise noise{found->second};
  if (noise.kind == NoiseKind::none) return colon == text.npos ? Result<Noise>(noise) : unknown(text);
  if (colon == text.npos) return unknown(text);
  std::string_view amount = text.substr(colon + 1);
  if (noise.kind == NoiseKind::replayed) return replayed(amount);
  if (noise.kind == NoiseKind::laggard) {
    if (!amount.ends_with(kPerMegabyte)) return unknown(text);
    amount.remove_suffix(kPerMegabyte.size());
  }
  if (!number_from(amount, noise.amount) || noise.amount > kMostAmount) return unknown(text);
  return noise;
}

Result<Recorded> parse_recorded(std::string_view text) {
  Recorded recorded;
  int number = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.starts_with('#')) continue;
    std::vector<double> threads;
    constexpr std::string_view kBetween = " \t\r,";
    for (auto at = line.find_first_not_of(kBetween); at != line.npos; at = line.find_first_not_of(kBetween)) {
      line.remove_prefix(at);
      const std::string_view word = line.substr(0, line.find_first_of(kBetween));
      double us = 0;
      if (!number_from(word, us) || us > 1e9)
        return Status(Code::invalid_argument, fmt::format("'{}' is no time in µs", word),
                      fmt::format("line {}", number), "Write a line an iteration, in it the µs of each thread");
      threads.push_back(us);
      line.remove_prefix(word.size());
    }
    if (!threads.empty()) recorded.push_back(std::move(threads));
  }
  if (recorded.empty())
    return Status(Code::invalid_argument, "there is no time in it", {},
                  "Write a line an iteration, in it the µs of each thread");
  return recorded;
}

Work work(const Noise& noise, const Draw& draw, double compute_us, std::uint64_t bytes) {
  const auto drawn = [&](std::uint64_t which) {
    return uniform(draw.seed, std::uint64_t(draw.iteration), std::uint64_t(draw.thread), which);
  };
  const double partition = noise.amount / 100;
  switch (noise.kind) {
    case NoiseKind::none: break;
    case NoiseKind::single: return {compute_us * (draw.thread == 0 ? 1 + partition : 1)};
    case NoiseKind::uniform: return {compute_us * (1 + partition * drawn(0))};
    case NoiseKind::gaussian: {
      // Box and Muller's: the standard library's distribution differs from one to the next.
      const double normal = std::sqrt(-2 * std::log(1 - drawn(0))) * std::cos(2 * std::numbers::pi * drawn(1));
      return {std::max(0.0, compute_us * (1 + partition * normal))};
    }
    case NoiseKind::laggard:
      return {compute_us, draw.thread == draw.threads - 1 ? noise.amount * double(bytes) / 1e6 : 0};
    case NoiseKind::exponential: return {compute_us * (1 - partition * std::log(1 - drawn(0)))};
    case NoiseKind::replayed: {
      const auto& line = (*noise.recorded)[std::size_t(draw.iteration) % noise.recorded->size()];
      return {line[std::size_t(draw.thread) % line.size()]};
    }
  }
  return {compute_us};
}

}  // namespace sennit::bench::partitioned
