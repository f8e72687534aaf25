#include "bench/machine_measure.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/environment.h"
#include "bench/measure/measurement.h"
#include "bench/measure/watchdog.h"
#include "device/executor.h"
#include "machine/cache.h"
#include "machine/discover.h"
#include "machine/document.h"
#include "machine/validate.h"

namespace sennit::bench {

namespace {

/// Most that one part of a measurement may take. A limit, far above what any takes: a copy that hangs after its path
/// was verified must not hang the user too.
constexpr std::chrono::seconds kPartLimit{60};

Result<std::shared_ptr<device::Executor>> open_named(const std::string& executor) {
  if (executor == "cuda") return device::open_cuda_executor();
  if (executor == "host") return device::open_host_executor();
  if (executor.empty()) return device::open_executor();
  auto cuda = device::open_cuda_executor();
  return cuda.ok() ? std::move(cuda) : device::open_host_executor();
}

void warn(const std::string& sentence) {
  const Json line = {{"warning", sentence}};
  fmt::print(stderr, "{}\n", line.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Result<Exit> run_measure(const MeasureOptions& options) {
  if (auto status = machine::check_cache(); !options.no_cache && !status) return status;
  auto executor = open_named(options.executor);
  if (!executor) return std::move(executor).status();
  std::vector<machine::GpuExtra> extras;
  for (const device::DeviceInfo& device : (*executor)->devices())
    extras.push_back({device.pci, device.sm_count, device.copy_engines});
  auto found = machine::this_machine(device::name((*executor)->kind()), extras);
  if (!found) return std::move(found).status();

  const Progress progress(options.progress);
  measure::Watchdog watchdog(kPartLimit, [](const std::string& what) {
    (void)fail(
        Status(Code::timed_out, fmt::format("{} did not end within {} s", what, kPartLimit.count()), "measure",
               "The GPUs or their driver hang: see `sennit doctor`, and reset the GPUs if nothing else helps"));
    std::_Exit(int(Exit::failed));
  });
  const auto step = [&](long done, long total, std::string_view what) {
    watchdog.begin(std::string(what));
    progress.step(done, total, what);
  };
  const measure::Options how = measure::default_options((*executor)->kind(), options.thorough);
  auto outcome = measure::measure(*executor, std::move(*found), how, step);
  watchdog.rest();
  if (!outcome) return std::move(outcome).status();

  for (const std::string& warning : outcome->warnings) warn(warning);
  if (auto valid = machine::validate(outcome->machine); !valid) return std::move(valid).in("measured machine");
  if (!options.no_cache) {
    auto kept = machine::store_cached(outcome->machine);
    if (!kept)
      warn(fmt::format("The result could not be kept: {} ({}). {}.", kept.status().what(), kept.status().where(),
                       kept.status().remedy()));
  }
  print(machine::to_json(outcome->machine));
  // Ending in order would wait for the copy that hangs.
  if (outcome->hung) std::_Exit(int(Exit::ok));
  return Exit::ok;
}

}  // namespace

void add_measure(Program& program, MeasureOptions& options) {
  CLI::App& command = program.command("measure", "Verify every path of this machine and measure what it delivers",
                                      [&options] { return run_measure(options); });
  command.add_option("--executor", options.executor, "auto (GPUs where they answer), cuda or host")
      ->check(CLI::IsMember({"auto", "cuda", "host"}));
  command.add_flag("--thorough", options.thorough, "Measure every pair and path itself, larger sizes, more often");
  command.add_flag("--progress", options.progress, "Report progress on stderr, one JSON line a step");
  command.add_flag("--no-cache", options.no_cache, "Print the result without keeping it");
}

}  // namespace sennit::bench
