#include "bench/tune_collectives.h"

#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "base/environment.h"
#include "bench/collective/parent.h"
#include "bench/collective/tuner.h"
#include "bench/put/child.h"
#include "coll/scratch.h"
#include "machine/cache.h"
#include "machine/known.h"
#include "node/extras.h"
#include "plan/table.h"

namespace sennit::bench {

namespace {

struct Settings {
  collective::TunerOptions tuner;
  std::string executor, file;
  int ranks = 0;  ///< 0: one a GPU; four without GPUs
  bool rank = false, check = false;
  std::vector<std::string> arguments;
};

Result<machine::Machine> machine_of(const device::Executor& executor) {
  auto known = machine::known_machine("", device::name(executor.kind()), node::extras_of(executor));
  if (!known) return known.status();
  if (known->discovered)
    return Status(Code::not_found, "this machine was never measured", {},
                  "Run: sennit tune, or sennit topo --measure");
  return std::move(known->machine);
}

/// {"file", "used", "why", "table"}: the table, and whether communicators here would follow it. `named_by`: see
/// load_table().
Result<Json> kept(const Result<std::filesystem::path>& file, const machine::Machine& machine,
                  std::string_view named_by = {}) {
  if (!file) return file.status();
  auto table = plan::load_table(*file, named_by);
  if (!table) return table.status();
  auto scratch = coll::wanted_scratch();
  if (!scratch) return scratch.status();
  const Status suited = plan::suits(*table, machine, *scratch);
  return Json{
      {"file", file->string()}, {"used", suited.ok()}, {"why", suited.what()}, {"table", plan::to_json(*table)}};
}

Result<Exit> tune_collectives(const Settings& settings) {
  if (settings.rank) return collective::run_tuner(settings.tuner);
  if (!settings.executor.empty()) ::setenv("SENNIT_EXECUTOR", settings.executor.c_str(), 1);
  auto executor = device::open_executor();
  if (!executor) return executor.status();
  // Wrong usage should be told at once, before processes are started.
  if (auto cases = collective::cases_of(settings.tuner, (*executor)->kind() == device::Kind::cuda); !cases)
    return cases.status();
  auto ranks = collective::ranks_for(**executor, settings.ranks);
  if (!ranks) return ranks.status();
  if (auto status = machine::check_cache(); !status) return status;
  if (settings.check) return Exit::ok;
  auto machine = machine_of(**executor);
  if (!machine) return machine.status();
  comm::Launch launch;
  launch.ranks = *ranks;
  launch.command = {put::own_program().string()};
  launch.command.insert(launch.command.end(), settings.arguments.begin(), settings.arguments.end());
  launch.command.emplace_back("--rank");
  auto child = put::run_child(std::move(launch), put::kOutcomePrefix, settings.tuner.progress);
  if (!child) return child.status();
  if (child->ended.status != 0) return put::end_as(*child, "tune collectives");
  auto outcome = parse_json(child->document, "what rank 0 printed");
  if (!outcome) return outcome.status();
  auto document = kept(plan::table_file(machine->fingerprint), *machine);
  if (!document) return document.status();
  document->update(*outcome);
  print(*document);
  return Exit::ok;
}

Result<Exit> show_kept(const Settings& settings) {
  if (!settings.executor.empty()) ::setenv("SENNIT_EXECUTOR", settings.executor.c_str(), 1);
  auto executor = device::open_executor();
  if (!executor) return executor.status();
  auto machine = machine_of(**executor);
  if (!machine) return machine.status();
  const std::string named = settings.file.empty() ? environment("SENNIT_TABLE") : settings.file;
  const bool left_out = settings.file.empty() && named == "none";
  const bool is_own = named.empty() || left_out;
  auto document =
      is_own ? kept(plan::table_file(machine->fingerprint), *machine)
             : kept(std::filesystem::path(named), *machine, settings.file.empty() ? "SENNIT_TABLE" : "the path");
  if (!document) return is_own ? document.status() : of_arguments(document.status());
  if (left_out) {
    (*document)["used"] = false;
    (*document)["why"] = "SENNIT_TABLE=none leaves it out";
  }
  (*document)["warnings"] = Json::array();
  (*document)["left"] = 0;
  print(*document);
  return Exit::ok;
}

}  // namespace

void add_collectives(Program& program, std::vector<std::string> arguments) {
  const auto settings = std::make_shared<Settings>();
  settings->arguments = std::move(arguments);
  CLI::App& tuning = program.command("collectives", "Find the fastest plan of each collective and size, and keep it",
                                     [settings] { return tune_collectives(*settings); });
  collective::TunerOptions& tuner = settings->tuner;
  const CLI::IsMember executors({"auto", "cuda", "host"});
  tuning.add_option("--operations", tuner.operations, "Such as allreduce,allgather; default all")->delimiter(',');
  tuning.add_option("--sizes", tuner.sizes, "Of one message, such as 4K,64M; default 1K to 256M times four")
      ->delimiter(',');
  tuning.add_option("--ranks", settings->ranks, "Processes to start; default one a GPU, four without GPUs")
      ->check(CLI::Range(2, coll::kMostRanks));
  tuning.add_option("--budget", tuner.budget_s, "Seconds; what does not fit is left for the next time")
      ->check(CLI::Range(0.1, 86400.0));
  tuning.add_option("--vs", tuner.versus, "Measured in the same run: nccl (default with GPUs)")
      ->delimiter(',')
      ->check(CLI::IsMember({"nccl", "none"}));
  tuning.add_option("--nccl", tuner.nccl, "libnccl.so.2, or the folder that holds it");
  tuning.add_option("--executor", settings->executor, "auto (GPUs where they answer), cuda or host")
      ->check(executors);
  tuning.add_flag("--thorough", tuner.thorough, "Every power of two, and float64 beside float32");
  tuning.add_flag("--again", tuner.again, "Also what was tuned before");
  tuning.add_flag("--progress", tuner.progress, "Report progress on stderr, one JSON line a step");
  tuning.add_flag("--check", settings->check)->group("");  // of wrong usage, before others measure the machine
  tuning.add_flag("--rank", settings->rank)->group("");
  CLI::App& showing = program.command("kept", "The table of collectives that was kept, and whether it is used here",
                                      [settings] { return show_kept(*settings); });
  showing.add_option("--table", settings->file, "A file instead of this machine's own");
  showing.add_option("--executor", settings->executor, "auto (GPUs where they answer), cuda or host")
      ->check(executors);
}

}  // namespace sennit::bench
