#include "bench/collective/options.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::bench::collective {

void add_options(CLI::App& app, Options& options) {
  app.add_option("--operations", options.operations, "What to measure: allreduce (default), allgather, …, or all")
      ->delimiter(',');
  app.add_option("--sizes", options.sizes, "Sizes such as 4K,64M; default 1K to 1G times four, without GPUs to 16M")
      ->delimiter(',');
  app.add_option("--type", options.type, "Element type, such as float32 (default), bfloat16, int64");
  app.add_option("--op", options.op, "Operator, such as sum (default), max, average, bit_and");
  app.add_option("--vs", options.versus,
                 "Measured in the same run: nccl (default with GPUs), nccl_windows (on memory registered with it), "
                 "nccl_nowin (with NCCL_SYM_NOWIN_ENABLE=1)")
      ->delimiter(',')
      ->check(CLI::IsMember({"nccl", "nccl_windows", "nccl_nowin", "none"}));
  app.add_option("--algorithms", options.algorithms, "Also each of these, or `all`, with --blocks and --threads")
      ->delimiter(',');
  app.add_option("--blocks", options.blocks, "Blocks for --algorithms; default 1")
      ->delimiter(',')
      ->check(CLI::Range(1u, coll::kMostBlocks));
  app.add_option("--threads", options.threads, "Threads of a block for --algorithms; default 512")
      ->delimiter(',')
      ->check(CLI::Range(32u, device::kBlockThreads));
  app.add_option("--ranks", options.ranks, "Processes to start; default one a GPU, four without GPUs")
      ->check(CLI::Range(1, coll::kMostRanks));
  app.add_option("--seconds", options.seconds, "Time for each variant of each size")
      ->check(CLI::Range(0.001, 3600.0));
  app.add_option("--skew", options.skew_us, "Microseconds by which the last rank starts each run later; default 0")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--executor", options.executor, "auto (GPUs where they answer), cuda or host")
      ->check(CLI::IsMember({"auto", "cuda", "host"}));
  app.add_option("--nccl", options.nccl, "libnccl.so.2, or the folder that holds it");
  app.add_flag("--out-of-place", options.out_of_place, "Into another buffer, instead of in place");
  app.add_flag("--registered", options.registered, "Buffers registered as symmetric windows");
  app.add_flag("--eager", options.eager, "Call by call, instead of as a CUDA graph");
  app.add_flag("--waited", options.waited, "Call by call, each waited for before the next, as programs of MPI do");
  app.add_flag("--progress", options.progress, "Report progress on stderr, one JSON line a step");
  app.add_flag("--rank", options.rank)->group("");
  app.add_option("--only", options.only)->group("");
}

bool Options::against(std::string_view peer) const {
  return std::ranges::count(versus, peer) != 0;
}

Result<std::vector<coll::Operation>> operations_of(const Options& options) {
  std::vector<coll::Operation> operations;
  const auto add = [&](coll::Operation operation) {
    if (std::ranges::count(operations, operation) == 0) operations.push_back(operation);
  };
  for (const std::string& text : options.operations) {
    if (text == "all") {
      std::ranges::for_each(coll::all_operations(), add);
      continue;
    }
    auto operation = coll::parse_operation(text);
    if (!operation) return std::move(operation).status().in("--operations");
    add(*operation);
  }
  return operations;
}

Result<std::vector<std::uint64_t>> sizes_of(const Options& options, bool gpus) {
  auto type = device::parse_type(options.type);
  if (!type) return std::move(type).status().in("--type");
  std::vector<std::uint64_t> sizes;
  for (const std::string& text : options.sizes) {
    auto bytes = parse_bytes(text);
    if (!bytes) return std::move(bytes).status().in("--sizes");
    if (*bytes == 0 || *bytes % device::bytes_of(*type) != 0)
      return Status(Code::invalid_argument, fmt::format("{} bytes are no whole number of {}", *bytes, options.type),
                    "--sizes", "Use a multiple of the element");
    sizes.push_back(*bytes);
  }
  if (sizes.empty())
    for (std::uint64_t bytes = KiB; bytes <= (gpus ? GiB : 16 * MiB); bytes *= 4) sizes.push_back(bytes);
  return sizes;
}

Result<std::vector<coll::Plan>> plans_of(const Options& options, coll::Operation operation) {
  std::vector<coll::Algorithm> algorithms;
  for (const std::string& text : options.algorithms) {
    if (text == "all") {
      const auto all = coll::algorithms_of(operation);
      algorithms.insert(algorithms.end(), all.begin(), all.end());
      continue;
    }
    auto algorithm = coll::parse_algorithm(operation, text);
    if (!algorithm) return std::move(algorithm).status().in("--algorithms");
    algorithms.push_back(*algorithm);
  }
  std::vector<coll::Plan> plans;
  for (const coll::Algorithm algorithm : algorithms)
    for (const unsigned blocks : options.blocks.empty() ? std::vector{1u} : options.blocks)
      for (const unsigned threads : options.threads.empty() ? std::vector{device::kBlockThreads} : options.threads) {
        if (threads % 32 != 0)
          return Status(Code::invalid_argument, fmt::format("{} threads are no whole warps", threads), "--threads",
                        "Use a multiple of 32");
        plans.push_back({algorithm, blocks, threads});
      }
  return plans;
}

}  // namespace sennit::bench::collective
