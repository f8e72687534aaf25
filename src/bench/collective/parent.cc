#include "bench/collective/parent.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include <fmt/format.h>

#include "bench/collective/rank.h"
#include "bench/put/child.h"
#include "bench/put/result.h"
#include "bench/put/version.h"
#include "machine/known.h"
#include "node/extras.h"
#include "plan/figures.h"

namespace sennit::bench::collective {

namespace {

/// Returns the rate of exchanges between the first so many GPUs, one a rank; 0 where it was not measured.
double links_gbps(const machine::Machine& machine, int ranks) {
  plan::Layout layout;
  for (const machine::Device& device : machine.devices)
    if (device.kind == machine::DeviceKind::gpu && layout.size() < static_cast<std::size_t>(ranks))
      layout.push_back(device.id);
  return layout.size() < static_cast<std::size_t>(ranks) ? 0 : plan::exchange_gbps(machine, layout);
}

constexpr const char* kNoWin = "nccl_nowin";
constexpr const char* kSwitch = "NCCL_SYM_NOWIN_ENABLE";

}  // namespace

Result<int> ranks_for(const device::Executor& executor, int wanted) {
  const bool gpus = executor.kind() == device::Kind::cuda;
  const int devices = int(executor.devices().size());
  const int ranks = wanted != 0 ? wanted : gpus ? std::min(devices, coll::kMostRanks) : 4;
  if (ranks < 2)
    return Status(Code::unsupported, "one rank has nobody to talk to", {},
                  "Run where there are two GPUs, or give --executor host");
  // Kernels of two processes on one GPU take turns, and would wait for each other for ever.
  if (gpus && ranks > devices)
    return Status(Code::unsupported, fmt::format("{} ranks need a GPU each, {} are here", ranks, devices), "--ranks",
                  fmt::format("Use at most {}", devices));
  return ranks;
}

Result<Exit> run_parent(const Options& options, const std::vector<std::string>& arguments) {
  if (!options.executor.empty()) ::setenv("SENNIT_EXECUTOR", options.executor.c_str(), 1);
  auto executor = device::open_executor();
  if (!executor) return executor.status();
  const bool gpus = (*executor)->kind() == device::Kind::cuda;
  // Wrong usage should be told at once, before processes are started.
  auto sizes = sizes_of(options, gpus);
  if (!sizes) return sizes.status();
  auto operations = operations_of(options);
  if (!operations) return operations.status();
  for (const coll::Operation operation : *operations)
    if (auto plans = plans_of(options, operation); !plans) return plans.status();
  auto op = device::parse_operator(options.op);
  if (!op) return std::move(op).status().in("--op");
  if (!device::supports(*device::parse_type(options.type), *op))
    return Status(Code::invalid_argument, fmt::format("{} is not for {}", options.op, options.type), "--op",
                  "Bit and logical operators are for integers");
  auto ranks = ranks_for(**executor, options.ranks);
  if (!ranks) return ranks.status();
  auto known = machine::known_machine("", device::name((*executor)->kind()), node::extras_of(**executor));
  if (!known) return known.status();

  std::optional<Exit> ended;
  const auto job = [&](const std::string& only) -> Result<Json> {
    comm::Launch launch;
    launch.ranks = *ranks;
    launch.command = {put::own_program().string(), "--rank"};
    launch.command.insert(launch.command.end(), arguments.begin(), arguments.end());
    if (!only.empty()) launch.command.insert(launch.command.end(), {"--only", only});
    if (options.against(kNoWin))  // one job with it, the other without
      launch.environment = [on = only == kNoWin](int) {
        return std::map<std::string, std::string>{{kSwitch, on ? "1" : "0"}};
      };
    auto child = put::run_child(std::move(launch), put::kOutcomePrefix, options.progress);
    if (!child) return child.status();
    if (child->ended.status != 0) {
      ended = put::end_as(*child, "bench collective");
      return Json();
    }
    return parse_json(child->document, "what rank 0 printed");
  };
  auto found = job("");
  if (ended) return *ended;
  if (!found) return found.status();
  // NCCL reads its switches once in a process: a job of its own.
  if (options.against(kNoWin) && gpus) {
    auto more = job(kNoWin);
    if (ended) return *ended;
    if (!more) return more.status();
    for (const char* member : {"rows", "warnings"})
      for (Json& each : more->at(member)) found->at(member).push_back(std::move(each));
    found->at("versions").update(more->at("versions"));
  }

  put::Outcome outcome;
  outcome.warnings = found->at("warnings").get<std::vector<std::string>>();
  outcome.versions = found->at("versions").get<std::map<std::string, std::string>>();
  outcome.versions["sennit"] = put::version();
  Json settings = {{"executor", std::string(device::name((*executor)->kind()))},
                   {"ranks", *ranks},
                   {"seconds", options.seconds},
                   {"registered", options.registered},
                   {"sizes", *sizes},
                   {"scratch_bytes", found->at("scratch_bytes")}};
  if (outcome.versions.contains("nccl")) {
    const char* multicast = std::getenv("NCCL_NVLS_ENABLE");
    settings["NCCL_NVLS_ENABLE"] = multicast != nullptr ? multicast : "as NCCL decides";
  }
  Json document =
      put::document(known->machine, found->at("devices").get<std::vector<std::string>>(), settings, outcome);
  document["kind"] = "bench collective";
  document["links_gbps"] = links_gbps(known->machine, *ranks);
  document["rows"] = found->at("rows");
  print(document);
  return Exit::ok;
}

}  // namespace sennit::bench::collective
