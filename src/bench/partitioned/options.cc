#include "bench/partitioned/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::bench::partitioned {

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;  // MPI counts a partition's bytes by an int
constexpr int kMostThreads = 1024;                            // limits: partition × tag, and a node's cores

constexpr std::array kSizes = {std::uint64_t{1024}, 4 * KiB, 16 * KiB, 64 * KiB, 256 * KiB, MiB, 4 * MiB, 16 * MiB};
/// A probe's messages have these sizes, each in two partitions.
constexpr std::array kProbed = {std::uint64_t{64},  KiB,     4 * KiB, 16 * KiB, 64 * KiB, 256 * KiB,
                                std::uint64_t{MiB}, 4 * MiB, 16 * MiB};

}  // namespace

void add_options(CLI::App& app, Options& options) {
  app.add_option(
      "--back-end", options.back_end,
      "What sends: single, threads, persistent, persistent_partitions, mpi (default), rma_flush or rma_pscw; "
      "each in turns with single");
  app.add_option("--probe", options.probe,
                 "Instead: what MPI's partitioned messages do here: early, start_all, before_start or while_waiting");
  app.add_option("--sizes", options.sizes, "Of a message, such as 64K,1M; default 1K to 16M")->delimiter(',');
  app.add_option("--pattern", options.pattern,
                 "Instead of one message: sweep3d or halo3d, between all ranks, where --sizes are those of a face");
  app.add_option("--planes", options.planes, "Of a pattern: planes of each octant of a sweep, iterations of a halo")
      ->check(CLI::Range(1, 1024));
  app.add_option("--partitions", options.partitions, "Partitions of a message, such as 1,4,16")
      ->delimiter(',')
      ->check(CLI::Range(1, kMostPartitions));
  app.add_option("--threads", options.threads, "Of the sender; default: one a partition, as far as there are cores")
      ->check(CLI::Range(0, kMostThreads));
  app.add_option("--compute", options.compute, "Of each thread before its last partition is ready, such as 10ms");
  app.add_option("--noise", options.noises,
                 "In that: none, single:4, uniform:4, gaussian:4, exponential:4 (%), laggard:100us/MB, replay:FILE")
      ->delimiter(',');
  app.add_option("--order", options.orders, "Of partitions: linear, inverse, stride:4, random, burst:8")
      ->delimiter(',');
  app.add_option("--cache", options.caches, "hot, cold (twice the last cache is written before) or both")
      ->delimiter(',')
      ->check(CLI::IsMember({"hot", "cold"}));
  app.add_option("--seconds", options.seconds, "Longest time for each line")->check(CLI::Range(0.001, 3600.0));
  app.add_option("--limit", options.limit, "Seconds after which a message hangs")->check(CLI::Range(0.1, 3600.0));
  app.add_option("--seed", options.seed, "Of noise and random orders");
  app.add_option("--skip", options.skip, "Lines that are done already, by number from 0, such as 0,1,5")
      ->delimiter(',')
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--library", options.library, "The MPI's library; default: the one that belongs to the launcher");
  app.add_flag("--progress", options.progress, "Report progress and lines on stderr, in JSON");
}

Result<double> parse_duration(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
      {{"us", 1}, {"µs", 1}, {"ms", 1e3}, {"s", 1e6}}};
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(std::size_t(read.ptr - text.data()));
  const auto found = std::ranges::find(kUnits, unit, &std::pair<std::string_view, double>::first);
  const bool known = read.ec == std::errc{} && std::isfinite(number) && number >= 0;
  if (known && unit.empty() && number == 0) return 0.0;
  if (known && found != kUnits.end() && number * found->second <= 60e6) return number * found->second;
  return Status(Code::invalid_argument, fmt::format("'{}' is no time up to a minute", text), {},
                "Use a number with its unit, such as 10ms or 250us");
}

Result<std::vector<std::uint64_t>> sizes_of(const Options& options) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& text : options.sizes) {
    auto bytes = parse_bytes(text);
    if (!bytes) return std::move(bytes).status().in("--sizes");
    if (*bytes == 0 || *bytes > kMostBytes)
      return Status(Code::invalid_argument, fmt::format("a message of {} cannot be measured", format_bytes(*bytes)),
                    "--sizes", "Use 1 byte to 1 GiB");
    sizes.push_back(*bytes);
  }
  if (sizes.empty() && options.probe.empty()) sizes.assign(kSizes.begin(), kSizes.end());
  if (sizes.empty()) sizes.assign(kProbed.begin(), kProbed.end());
  return sizes;
}

std::string Cell::text() const {
  return fmt::format("{}, {} in {} {}, {}, {}, {}", name(back_end), format_bytes(plan.bytes), plan.crew.partitions,
                     plan.crew.partitions == 1 ? "partition" : "partitions", plan.noise.text(), plan.order.text(),
                     cold ? "cold" : "hot");
}

Result<std::vector<Cell>> cells_of(const Options& options, int cores) {
  const auto back_end = parse_back_end(options.back_end);
  if (!back_end) return back_end.status();
  if (!options.pattern.empty()) {
    if (auto pattern = parse_pattern(options.pattern); !pattern) return pattern.status();
    if (!is_between_two(*back_end))
      return Status(Code::invalid_argument, fmt::format("{} has no pattern", name(*back_end)), "--back-end",
                    "A window is made by all ranks of a communicator: use another back end");
    if (options.caches != std::vector<std::string>{"hot"})
      return Status(Code::invalid_argument, "a pattern has its caches as they are", "--cache", "Leave it out");
  }
  auto compute_us = parse_duration(options.compute);
  if (!compute_us) return std::move(compute_us).status().in("--compute");
  const auto sizes = sizes_of(options);
  if (!sizes) return sizes.status();
  std::vector<Cell> cells;
  int count = 0;
  for (const std::string& cache : options.caches)
    for (const std::string& noise_text : options.noises) {
      auto noise = parse_noise(noise_text);
      if (!noise) return noise.status();
      for (const std::string& order_text : options.orders) {
        const auto order = parse_order(order_text);
        if (!order) return order.status();
        for (const int partitions : options.partitions)
          for (const std::uint64_t bytes : *sizes) {
            const int threads = options.threads > 0 ? options.threads : std::clamp(cores, 1, partitions);
            const int line = count++;
            if (std::ranges::find(options.skip, line) != options.skip.end()) continue;
            const Plan plan{{threads, partitions}, bytes, *compute_us, *noise, *order, options.seed};
            cells.push_back({*back_end, plan, cache == "cold", line});
          }
      }
    }
  return cells;
}

}  // namespace sennit::bench::partitioned
