// sennit-tune put finds the fastest split for every size between the devices of this machine, by measuring, and keeps
// the table that all later puts follow.
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include <fmt/format.h>

#include "base/units.h"
#include "bench/program.h"
#include "bench/tune/pair.h"
#include "bench/tune/retarget.h"
#include "bench/tune_collectives.h"
#include "comm/bootstrap.h"
#include "comm/launch.h"
#include "machine/cache.h"
#include "machine/discover.h"
#include "node/extras.h"

namespace sennit::bench {
namespace {

struct Options {
  std::string executor;           // empty: SENNIT_EXECUTOR decides
  std::vector<int> rank_devices;  // hidden: this process is a rank of a pair, or alone with one device
  std::string host;               // hidden: "up" or "down": host → device, device → host
  bool thorough = false;
  bool progress = false;
};

std::vector<std::uint64_t> sizes(const device::Executor& executor, bool host, bool thorough) {
  if (executor.kind() == device::Kind::host) return {1 * MiB, 8 * MiB};
  if (host)
    return thorough ? std::vector{4 * MiB, 16 * MiB, 64 * MiB, 256 * MiB, 1 * GiB}
                    : std::vector{4 * MiB, 16 * MiB, 64 * MiB, 256 * MiB};
  return {8 * MiB, 16 * MiB, 32 * MiB, 64 * MiB, 128 * MiB, 256 * MiB, 512 * MiB, 1 * GiB};
}

/// Runs a rank: tunes its pair, prints the entries on one line.
Result<Exit> run_rank(const Options& options) {
  auto executor = device::open_executor();
  if (!executor) return executor.status();
  auto place = comm::place_from_environment();
  if (!place) return place.status();
  auto exchange = comm::meet_over_tcp(*place);
  if (!exchange) return exchange.status();
  node::Node::Options wanted;
  wanted.device = options.rank_devices[static_cast<std::size_t>((*exchange)->rank())];
  auto node = node::Node::create(std::move(*exchange), *executor, wanted);
  if (!node) return node.status();
  const Progress progress(options.progress && (*node)->rank() == 0);
  const auto report = [&](const std::string& what) { progress.step(0, 0, what); };
  tune::PairOptions how;
  how.sizes = sizes(**executor, !options.host.empty(), options.thorough);
  how.repetitions = options.thorough ? 21 : options.host.empty() ? 9 : 5;
  auto entries = options.host.empty() ? tune::tune_pair(**node, how, report)
                                      : tune::tune_host(**node, options.host == "down", how, report);
  if (!entries) return entries.status();
  path::PutTable table;
  table.entries = std::move(*entries);
  if ((*node)->rank() == 0) fmt::print("{}\n", to_json(table).dump());
  return Exit::ok;
}

std::string own_path() {
  char path[PATH_MAX] = {};
  const auto length = readlink("/proc/self/exe", path, sizeof path - 1);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string("sennit-tune");
}

/// Starts the ranks of one measurement and collects rank 0's entries.
Result<std::vector<path::TunedPut>> launch(const Options& options, std::vector<std::string> arguments, int ranks) {
  comm::Launch job;
  job.ranks = ranks;
  job.command = {own_path(), "put"};
  if (options.thorough) job.command.emplace_back("--thorough");
  if (options.progress) job.command.emplace_back("--progress");
  job.command.insert(job.command.end(), arguments.begin(), arguments.end());
  std::string document, complaint;
  job.output = [&](int rank, std::string_view line, bool error) {
    if (!error && rank == 0) document += line;
    if (error && line.starts_with("{\"progress\"")) fmt::print(stderr, "{}\n", line);
    if (error && line.starts_with("{\"error\"")) complaint = line;
  };
  auto ended = comm::launch(job);
  if (!ended) return ended.status();
  if (ended->status != 0)
    return Status(Code::device_error, fmt::format("a rank ended with {}", ended->status), complaint,
                  "Run sennit doctor");
  auto parsed = parse_json(document, "rank 0");
  if (!parsed) return parsed.status();
  auto table = path::put_table_from_json(*parsed, "rank 0");
  if (!table) return table.status();
  return std::move(table->entries);
}

/// Ranks inherit the choice.
void choose_executor(const Options& options) {
  if (!options.executor.empty()) setenv("SENNIT_EXECUTOR", options.executor.c_str(), 1);
}

Result<machine::Machine> this_machine(const device::Executor& executor) {
  return machine::this_machine(device::name(executor.kind()), node::extras_of(executor));
}

/// Prints the table that was kept, for users who only want to know.
Result<Exit> run_cached(const Options& options) {
  choose_executor(options);
  auto executor = device::open_executor();
  if (!executor) return executor.status();
  auto now = this_machine(**executor);
  if (!now) return now.status();
  auto table = path::load_put_table(now->fingerprint);
  if (!table) return table.status();
  print(to_json(*table));
  return Exit::ok;
}

Result<Exit> run(const Options& options) {
  choose_executor(options);
  if (!options.rank_devices.empty()) return run_rank(options);
  if (auto status = machine::check_cache(); !status) return status;
  auto executor = device::open_executor();
  if (!executor) return executor.status();
  auto now = this_machine(**executor);
  if (!now) return now.status();
  auto measured = machine::load_cached(now->fingerprint);
  if (!measured) return measured.status();

  const auto& devices = (*executor)->devices();
  std::vector<std::string> gpus;
  for (const auto& info : devices) {
    const auto* found = measured->find(info.uuid);
    if (found == nullptr && !info.pci.empty()) found = measured->find(info.pci);
    gpus.push_back(found != nullptr ? found->id : std::string());
  }
  path::PutTable table;
  table.fingerprint = measured->fingerprint;
  table.date = machine::today();
  struct Job {
    std::string from, to;
    std::vector<std::string> arguments;
    int ranks;
  };
  std::vector<Job> jobs;
  std::string host;
  for (const auto& device : measured->devices)
    if (device.kind == machine::DeviceKind::host && host.empty()) host = device.id;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    for (std::size_t j = 0; j < gpus.size(); ++j)
      if (i != j) jobs.push_back({gpus[i], gpus[j], {"--rank-devices", std::to_string(i), std::to_string(j)}, 2});
    jobs.push_back({host, gpus[i], {"--rank-devices", std::to_string(i), "--host", "up"}, 1});
    jobs.push_back({gpus[i], host, {"--rank-devices", std::to_string(i), "--host", "down"}, 1});
  }
  struct Done {
    std::string from, to;
    std::vector<path::TunedPut> entries;
  };
  std::vector<Done> done;
  for (const Job& job : jobs) {
    if (job.from.empty() || job.to.empty()) continue;  // the machine does not know the device
    const auto like = std::ranges::find_if(done, [&](const Done& one) {
      return (one.from == host) == (job.from == host) && (one.to == host) == (job.to == host) &&
             tune::alike(*measured, one.from, one.to, job.from, job.to);
    });
    if (like != done.end() && !options.thorough) {
      for (const auto& entry : like->entries) table.entries.push_back(tune::retarget(entry, job.from, job.to, gpus));
      continue;
    }
    auto entries = launch(options, job.arguments, job.ranks);
    if (!entries) return std::move(entries).status().in(fmt::format("tune {} → {}", job.from, job.to));
    table.entries.insert(table.entries.end(), entries->begin(), entries->end());
    done.push_back({job.from, job.to, std::move(*entries)});
  }
  auto file = path::put_table_file(table.fingerprint);
  if (!file) return file.status();
  if (auto status = write_json(*file, to_json(table)); !status) return status;
  print(to_json(table));
  return Exit::ok;
}

}  // namespace
}  // namespace sennit::bench

int main(int argc, char** argv) {
  sennit::bench::Program program("sennit-tune", "Finds the fastest ways on this machine, and keeps them",
                                 "sennit-tune put\nsennit-tune put --thorough --progress\nsennit-tune "
                                 "collectives\nsennit-tune cached\nsennit-tune kept");
  sennit::bench::Options options;
  CLI::App& put = program.command("put", "Tune put, get and copy for every pair of devices and the host",
                                  [&] { return sennit::bench::run(options); });
  const CLI::IsMember executors({"auto", "cuda", "host"});
  put.add_option("--executor", options.executor, "cuda, host or auto")->check(executors);
  put.add_flag("--thorough", options.thorough, "Every pair on its own, more sizes and repetitions");
  put.add_flag("--progress", options.progress, "Report progress on stderr");
  put.add_option("--rank-devices", options.rank_devices)->group("");
  put.add_option("--host", options.host)->group("");
  CLI::App& cached = program.command("cached", "The table that was kept for this machine",
                                     [&] { return sennit::bench::run_cached(options); });
  cached.add_option("--executor", options.executor, "cuda, host or auto")->check(executors);
  sennit::bench::add_collectives(program, {argv + 1, argv + argc});
  return program.run(argc, argv);
}
