#include "bench/put/options.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.h"

namespace sennit::bench::put {

void add_options(CLI::App& app, Options& options) {
  const CLI::IsMember peers({"engine", "host", "nccl", "ucx"});
  app.add_option("--from", options.from, "Where messages start: gpu0, host0, a UUID or a PCI address");
  app.add_option("--to", options.to, "Where they end");
  app.add_option("--pairs", options.pairs, "Instead of --from and --to: first (gpu0 → gpu1), or all, in turn")
      ->check(CLI::IsMember({"first", "all"}));
  app.add_option("--sizes", options.sizes,
                 "Sizes such as 4K,64M; default 4K to 1G times four, and 32M; without GPUs to 16M")
      ->delimiter(',');
  app.add_option("--traffic", options.traffic, "one_way (default), both_ways, or both of them")
      ->delimiter(',')
      ->check(CLI::IsMember({"one_way", "both_ways"}));
  app.add_option("--window", options.windows, "Messages in flight before the sender waits; default 1")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096));
  app.add_option("--vs", options.versus, "Measured in the same run, any of: engine, host, nccl, ucx; default all")
      ->delimiter(',')
      ->check(peers);
  app.add_option("--executor", options.executor, "auto (GPUs where they answer), cuda or host")
      ->check(CLI::IsMember({"auto", "cuda", "host"}));
  app.add_option("--machine", options.machine, "Machine to plan from: a shipped one's name, or a file");
  app.add_option("--split", options.split, "Shares that sennit is to use, such as direct=0.9,host0 (sm)=0.1");
  app.add_option("--ranks", options.ranks, "Processes to start for a pair of GPUs; those beyond two only wait")
      ->check(CLI::Range(2, 256));
  app.add_option("--seconds", options.seconds, "Time for each variant of each size")
      ->check(CLI::Range(0.001, 3600.0));
  app.add_option("--nccl", options.nccl, "libnccl.so.2, or the folder that holds it");
  app.add_option("--ucx-perftest", options.ucx, "ucx_perftest; default: the one on PATH");
  app.add_flag("--no-measure", options.no_measure, "Do not measure this machine first where it never was");
  app.add_flag("--setup", options.setup, "Also measure how long a communicator takes to set up");
  app.add_flag("--check", options.check)->group("");  // of wrong usage, before others measure the machine
  app.add_flag("--progress", options.progress, "Report progress on stderr, one JSON line a step");
  app.add_option("--job", options.job)->group("");
}

Result<std::vector<Case>> cases_of(const Options& options, device::Kind kind) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& text : options.sizes) {
    auto bytes = parse_bytes(text);
    if (!bytes) return std::move(bytes).status().in("--sizes");
    if (*bytes == 0)
      return Status(Code::invalid_argument, "a message of 0 bytes has no bandwidth", "--sizes", "Begin with 1");
    sizes.push_back(*bytes);
  }
  if (sizes.empty())
    for (std::uint64_t bytes = 4 * KiB; bytes <= (kind == device::Kind::host ? 16 * MiB : GiB); bytes *= 4) {
      // Several paths begin to pay between GPUs at this size.
      if (bytes == 64 * MiB) sizes.push_back(32 * MiB);
      sizes.push_back(bytes);
    }
  std::vector<Case> cases;
  for (const std::uint64_t bytes : sizes)
    for (const bool both_ways : {false, true}) {
      const bool named = std::ranges::count(options.traffic, traffic_name(both_ways)) > 0;
      if (options.traffic.empty() ? both_ways : !named) continue;
      for (const int window : options.windows) {
        const Case one{bytes, both_ways, window};
        if (std::ranges::count(cases, one) == 0) cases.push_back(one);
      }
    }
  return cases;
}

namespace {

Result<Endpoint> endpoint(const std::string& name, const char* option, const machine::Machine& machine,
                          const std::vector<std::string>& ids, const std::string& host) {
  if (name == "host" && !host.empty()) return Endpoint{host, path::kHost};
  const machine::Device* device = machine.find(name);
  const std::string id = device != nullptr ? device->id : std::string();
  if (!id.empty() && device->kind == machine::DeviceKind::host) return Endpoint{id, path::kHost};
  if (const auto at = std::ranges::find(ids, id); !id.empty() && at != ids.end())
    return Endpoint{id, int(at - ids.begin())};
  std::vector<std::string> here;
  for (const std::string& each : ids)
    if (!each.empty()) here.push_back(each);
  if (!host.empty()) here.push_back(host);
  return Status(Code::invalid_argument,
                device != nullptr ? fmt::format("{} cannot be used by this process", name)
                                  : fmt::format("there is no device {}", name),
                option, fmt::format("Devices here, as {} names them: {}", machine.name, fmt::join(here, ", ")));
}

}  // namespace

Result<std::vector<Pair>> pairs_of(const Options& options, const machine::Machine& machine,
                                   const std::vector<std::string>& ids, const std::string& host) {
  if (options.from.empty() != options.to.empty())
    return Status(Code::invalid_argument, "--from and --to belong together", {}, "Give both, or --pairs");
  if (!options.from.empty()) {
    if (!options.pairs.empty())
      return Status(Code::invalid_argument, "--pairs chooses the ends that --from and --to name", {},
                    "Leave one out");
    auto from = endpoint(options.from, "--from", machine, ids, host);
    if (!from) return from.status();
    auto to = endpoint(options.to, "--to", machine, ids, host);
    if (!to) return to.status();
    if (from->id == to->id || (from->is_host() && to->is_host()))
      return Status(Code::invalid_argument, fmt::format("{} to {} takes no link", from->id, to->id), "--from, --to",
                    "Name two GPUs, or a GPU and host memory");
    std::vector<Pair> one(1);
    one[0].from = std::move(*from);
    one[0].to = std::move(*to);
    return one;
  }
  std::vector<Endpoint> gpus;
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (!ids[i].empty()) gpus.push_back({ids[i], int(i)});
  if (gpus.empty())
    return Status(Code::not_found, "the machine document knows none of the devices here", machine.name,
                  "Leave out --machine, or measure this machine: sennit topo --measure");
  std::vector<Pair> pairs;
  if (gpus.size() == 1) {
    pairs.resize(1);
    pairs[0].from.id = host;
    pairs[0].to = gpus[0];
    return pairs;
  }
  if (options.pairs != "all") {
    pairs.push_back({gpus[0], gpus[1]});
    return pairs;
  }
  for (const Endpoint& from : gpus)
    for (const Endpoint& to : gpus)
      if (from.id != to.id) pairs.push_back({from, to});
  return pairs;
}

}  // namespace sennit::bench::put
