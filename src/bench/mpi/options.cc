#include "bench/mpi/options.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/units.h"
#include "bench/mpi/numbers.h"

namespace sennit::bench::mpi {

namespace {

/// Lists the sizes; without GPUs they go up to 4 MiB.
constexpr std::array kSizes = {std::uint64_t{8}, std::uint64_t{64}, KiB,       4 * KiB,
                               16 * KiB,         64 * KiB,          256 * KiB, MiB,
                               4 * MiB,          16 * MiB,          64 * MiB,  256 * MiB};

Result<std::vector<std::uint64_t>> sizes_of(const Options& options, unsigned width, bool fast) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& text : options.sizes) {
    auto bytes = parse_bytes(text);
    if (!bytes) return std::move(bytes).status().in("--sizes");
    if (*bytes == 0 || *bytes % width != 0)
      return Status(Code::invalid_argument, fmt::format("{} bytes are no whole number of {}", *bytes, options.type),
                    "--sizes", "Use a multiple of the element");
    sizes.push_back(*bytes);
  }
  if (sizes.empty())
    std::ranges::copy_if(kSizes, std::back_inserter(sizes),
                         [&](std::uint64_t each) { return fast || each <= 4 * MiB; });
  return sizes;
}

Result<std::vector<Benchmark>> benchmarks_of(const Options& options) {
  std::vector<Benchmark> benchmarks;
  for (const std::string& text : options.operations) {
    auto named = parse_benchmarks(text);
    if (!named) return std::move(named).status().in("--operations");
    std::ranges::copy_if(*named, std::back_inserter(benchmarks),
                         [&](const Benchmark& each) { return std::ranges::count(benchmarks, each) == 0; });
  }
  return benchmarks;
}

}  // namespace

void add_options(CLI::App& app, Options& options) {
  app.add_option("--operations", options.operations,
                 "What to measure: latency, bandwidth, put and the like, a collective by MPI's name, any by the name "
                 "that OSU has for it (osu_bw or bw), or a group: osu, all")
      ->delimiter(',');
  app.add_option("--sizes", options.sizes,
                 "Sizes of a message such as 8,64K,4M; default 8 to 256M, without GPUs to 4M")
      ->delimiter(',');
  app.add_option("--window", options.windows, "Messages in flight of bandwidths; default 1,64")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096));
  app.add_option("--buffers", options.buffers,
                 "gpu (default where there are GPUs), host, managed, or between two ranks gpu_host and host_gpu: of "
                 "the one that sends or calls, of the other")
      ->delimiter(',')
      ->check(CLI::IsMember({"gpu", "host", "gpu_host", "host_gpu", "managed"}));
  app.add_flag("--in-place", options.in_place, "Collectives in place as well, where MPI has that");
  app.add_option("--type", options.type,
                 "Element type, such as float32 (default), int32, or by MPI's name: char, int, float");
  app.add_option("--op", options.op, "Operator, such as sum (default), max, bit_and");
  app.add_option("--vs", options.versus,
                 "Measured in turns with sennit: by_hand (GPU buffers copied to pinned memory and back) and mpi (the "
                 "MPI itself); default both; or none. recorded: by an observer, with SENNIT_DISABLE, or by "
                 "a profiling library that is preloaded, with SENNIT_OBSERVER")
      ->delimiter(',')
      ->check(CLI::IsMember({"by_hand", "mpi", kRecorded, "none"}));
  app.add_flag("--direct", options.direct, "This MPI takes GPU buffers itself: give them to it as well");
  app.add_option("--library", options.library, "The MPI's library; default: the one that belongs to the launcher");
  app.add_option("--bind", options.bind,
                 "auto (each rank to a core of its own where the launcher left that open), cores or none")
      ->check(CLI::IsMember({"auto", "cores", "none"}));
  app.add_option("--ranks-per-node", options.ranks_per_node,
                 "Take each so many ranks of this machine for a node: what leaves it goes through the MPI")
      ->check(CLI::Range(1, 4096));
  app.add_option(
         "--patterns", options.patterns,
         "Instead of --operations: exchanges of the patterns and by the maps that `sennit-map variants` wrote "
         "to this file")
      ->check(CLI::ExistingFile);
  app.add_option("--over", options.over, "What carries those exchanges: mpi (default), or nccl as grouped sends")
      ->delimiter(',')
      ->check(CLI::IsMember({"mpi", "nccl"}));
  app.add_option("--nccl", options.nccl, "libnccl.so.2, or the folder that holds it");
  app.add_option("--seconds", options.seconds, "Time for each variant of each size")
      ->check(CLI::Range(0.001, 3600.0));
  app.add_flag("--progress", options.progress, "Report progress on stderr, one JSON line a step");
}

Result<std::vector<Buffers>> buffers_of(const Options& options, bool gpus) {
  std::vector<Buffers> places;
  for (const std::string& text : options.buffers) {
    auto buffers = parse_buffers(text);
    if (!buffers) return std::move(buffers).status().in("--buffers");
    places.push_back(*buffers);
  }
  if (places.empty()) places = {gpus ? Buffers::gpu : Buffers::host};
  return places;
}

std::vector<Over> over_of(const Options& options) {
  std::vector<Over> found;
  for (const Over each : {Over::mpi, Over::nccl})
    if (std::ranges::count(options.over, name(each)) != 0) found.push_back(each);
  return found;
}

Status check_nodes(const Options& options, int ranks) {
  if (options.ranks_per_node != 0 && ranks % options.ranks_per_node != 0)
    return Status(Code::invalid_argument,
                  fmt::format("{} ranks are no whole number of nodes of {}", ranks, options.ranks_per_node),
                  "--ranks-per-node", "Start a multiple of it");
  return {};
}

bool Options::against(std::string_view peer) const {
  return versus.empty() || std::ranges::count(versus, peer) != 0;
}

Result<Cases> cases_of(const Options& options, bool fast, bool gpus, int ranks) {
  const auto numbers = parse_numbers(options.type, options.op);
  if (!numbers) return numbers.status();
  auto benchmarks = benchmarks_of(options);
  if (!benchmarks) return benchmarks.status();
  auto sizes = sizes_of(options, device::bytes_of(numbers->reduction.type), fast);
  if (!sizes) return sizes.status();
  const auto places = buffers_of(options, gpus);
  if (!places) return places.status();
  Cases cases;
  const auto add = [&](const Case& one) {
    if (std::ranges::count(cases.list, one) != 0) return;
    if (Layout::room(one, ranks) <= kMostBytes)
      cases.list.push_back(one);
    else if (!options.sizes.empty())
      cases.warnings.push_back(fmt::format("{} is left out: a rank would need {} for it; use smaller --sizes.",
                                           describe(one), format_bytes(Layout::room(one, ranks))));
  };
  for (const auto& [operation, style] : *benchmarks) {
    if (!has_size(operation)) {
      add({operation, places->front(), 0, 1, false, style});
      continue;
    }
    const auto own = is_atomic(operation) ? std::vector<std::uint64_t>{8} : *sizes;
    for (const Buffers buffers : *places) {
      if (!is_of_two(operation) && (buffers == Buffers::gpu_host || buffers == Buffers::host_gpu)) continue;
      for (const int window : has_window(operation) ? options.windows : std::vector<int>{1})
        for (const bool in_place : {false, true}) {
          if (in_place && !(options.in_place && can_be_in_place(operation))) continue;
          for (const std::uint64_t bytes : own) add({operation, buffers, bytes, window, in_place, style});
        }
    }
  }
  if (cases.list.empty())
    return Status(Code::invalid_argument, "nothing is left to measure", "--operations, --buffers, --sizes",
                  "Collectives need --buffers gpu or host; buffers may have 1 GiB");
  return cases;
}

}  // namespace sennit::bench::mpi
