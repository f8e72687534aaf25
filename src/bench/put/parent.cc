#include "bench/put/parent.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/environment.h"
#include "bench/put/child.h"
#include "bench/put/rank.h"
#include "bench/put/result.h"
#include "bench/put/ucx.h"
#include "bench/put/version.h"
#include "machine/document.h"
#include "machine/known.h"
#include "node/extras.h"
#include "path/split.h"
#include "path/transfer_engine.h"

namespace sennit::bench::put {

namespace {

class Parent {
 public:
  explicit Parent(const Options& options) : options_(options) {}

  Result<Exit> run() {
    if (!options_.executor.empty()) ::setenv("SENNIT_EXECUTOR", options_.executor.c_str(), 1);
    auto executor = device::open_executor();
    if (!executor) return executor.status();
    executor_ = std::move(*executor);
    // Wrong usage should be told before the machine is measured, which takes seconds.
    auto cases = cases_of(options_, executor_->kind());
    if (!cases) return cases.status();
    auto early = find_machine();
    if (!early) return early;
    auto pairs = find_pairs();
    if (!pairs) return pairs.status();
    if (options_.check) return Exit::ok;
    if (!planned_ && !options_.no_measure) {
      if (auto failed = measure_machine()) return *failed;
      if (auto again = find_machine(); !again) return again;
    }
    if (!planned_)
      outcome_.warnings.push_back(
          "This machine was never measured, so sennit uses the direct path alone: run `sennit tune`.");

    if (auto status = check_split(*pairs, *cases); !status) return of_arguments(std::move(status).in("--split"));

    choose_variants();
    total_ = long(pairs->size() * cases->size() * (ucx_ ? 2 : 1));
    for (const Pair& pair : *pairs) {
      auto ended = measure_pair(pair, *cases);
      if (!ended) return ended.status();
      if (*ended != Exit::ok) return *ended;
    }
    const auto shaky = unsteady(outcome_.rows);
    outcome_.warnings.insert(outcome_.warnings.end(), shaky.begin(), shaky.end());
    outcome_.versions["sennit"] = version();
    print(document(machine_, models(), settings(*cases), outcome_));
    return Exit::ok;
  }

 private:
  std::string executor_name() const { return std::string(device::name(executor_->kind())); }

  /// Finds the machine as a communicator does: --machine, SENNIT_MACHINE, what was measured here, what can be
  /// discovered.
  Status find_machine() {
    auto known = machine::known_machine(options_.machine, executor_name(), node::extras_of(*executor_));
    const bool named = !options_.machine.empty() || !environment("SENNIT_MACHINE").empty();
    if (!known) return named ? of_arguments(known.status()) : known.status();
    planned_ = !known->discovered;
    machine_ = std::move(known->machine);
    return {};
  }

  /// Ranks would go on with the direct path where a forced share names none that there is.
  Status check_split(const std::vector<Pair>& pairs, const std::vector<Case>& cases) const {
    auto shares = path::parse_forced(options_.split);
    if (!shares) return shares.status();
    path::SplitOptions forced;
    forced.forced = std::move(*shares);
    for (const Pair& pair : pairs)
      for (const Case& what : cases)
        if (auto made = path::split(machine_, pair.from.id, pair.to.id, what.bytes, forced); !made)
          return made.status();
    return {};
  }

  Result<std::vector<Pair>> find_pairs() const {
    // A transfer engine knows which device of the executor the document means.
    auto engine = path::TransferEngine::create(executor_, machine_, {});
    if (!engine) return engine.status();
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < executor_->devices().size(); ++i) ids.push_back((*engine)->plans().id_of(int(i)));
    return pairs_of(options_, machine_, ids, (*engine)->plans().id_of(path::kHost));
  }

  /// Measures the machine, and returns the exit code when that failed.
  std::optional<Exit> measure_machine() {
    comm::Launch job;
    job.command = {(own_program().parent_path() / "sennit-machine").string(), "measure", "--executor",
                   executor_name(), "--progress"};
    job.announce = false;
    auto child = run_child(std::move(job), {}, options_.progress);
    if (!child) {
      outcome_.warnings.push_back(
          fmt::format("This machine could not be measured ({}): build or install sennit-machine beside this program.",
                      child.status().what()));
      return std::nullopt;
    }
    if (child->ended.status == 0) return std::nullopt;
    return end_as(*child, "measuring this machine");
  }

  void choose_variants() {
    const bool cuda = executor_->kind() == device::Kind::cuda;
    std::vector<std::string> wanted = options_.versus;
    if (wanted.empty() && !options_.versus_given)
      wanted = cuda ? std::vector<std::string>{"engine", "host", "nccl", "ucx"}
                    : std::vector<std::string>{"engine", "host"};
    const auto asked = [&](const char* name) { return std::ranges::count(wanted, name) > 0; };
    variants_ = {"sennit"};
    for (const char* name : {"engine", "host"})
      if (asked(name)) variants_.emplace_back(name);
    if (asked("nccl")) {
      if (cuda)
        variants_.emplace_back("nccl");
      else
        warn("nccl is left out: NCCL needs GPUs; run this on a machine that has some.");
    }
    if (!asked("ucx")) return;
    auto found = find_ucx(options_.ucx);
    if (found.ok()) {
      ucx_ = std::move(*found);
      if (!ucx_->version.empty()) outcome_.versions["ucx"] = ucx_->version;
    } else {
      warn(
          fmt::format("ucx is left out: {}; install UCX, name its program with --ucx-perftest, or leave it out of "
                      "--vs.",
                      found.status().what()));
    }
  }

  void warn(const std::string& sentence) {
    if (std::ranges::count(outcome_.warnings, sentence) == 0) outcome_.warnings.push_back(sentence);
  }

  Result<Exit> measure_pair(const Pair& pair, const std::vector<Case>& cases) {
    Job job;
    job.from = pair.from;
    job.to = pair.to;
    job.cases = cases;
    job.variants = variants_;
    job.seconds = options_.seconds;
    job.split = options_.split.empty() ? environment("SENNIT_SPLIT") : options_.split;
    job.nccl = options_.nccl;
    job.measured = planned_;
    job.setup = options_.setup;
    job.progress = options_.progress;
    job.done = done_;
    job.total = total_;
    if (job.in_one_process()) {
      // These need a process at either end.
      for (const char* name : {"host", "nccl"})
        if (std::erase(job.variants, name) > 0 && options_.versus_given)
          warn(fmt::format("{} is left out between {} and {}: it needs two GPUs; name two with --from and --to.",
                           name, pair.from.id, pair.to.id));
    }

    comm::Launch launch;
    launch.ranks = job.in_one_process() ? 1 : options_.ranks;
    launch.command = {own_program().string(), "--job", to_json(job).dump()};
    launch.environment = [&](int) {
      std::map<std::string, std::string> variables = {{"SENNIT_EXECUTOR", executor_name()}};
      if (!options_.machine.empty()) variables["SENNIT_MACHINE"] = options_.machine;
      if (!options_.split.empty()) variables["SENNIT_SPLIT"] = options_.split;
      return variables;
    };
    auto child = run_child(std::move(launch), kOutcomePrefix, options_.progress);
    if (!child) return child.status();
    if (child->ended.status != 0) return end_as(*child, fmt::format("bench put, {} → {}", pair.from.id, pair.to.id));
    auto json = parse_json(child->document, "what rank 0 printed");
    if (!json) return json.status();
    auto found = outcome_from(*json);
    if (!found) return found.status();
    done_ += long(cases.size());
    for (const std::string& warning : found->warnings) warn(warning);
    outcome_.versions.merge(found->versions);
    outcome_.setup_ms = std::max(outcome_.setup_ms, found->setup_ms);
    auto rows = std::move(found->rows);
    if (ucx_)
      if (auto status = measure_ucx(pair, cases, rows); status.code() == Code::aborted) return status;
    // Sizes in order, and for each the variants in order.
    std::ranges::stable_sort(rows, {},
                             [&](const Row& row) { return std::ranges::find(cases, row.what) - cases.begin(); });
    outcome_.rows.insert(outcome_.rows.end(), rows.begin(), rows.end());
    return Exit::ok;
  }

  /// Adds rows. What goes wrong becomes a warning.
  Status measure_ucx(const Pair& pair, const std::vector<Case>& cases, std::vector<Row>& rows) {
    const long begin = done_;
    done_ += long(cases.size());
    if (pair.from.is_host() || pair.to.is_host()) {
      warn(
          fmt::format("ucx is left out between {} and {}: ucx_perftest is run between two GPUs only; name two with "
                      "--from and --to.",
                      pair.from.id, pair.to.id));
      return {};
    }
    std::vector<UcxTest> tests;
    std::vector<double> limits;
    for (const Case& what : cases) {
      if (what.both_ways) {
        warn("ucx is left out both ways: ucx_perftest puts one way only; compare with --traffic one_way.");
        continue;
      }
      const auto like = std::ranges::find_if(rows, [&](const Row& row) { return row.what == what; });
      if (like == rows.end()) continue;
      tests.push_back({what, ucx_iterations(what, like->time.median_us, options_.seconds)});
      limits.push_back(like->limit_gbps);
    }
    if (tests.empty()) return {};
    UcxPlace place;
    place.memory = executor_->kind() == device::Kind::cuda ? "cuda" : "host";
    if (executor_->kind() == device::Kind::cuda) {
      place.from = executor_->devices()[std::size_t(pair.from.device)].uuid;
      place.to = executor_->devices()[std::size_t(pair.to.device)].uuid;
    }
    const Progress progress(options_.progress);
    std::size_t seen = 0;
    auto times = run_ucx(*ucx_, tests, place, [&](std::size_t) {
      if (++seen % kUcxRounds == 0)
        progress.step(begin + long(seen / kUcxRounds), total_,
                      fmt::format("{} → {}, ucx_perftest", pair.from.id, pair.to.id));
    });
    if (!times) {
      warn(fmt::format("ucx is left out: {}; try `{} -t ucp_put_bw` by hand, or leave it out of --vs.",
                       times.status().what(), ucx_->path));
      return times.status();
    }
    for (std::size_t i = 0; i < tests.size(); ++i) {
      Row row;
      row.variant = "ucx";
      row.from = pair.from.id;
      row.to = pair.to.id;
      row.what = tests[i].what;
      row.time = (*times)[i];
      row.limit_gbps = limits[i];
      rows.push_back(std::move(row));
    }
    return {};
  }

  std::vector<std::string> models() const {
    std::vector<std::string> models;
    for (const device::DeviceInfo& info : executor_->devices()) models.push_back(info.model);
    return models;
  }

  Json settings(const std::vector<Case>& cases) const {
    std::vector<std::uint64_t> sizes;
    for (const Case& what : cases)
      if (sizes.empty() || sizes.back() != what.bytes) sizes.push_back(what.bytes);
    Json settings = {{"executor", executor_name()},  {"ranks", options_.ranks},
                     {"seconds", options_.seconds},  {"sizes", sizes},
                     {"variants", variants_},        {"split", options_.split},
                     {"machine_measured", planned_}, {"adapt", environment("SENNIT_ADAPT")}};
    if (ucx_)
      settings["ucx"] = {{"test", "ucp_put_bw"}, {"rounds", kUcxRounds}, {"sample", "average of a round's messages"}};
    if (std::ranges::count(variants_, "nccl") > 0) {
      const char* multicast = std::getenv("NCCL_NVLS_ENABLE");
      settings["NCCL_NVLS_ENABLE"] = multicast != nullptr ? multicast : "as NCCL decides";
    }
    if (options_.setup) settings["setup_ms"] = outcome_.setup_ms;
    return settings;
  }

  const Options& options_;
  std::shared_ptr<device::Executor> executor_;
  machine::Machine machine_;
  bool planned_ = false;  // the machine's figures may be planned from
  std::vector<std::string> variants_;
  std::optional<UcxProgram> ucx_;
  Outcome outcome_;
  long done_ = 0, total_ = 0;
};

}  // namespace

Result<Exit> run_parent(const Options& options) {
  return Parent(options).run();
}

}  // namespace sennit::bench::put
