// sennit-sim tells what would happen, without the hardware: it proves protocols right, and replays them over a
// machine's links; it is the program behind `sennit check`, `sennit sim` and `sennit reproduce`.
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/units.h"
#include "bench/program.h"
#include "bench/sim/against.h"
#include "bench/sim/bounds.h"
#include "bench/sim/check_all.h"
#include "bench/sim/messages.h"
#include "bench/sim/paper.h"
#include "bench/sim/put.h"
#include "bench/sim/report.h"
#include "machine/known.h"
#include "sim/bound.h"
#include "sim/predict.h"
#include "sim/timeline.h"

namespace sennit::bench {

namespace {

/// Limits.
constexpr int kMostNodes = 1 << 15, kMostK = 1024;

struct Asked {
  std::string operation, bytes, machine, algorithm, timeline, schedule;
  unsigned blocks = 0;
  int ranks = 0, root = 0;
  bool registered = false, out_of_place = false;
  double epsilon_us = 0;
  std::vector<std::string> what_if, costs;
};

Result<sim::Question> question_of(const Asked& asked) {
  sim::Question question;
  auto operation = coll::parse_operation(asked.operation);
  if (!operation) return std::move(operation).status().in("--operation");
  auto bytes = parse_bytes(asked.bytes);
  if (!bytes) return std::move(bytes).status().in("--bytes");
  question.what.operation = *operation;
  question.what.bytes = *bytes;
  question.what.root = asked.root;
  question.what.in_place = !asked.out_of_place && coll::works_in_place(*operation);
  if (!asked.algorithm.empty()) {
    auto algorithm = coll::parse_algorithm(*operation, asked.algorithm);
    if (!algorithm) return std::move(algorithm).status().in("--algorithm");
    question.algorithm = *algorithm;
    question.registered = coll::needs_windows(*algorithm);
  }
  if (asked.blocks != 0) question.blocks = asked.blocks;
  question.ranks = asked.ranks;
  question.registered = question.registered || asked.registered;
  question.epsilon_us = asked.epsilon_us;
  question.timeline = !asked.timeline.empty();
  if (auto status = set_costs(question.costs, sim::kCosts, asked.costs); !status) return status;
  return question;
}

/// `before`: of the same machine without --what-if.
Json json_of(const sim::Prediction& prediction, const std::vector<sim::Prediction>& before) {
  Json json = {{"plan", coll::name(prediction.plan)}, {"algorithm", coll::name(prediction.plan.algorithm)},
               {"blocks", prediction.plan.blocks},    {"once_us", prediction.once.us},
               {"us", prediction.back_to_back_us},    {"flows", prediction.once.flows}};
  const auto same = std::ranges::find(before, prediction.plan, &sim::Prediction::plan);
  if (same != before.end()) json["before_us"] = same->back_to_back_us;
  return json;
}

Status write_timeline(const std::string& file, const sim::Prediction& prediction) {
  std::ofstream out(file);
  sim::write_timeline(out, *prediction.recording, prediction.once);
  if (!out.flush())
    return Status(Code::invalid_argument, "cannot write " + file, "--timeline",
                  "Name a file in a folder you may write to");
  return {};
}

Result<Exit> simulate(const Asked& asked) {
  auto question = question_of(asked);
  if (!question) return question.status();
  const auto machines = machines_of(asked.machine, asked.what_if);
  if (!machines) return machines.status();
  const machine::Machine& machine = machines->now;
  auto predictions = sim::predict(machine, *question);
  if (!predictions) return predictions.status();
  const sim::Prediction& best = predictions->front();
  if (question->timeline)
    if (auto status = write_timeline(asked.timeline, best); !status) return status;
  if (!asked.schedule.empty()) {
    const auto schedule = sim::schedule_of(machine, *question, best.plan);
    if (!schedule) return schedule.status();
    if (auto status = sim::write_schedule(asked.schedule, *schedule); !status)
      return std::move(status).in("--schedule");
  }
  std::vector<sim::Prediction> before;
  if (machines->before) {
    question->timeline = false;
    auto found = sim::predict(*machines->before, *question);
    if (!found) return found.status();
    before = std::move(*found);
  }
  Json plans = Json::array();
  for (const sim::Prediction& each : *predictions) plans.push_back(json_of(each, before));
  const int all = std::min(static_cast<int>(sim::gpus_of(machine).size()), coll::kMostRanks);
  std::vector<std::string> gpus = sim::gpus_of(machine);
  gpus.resize(static_cast<std::size_t>(question->ranks != 0 ? question->ranks : all));
  const auto bound = sim::bound_us(machine, gpus, question->what.operation, static_cast<double>(question->what.bytes),
                                   question->what.root);
  print(with_outcome(best.once, {{"version", 1},
                                 {"kind", "sim"},
                                 {"operation", coll::name(question->what.operation)},
                                 {"bytes", question->what.bytes},
                                 {"ranks", question->ranks != 0 ? question->ranks : all},
                                 {"machine", machine.name},
                                 {"what_if", asked.what_if},
                                 {"epsilon_us", question->epsilon_us},
                                 {"bound_us", bound ? Json(*bound) : Json()},
                                 {"in_step_us", best.once.in_step_us},
                                 {"before", before.empty() ? Json() : json_of(before.front(), {})},
                                 {"plans", std::move(plans)}}));
  return Exit::ok;
}

struct Replayed {
  std::string file, machine;
  std::vector<std::string> costs;
};

Result<Exit> replay_schedule(const Replayed& asked) {
  auto schedule = sim::read_schedule(asked.file);
  if (!schedule) return of_arguments(schedule.status());
  auto known = machine::known_machine(asked.machine, "");
  if (!known) return of_arguments(known.status());
  sim::Setting setting;
  if (auto status = set_costs(setting.costs, sim::kCosts, asked.costs); !status) return status;
  setting.gpus = sim::gpus_of(known->machine);
  if (setting.gpus.size() < static_cast<std::size_t>(schedule->recording.ranks))
    return Status(Code::invalid_argument,
                  fmt::format("a schedule of {} ranks on the {} GPUs of '{}'", schedule->recording.ranks,
                              setting.gpus.size(), known->machine.name),
                  "--machine", "Name a machine with as many GPUs");
  setting.gpus.resize(static_cast<std::size_t>(schedule->recording.ranks));
  const auto replayed = sim::replay(schedule->recording, known->machine, setting);
  if (!replayed) return replayed.status();
  print(with_outcome(*replayed, {{"version", 1},
                                 {"kind", "sim replay"},
                                 {"machine", known->machine.name},
                                 {"ranks", schedule->recording.ranks},
                                 {"us", replayed->us},
                                 {"in_step_us", replayed->in_step_us},
                                 {"flows", replayed->flows}}));
  return Exit::ok;
}

int run(int argc, const char* const* argv) {
  Program program(
      "sennit-sim", "What would happen: protocols proved right, and replayed over a machine's links.",
      "  sennit-sim check\n"
      "  sennit-sim collective --operation allreduce --bytes 64M --machine hgx-h200-4\n"
      "  sennit-sim collective --operation allreduce --bytes 64M --machine mist --algorithm hierarchical\n"
      "  sennit-sim collective --operation allreduce --bytes 1M --machine mist --schedule allreduce.json\n"
      "  sennit-sim messages --operation allreduce --bytes 64M --machine dgx-h100 --nodes 128\n"
      "  sennit-sim put --bytes 256M --from gpu0 --to gpu1 --machine cedar\n"
      "  sennit-sim bound allreduce 64M --ranks 4 --machine hgx-h200-4\n"
      "  sennit-sim check allreduce.json\n"
      "  sennit-sim replay allreduce.json --machine cedar\n"
      "  sennit-sim against results/hgx-h200-4/collectives.json --machine hgx-h200-4");

  CheckAll check;
  CLI::App& checks =
      program.command("check", "Proves every algorithm right, for every order in which its parties could run",
                      [&] { return check_all(check); });
  checks.add_option("file", check.file, "A schedule to prove instead");
  checks.add_flag("--progress", check.progress, "Report progress on stderr");
  checks.add_option("--ranks", check.most_ranks, "Numbers of ranks: 2 to this")
      ->check(CLI::Range(2, coll::kMostRanks));

  Asked asked;
  CLI::App& one =
      program.command("collective", "What a collective would take on a machine", [&] { return simulate(asked); });
  one.add_option("--operation", asked.operation, "Such as allreduce, allgather, broadcast")->required();
  one.add_option("--bytes", asked.bytes, "Size of one message, such as 64M")->required();
  one.add_option("--machine", asked.machine, "Name of a shipped machine, or a file; default: this machine");
  one.add_option("--algorithm", asked.algorithm, "One algorithm; default: all there are, the fastest first");
  one.add_option("--blocks", asked.blocks, "Blocks of its kernels")->check(CLI::Range(1u, coll::kMostBlocks));
  one.add_option("--ranks", asked.ranks, "On the first so many GPUs; default all")
      ->check(CLI::Range(2, coll::kMostRanks));
  one.add_option("--root", asked.root, "Rank of operations that have one")
      ->check(CLI::Range(0, coll::kMostRanks - 1));
  one.add_flag("--registered", asked.registered, "The buffers lie in symmetric windows");
  one.add_flag("--out-of-place", asked.out_of_place, "Into another buffer");
  one.add_option("--what-if", asked.what_if, "Another link, such as nvlink.bandwidth=2x or gpu0-gpu1.bandwidth=50");
  one.add_option("--costs", asked.costs, "Other costs of steps than the defaults, such as launch_us=2")
      ->delimiter(',');
  one.add_option("--epsilon", asked.epsilon_us,
                 "Ends of flows within so many µs are taken together; default 0: exact")
      ->check(CLI::NonNegativeNumber);
  one.add_option("--schedule", asked.schedule, "Write every step to this file: JSON where it ends in .json");
  one.add_option("--timeline", asked.timeline,
                 "Write what everybody does when, for a viewer of traces, to this file");

  Messages messages;
  CLI::App& sent = program.command("messages", "A collective of whole messages, on one node or on thousands",
                                   [&] { return simulate_messages(messages); });
  sent.add_option("--operation", messages.operation, "Such as allreduce, allgather, broadcast")->required();
  sent.add_option("--bytes", messages.bytes, "Size of one message, such as 64M")->required();
  sent.add_option("--machine", messages.machine,
                  "Of each node: a shipped machine's name, or a file; default: this one");
  sent.add_option("--nodes", messages.nodes, "How many, joined by their NICs")->check(CLI::Range(1, kMostNodes));
  sent.add_option("--algorithm", messages.algorithm, "One algorithm; default: all there are, the fastest first");
  sent.add_option("--chunks", messages.chunks,
                  "Pieces of a message that follow each other; default 1, of broadcasts the best")
      ->check(CLI::Range(1, kMostChunks));
  sent.add_option("--root", messages.root, "Rank of operations that have one")->check(CLI::NonNegativeNumber);
  sent.add_option("--sources", messages.sources, "Of a broadcast: so many roots at the same time, or all; default 1");
  sent.add_flag("--equations", messages.equations, "Of a broadcast: by closed forms alone, simulating nothing");
  sent.add_option("--k", messages.k, "Of a k-nomial broadcast; default 4")->check(CLI::Range(2, kMostK));
  sent.add_option("--what-if", messages.what_if, "As of collective");
  sent.add_option("--costs", messages.costs, "Other costs than the defaults, such as network_us=5")->delimiter(',');
  sent.add_option("--epsilon", messages.epsilon_us, "As of collective")->check(CLI::NonNegativeNumber);

  SimulatedPut put;
  CLI::App& one_put = program.command("put", "A message over several paths, or a window of them",
                                      [&] { return simulate_one_put(put); });
  one_put.add_option("--bytes", put.bytes, "Size of the message, such as 256M")->required();
  one_put.add_option("--from", put.from, "Where it starts: gpu0, host0, …")->required();
  one_put.add_option("--to", put.to, "Where it ends")->required();
  one_put.add_option("--machine", put.machine, "Name of a shipped machine, or a file; default: this machine");
  one_put.add_option("--split", put.split, "Shares to use instead of the computed ones: direct=0.9,host0 (sm)=0.1");
  one_put.add_option("--window", put.window, "Messages on their way at a time; default 1")
      ->check(CLI::Range(1, kMostChunks));
  one_put.add_flag("--both-ways", put.both_ways, "The same messages travel back at the same time");
  one_put.add_option("--what-if", put.what_if, "As of collective");
  one_put.add_option("--costs", put.costs, "Other costs than the defaults, such as issue_us=5")->delimiter(',');

  std::string paper;
  program.command("paper", "A paper's experiments, done again on its machine", [&] { return reproduce_paper(paper); })
      .add_option("name", paper, "Of the machine: mist, cedar, helios, ri2 or cscs")
      ->required();

  Replayed replayed;
  CLI::App& replay = program.command("replay", "How long a schedule from a file would take on a machine",
                                     [&] { return replay_schedule(replayed); });
  replay.add_option("file", replayed.file, "A schedule that --schedule wrote")->required();
  replay.add_option("--machine", replayed.machine, "Name of a shipped machine, or a file; default: this machine");
  replay.add_option("--costs", replayed.costs, "As of collective")->delimiter(',');

  Bounds bounds;
  CLI::App& least = program.command("bound", "The least time that the links allow a collective, whatever does it",
                                    [&] { return print_bounds(bounds); });
  least.add_option("operation", bounds.operation, "Such as allreduce, allgather, broadcast");
  least.add_option("size", bounds.size, "Of one message, such as 64M");
  least.add_option("--ranks", bounds.ranks, "On the first so many GPUs; default all")->check(CLI::PositiveNumber);
  least.add_option("--rows", bounds.rows,
                   "Instead: a file with a row a line, 'allreduce 64M 4'; - is standard input");
  least.add_option("--machine", bounds.machine, "Name of a shipped machine, or a file; default: this machine");

  Against against;
  CLI::App& held = program.command("against", "Replays the plans of a measured result, beside what they took",
                                   [&] { return hold_against(against); });
  held.add_option("file", against.file, "Result of sennit bench")->required();
  held.add_option("--machine", against.machine, "Name of a shipped machine, or a file")->required();
  held.add_option("--costs", against.costs, "Other costs than the defaults, of collectives or of puts")
      ->delimiter(',');
  return program.run(argc, argv);
}

}  // namespace

}  // namespace sennit::bench

int main(int argc, char** argv) {
  return sennit::bench::run(argc, argv);
}
