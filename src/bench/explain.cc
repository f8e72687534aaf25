// sennit-explain tells why a message would travel the way it would; it is the program behind `sennit explain`.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/units.h"
#include "bench/program.h"
#include "coll/scratch.h"
#include "machine/document.h"
#include "machine/known.h"
#include "msg/select.h"
#include "path/explain.h"
#include "path/split.h"
#include "plan/explain.h"
#include "sim/predict.h"

namespace sennit::bench {

namespace {

struct Question {
  std::string bytes, from, to, machine, split, executor;
  bool both_ways = false;
};

std::string machine_named(const Question& question) {
  return question.machine.empty() ? environment("SENNIT_MACHINE") : question.machine;
}

Result<Exit> explain_put(const Question& question) {
  const Result<std::uint64_t> bytes = parse_bytes(question.bytes);
  if (!bytes) return bytes.status();
  const Result<machine::Known> known = machine::known_machine(question.machine, question.executor);
  if (!known) return machine_named(question).empty() ? known.status() : of_arguments(known.status());
  const machine::Machine& machine = known->machine;
  path::SplitOptions options;
  options.both_ways = question.both_ways;
  auto forced = path::parse_forced(question.split.empty() ? environment("SENNIT_SPLIT") : question.split);
  if (!forced) return forced.status();
  options.forced = *std::move(forced);
  // --machine asks what would be computed on some machine; without it, the answer is what messages do here.
  const path::Ground ground{question.machine.empty(), !machine_named(question).empty()};
  auto answer = path::explain_put(machine, question.from, question.to, *bytes, std::move(options), ground);
  if (!answer) return std::move(answer).status().in("explain put");
  print(*answer);
  return Exit::ok;
}

/// Prints the protocol that a drop-in's message takes in each situation; nothing of it depends on the machine.
Result<Exit> explain_send(const std::string& size) {
  const Result<std::uint64_t> bytes = parse_bytes(size);
  if (!bytes) return bytes.status();
  Json all = Json::array();
  for (msg::Situation situation : msg::situations()) {
    situation.facts.bytes = *bytes;
    const auto selected = msg::select(situation.facts);
    Json sizes = Json::array();
    for (const msg::Range& range : msg::ranges(situation.facts))
      sizes.push_back({{"from", range.from}, {"protocol", msg::name(range.protocol)}});
    all.push_back({{"situation", situation.name},
                   {"protocol", msg::name(selected.protocol)},
                   {"reason", selected.reason},
                   {"sizes", std::move(sizes)}});
  }
  print({{"version", 1}, {"operation", "send"}, {"bytes", *bytes}, {"situations", std::move(all)}});
  return Exit::ok;
}

struct Collective {
  std::string operation, bytes, machine, executor, type = "float32", op = "sum";
  int ranks = 0;  ///< 0: all GPUs of the machine
  bool registered = false;
};

/// Ranks plans as `sennit sim` does, so that both give one answer; empty where the links do not let it.
Result<std::vector<plan::Simulated>> simulate(const plan::Question& asked, const machine::Machine& machine,
                                              std::uint64_t bytes) {
  std::vector<plan::Simulated> simulated;
  if (bytes == 0) return simulated;
  sim::Question question;
  question.what.operation = asked.which.operation;
  question.what.reduction = asked.reduction;
  question.what.bytes = bytes;
  question.what.in_place = coll::works_in_place(asked.which.operation);
  question.ranks = static_cast<int>(asked.layout.size());
  question.registered = asked.which.windows;
  question.scratch_bytes = asked.scratch_bytes;
  const auto predictions = sim::predict(machine, question);
  if (!predictions && predictions.status().code() == Code::unsupported) return simulated;
  if (!predictions) return predictions.status();
  for (const sim::Prediction& each : *predictions) simulated.push_back({each.plan, each.back_to_back_us});
  return simulated;
}

Result<Exit> explain_collective(const Collective& asked) {
  plan::Question question;
  auto operation = coll::parse_operation(asked.operation);
  if (!operation) return std::move(operation).status().in("--operation");
  auto type = device::parse_type(asked.type);
  if (!type) return std::move(type).status().in("--type");
  auto op = device::parse_operator(asked.op);
  if (!op) return std::move(op).status().in("--op");
  auto bytes = parse_bytes(asked.bytes);
  if (!bytes) return std::move(bytes).status().in("--bytes");
  question.reduction = {*type, *op};
  question.which = coll::call_key_of(*operation, question.reduction, *bytes, asked.registered);
  if (asked.registered && !std::ranges::any_of(coll::algorithms_of(*operation), coll::needs_windows))
    return Status(Code::invalid_argument, fmt::format("{} makes no use of windows", coll::name(*operation)),
                  "--registered", "Leave it out");
  auto scratch = coll::wanted_scratch();
  if (!scratch) return scratch.status();
  question.scratch_bytes = *scratch;

  const std::string named = asked.machine.empty() ? environment("SENNIT_MACHINE") : asked.machine;
  const auto known = machine::known_machine(asked.machine, asked.executor);
  if (!known) return named.empty() ? known.status() : of_arguments(known.status());
  for (const machine::Device& device : known->machine.devices) {
    if (device.kind != machine::DeviceKind::gpu) continue;
    question.layout.push_back(device.id);
    if (device.uuid.starts_with("HOST-")) question.kind = device::Kind::host;  // the host executor's own
  }
  const auto gpus = static_cast<int>(question.layout.size());
  const int ranks = asked.ranks != 0 ? asked.ranks : std::min(gpus, coll::kMostRanks);
  if (ranks < 2 || ranks > gpus)
    return Status(Code::invalid_argument, fmt::format("{} ranks on a machine of {} GPUs", ranks, gpus), "--ranks",
                  gpus < 2 ? "Name a machine with more of them: --machine" : fmt::format("Use 2 to {}", gpus));
  question.layout.resize(static_cast<std::size_t>(ranks));
  plan::Kept kept;
  if (asked.machine.empty()) {
    auto found = plan::kept_table(known->machine);
    if (!found) return found.status();
    kept = std::move(*found);
  }
  const Status suited = kept.table ? plan::suits(*kept.table, known->machine, *scratch) : Status();
  std::vector<plan::Simulated> simulated;
  if (!asked.machine.empty() && question.kind == device::Kind::cuda) {
    auto found = simulate(question, known->machine, *bytes);
    if (!found) return found.status();
    simulated = std::move(*found);
  }
  Json document =
      plan::explain(question, known->machine, kept.table && suited.ok() ? &*kept.table : nullptr, simulated);
  document["table"] =
      kept.table ? Json{{"file", kept.file.string()}, {"used", suited.ok()}, {"why", suited.what()}} : Json();
  print(document);
  return Exit::ok;
}

int run_explain(int argc, const char* const* argv) {
  Program program("sennit-explain", "Why a message or a collective would travel the way it would.",
                  "  sennit-explain put --bytes 256M --from gpu0 --to gpu1\n"
                  "  sennit-explain put --bytes 256M --from gpu0 --to gpu1 --machine mist --both-ways\n"
                  "  sennit-explain put --bytes 1G --from host0 --to gpu0 --machine hgx-h200-4\n"
                  "  sennit-explain put --bytes 64M --from gpu0 --to gpu1 --split 'direct=0.9,host=0.1'\n"
                  "  sennit-explain send --bytes 64K\n"
                  "  sennit-explain collective --operation allreduce --bytes 64M\n"
                  "  sennit-explain collective --operation broadcast --bytes 1M --machine hgx-h200-4 --ranks 3");
  Question question;
  CLI::App& put = program.command("put", "One message: routes, shares, reasons and predicted times",
                                  [&] { return explain_put(question); });
  put.add_option("--bytes", question.bytes, "Size of the message, such as 256M")->required();
  put.add_option("--from", question.from, "Where the message is: an id, UUID or PCI address")->required();
  put.add_option("--to", question.to, "Where it goes")->required();
  put.add_option("--machine", question.machine, "Name of a shipped machine, or a file; default: this machine");
  put.add_option("--split", question.split, "Shares to use instead of the computed ones; default: SENNIT_SPLIT");
  put.add_option("--executor", question.executor, "auto (GPUs where they answer), cuda or host")
      ->check(CLI::IsMember({"auto", "cuda", "host"}));
  put.add_flag("--both-ways", question.both_ways, "As much travels the other way at the same time");

  std::string sent;
  CLI::App& send = program.command("send", "One two-sided message: its protocol in each situation, and why",
                                   [&] { return explain_send(sent); });
  send.add_option("--bytes", sent, "Size of the message, such as 64K")->required();

  Collective asked;
  CLI::App& collective =
      program.command("collective", "A collective: algorithms, predicted and measured times, the choice",
                      [&] { return explain_collective(asked); });
  collective.add_option("--operation", asked.operation, "Such as allreduce, allgather, broadcast")->required();
  collective.add_option("--bytes", asked.bytes, "Size of one message, such as 64M")->required();
  collective.add_option("--ranks", asked.ranks, "On the first so many GPUs; default all")
      ->check(CLI::Range(2, coll::kMostRanks));
  collective.add_flag("--registered", asked.registered, "The buffers lie in symmetric windows");
  collective.add_option("--type", asked.type, "Element type, such as float32 (default)");
  collective.add_option("--op", asked.op, "Operator, such as sum (default)");
  collective.add_option("--machine", asked.machine, "Name of a shipped machine, or a file; default: this machine");
  collective.add_option("--executor", asked.executor, "auto (GPUs where they answer), cuda or host")
      ->check(CLI::IsMember({"auto", "cuda", "host"}));
  return program.run(argc, argv);
}

}  // namespace

}  // namespace sennit::bench

int main(int argc, char** argv) {
  return sennit::bench::run_explain(argc, argv);
}
