#include "bench/put/rank.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "base/units.h"
#include "bench/put/child.h"
#include "bench/put/result.h"
#include "bench/put/trial.h"
#include "comm/bootstrap.h"
#include "path/split.h"

namespace sennit::bench::put {

namespace {

/// Returns the device of each rank: the pair's, then the others in turn.
int device_of(const Job& job, int rank, int count) {
  if (job.in_one_process()) return job.from.is_host() ? job.to.device : job.from.device;
  if (rank == 0) return job.from.device;
  if (rank == 1) return job.to.device;
  std::vector<int> others;
  for (int device = 0; device < count; ++device)
    if (device != job.from.device && device != job.to.device) others.push_back(device);
  return others.empty() ? job.to.device : others[std::size_t(rank - 2) % others.size()];
}

Result<std::unique_ptr<node::Node>> meet(const Job& job, const std::shared_ptr<device::Executor>& executor) {
  auto place = comm::place_from_environment();
  if (!place) return place.status();
  node::Node::Options options;
  options.device = device_of(job, place->rank, int(executor->devices().size()));
  auto exchange =
      place->size == 1 ? Result<std::unique_ptr<comm::Exchange>>(comm::alone()) : comm::meet_over_tcp(*place);
  if (!exchange) return exchange.status();
  return node::Node::create(std::move(*exchange), executor, std::move(options));
}

/// Measures the median of five, in ms, from meeting to ready; what the executor itself takes comes before.
Result<double> measure_setup(const Job& job, const std::shared_ptr<device::Executor>& executor) {
  auto context = executor->allocate(0, 1);
  if (!context) return context.status();
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    auto node = meet(job, executor);
    if (!node) return node.status();
    path::OneSided messages(**node);
    if (auto status = messages.prepare(); !status) return status;
    if (auto status = (*node)->group().exchange().barrier(); !status) return status;
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    // A rank that left while another still comes would look like a death.
    if (auto status = (*node)->group().exchange().barrier(); !status) return status;
  }
  std::ranges::sort(times);
  return times[2];
}

/// Paths to other processes come up at their first use, and until then a message takes the others: sends a few,
/// until they have had time to.
Status settle(Rig& rig, Pairing& pairing, const Variants& variants) {
  if (rig.in_one_process()) return {};
  const Case small{std::min<std::uint64_t>(rig.room(), MiB), true, 1};
  const Case large{rig.room(), true, 1};
  for (const auto& variant : variants.list) {
    if (variant->two_sided()) continue;
    const Case& what = variant->covers(large) ? large : small;
    if (auto status = variant->prepare(what); !status) return status;
    if (auto status = pairing.meet(); !status) return status;
    for (int side = 0; side < 2; ++side) {
      if (!rig.owns(side)) continue;
      for (int i = 0; i < 2; ++i) {
        if (auto status = variant->enqueue(side, true, false, {kMargin, kMargin, what.bytes}); !status) return status;
        if (auto status = variant->finish(side); !status) return status;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    }
  }
  return pairing.meet();
}

void describe_plan(Row& row, Rig& rig, const Job& job) {
  path::SplitOptions options;
  options.both_ways = row.what.both_ways;
  const machine::Machine& machine = rig.node().machine();
  path::TransferEngine& engine = rig.one_sided().transfer_engine();
  if (auto limit = path::split(machine, job.from.id, job.to.id, row.what.bytes, options); limit.ok())
    row.limit_gbps = limit->limit_gbps;
  if (row.variant != "sennit") return;
  auto used =
      engine.plans().split_of(job.to.device, job.from.device, row.what.bytes, {.both_ways = row.what.both_ways});
  if (!job.measured || !engine.plans().several_paths() || !used.ok() || used->shares.empty()) {
    row.split = {{"direct", 1.0}};
    return;
  }
  for (const path::Share& share : used->shares)
    row.split.emplace_back(share.candidate.route.name(), double(share.bytes) / double(row.what.bytes));
}

std::string describe(const Job& job, const Case& what) {
  return fmt::format("{} {} {}, {}{}", job.from.id, what.both_ways ? "↔" : "→", job.to.id, format_bytes(what.bytes),
                     what.window > 1 ? fmt::format(", window {}", what.window) : "");
}

/// Measures the pair: ranks 0 and 1, or one process that has both ends.
Status measure_pair(Rig& rig, const Job& job, Outcome& outcome) {
  node::Node& node = rig.node();
  const bool reports = node.rank() == 0;
  Pairing pairing;
  if (!rig.in_one_process()) {
    auto made = Pairing::create(node.group());
    if (!made) return made.status();
    pairing = *made;
  }
  auto variants = make_variants(rig, job);
  if (!variants) return variants.status();
  auto checker = Checker::create(rig);
  if (!checker) return checker.status();
  if (auto status = settle(rig, pairing, *variants); !status) return status;

  Trial trial(rig, pairing, *checker);
  for (const auto& variant : variants->list)
    if (auto status = trial.verify_odd(*variant, job.cases.front().both_ways); !status) return status;
  const Progress progress(job.progress && reports);
  long done = job.done;
  for (const Case& what : job.cases) {
    progress.step(done++, job.total, describe(job, what));
    for (const auto& variant : variants->list)
      if (variant->covers(what))
        if (auto status = trial.verify(*variant, what); !status) return status;
    auto times = trial.time(variants->list, what, job.seconds);
    if (!times) return times.status();
    for (std::size_t i = 0; reports && i < times->size(); ++i) {
      if (!(*times)[i] || (*times)[i]->repetitions == 0) continue;
      Row row;
      row.variant = variants->list[i]->name();
      row.from = job.from.id;
      row.to = job.to.id;
      row.what = what;
      row.time = *(*times)[i];
      row.verified = true;  // an error has ended the program before, if it was not
      if (row.variant == "sennit") (void)variants->list[i]->prepare(what);
      describe_plan(row, rig, job);
      outcome.rows.push_back(std::move(row));
    }
  }
  outcome.warnings = variants->missing;
  outcome.versions = variants->versions;
  return {};
}

}  // namespace

Result<Exit> run_rank(const Job& job) {
  auto executor = device::open_executor();
  if (!executor) return executor.status();
  Outcome outcome;
  auto node = meet(job, *executor);
  if (!node) return node.status();
  std::uint64_t room = 0;
  for (const Case& what : job.cases) room = std::max(room, what.bytes);
  auto rig = Rig::open(**node, job, room);
  if (!rig) return rig.status();
  const bool of_pair = job.in_one_process() || (*node)->rank() < 2;
  if (of_pair) {
    if (auto status = measure_pair(**rig, job, outcome); !status) return status;
    Pairing::finish((*node)->group());
  } else {
    auto none = make_variants(**rig, job);  // collective
    if (!none) return none.status();
    if (auto status = Pairing::wait_for_end((*node)->group()); !status) return status;
  }
  const bool reports = (*node)->rank() == 0;
  if (auto status = (*rig)->close(); !status) return status;
  rig->reset();
  rig->reset();  // before the node that it is on
  node->reset();
  // Last: which engines a stream gets depends on how many this process made before it (see Rig::allocate).
  if (job.setup) {
    auto setup = measure_setup(job, *executor);
    if (!setup) return std::move(setup).status().in("set-up time");
    outcome.setup_ms = *setup;
  }
  if (reports) print_outcome(to_json(outcome));
  return Exit::ok;
}

}  // namespace sennit::bench::put
