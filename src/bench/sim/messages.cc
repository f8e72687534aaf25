#include "bench/sim/messages.h"

#include <algorithm>
#include <optional>

#include "base/units.h"
#include "bench/sim/report.h"
#include "plan/closed_forms.h"
#include "sim/messages.h"
#include "sim/predict.h"

namespace sennit::bench {

namespace {

/// More messages than this are folded. A limit: 100 to 250 bytes of memory each.
constexpr std::uint64_t kMostMessages = 4'000'000;

struct Answer {
  std::string_view algorithm;
  bool folded = false;
  std::uint64_t messages = 0;
  std::optional<double> closed_form_us;
  sim::Outcome outcome;
};

struct Question {
  coll::Operation operation{};
  std::uint64_t bytes = 0;
  sim::Ranks ranks;
  sim::MessageCosts costs;
};

Status of_many(std::uint64_t messages, int chunks) {
  return Status(Code::out_of_memory,
                fmt::format("{} messages of {} chunks are too many to simulate each", messages, chunks), "--chunks",
                "Use fewer chunks, or --chunks 1, which folds rounds that are alike");
}

/// Returns the lowest rate at which any two GPUs send to each other at the same time.
double narrowest_gbps(const path::Network& network) {
  double least = path::kUnlimited;
  for (int from = 0; from < network.devices(); ++from)
    for (int to = 0; to < network.devices(); ++to) {
      if (from == to || !network.is(from, machine::DeviceKind::gpu) || !network.is(to, machine::DeviceKind::gpu))
        continue;
      const path::Hop hop = network.find_hop(from, to);
      least = std::min(least, hop.gbps);
      for (const int arc : hop.arcs) least = std::min(least, network.arc_capacity(arc, true));
    }
  return least;
}

/// Returns the time by a closed form: for whole messages on one node, by its narrowest way between two GPUs.
std::optional<double> closed_form(const sim::MessageAlgorithm& algorithm, const Question& question,
                                  const Messages& asked, const sim::Fabric& fabric) {
  if (asked.nodes > 1 || asked.chunks > 1) return std::nullopt;
  const auto terms =
      plan::closed_form(algorithm.operation, algorithm.name, question.ranks.all, static_cast<double>(question.bytes));
  const double gbps = narrowest_gbps(fabric.network());
  if (!terms || gbps <= 0) return std::nullopt;
  const sim::MessageCosts& costs = question.costs;
  return plan::AlphaBetaGamma{costs.message_us, gbps, costs.reduce_us, costs.reduce_gbps}.us(*terms);
}

Result<Answer> answer(const sim::MessageAlgorithm& algorithm, const Question& question, const Messages& asked,
                      const sim::Fabric& fabric) {
  const sim::Rounds rounds =
      algorithm.rounds(question.ranks, static_cast<double>(question.bytes) / static_cast<double>(asked.chunks));
  const std::vector<int> places = sim::places_of(fabric, question.ranks.all);
  Answer found{algorithm.name,
               false,
               sim::count_messages(rounds) * static_cast<std::uint64_t>(asked.chunks),
               closed_form(algorithm, question, asked, fabric),
               {}};
  found.folded = found.messages > kMostMessages;
  if (found.folded) {
    if (asked.chunks > 1) return of_many(found.messages, asked.chunks);
    auto folded = sim::fold(rounds, places, question.costs, fabric, asked.epsilon_us);
    if (!folded) return folded.status();
    found.outcome = std::move(*folded);
    return found;
  }
  auto played =
      sim::play(sim::unroll(rounds, asked.chunks, places, question.costs, fabric), fabric, asked.epsilon_us);
  if (!played) return played.status();
  found.outcome = std::move(*played);
  return found;
}

Result<Question> question_of(const Messages& asked, const sim::Fabric& fabric) {
  Question question;
  auto operation = coll::parse_operation(asked.operation);
  if (!operation) return std::move(operation).status().in("--operation");
  auto bytes = parse_bytes(asked.bytes);
  if (!bytes) return std::move(bytes).status().in("--bytes");
  question.operation = *operation;
  question.bytes = *bytes;
  question.ranks = sim::all_ranks(fabric, asked.root);
  if (*bytes == 0) return Status(Code::invalid_argument, "of 0 bytes nothing is sent", "--bytes", "Ask for some");
  if (question.ranks.all < 2)
    return Status(Code::invalid_argument, fmt::format("a collective of {} ranks", question.ranks.all), "--nodes",
                  "Name a machine with more GPUs, or more nodes");
  if (asked.root != 0 && !coll::has_root(*operation))
    return Status(Code::invalid_argument, asked.operation + " has no root", "--root", "Leave it out");
  if (asked.root < 0 || asked.root >= question.ranks.all)
    return Status(Code::invalid_argument, fmt::format("there is no rank {} to be the root", asked.root), "--root",
                  fmt::format("Use 0 to {}", question.ranks.all - 1));
  if (auto status = set_costs(question.costs, sim::kMessageCosts, asked.costs); !status) return status;
  return question;
}

/// Covers all algorithms, the fastest first, or the one that is named.
struct Answers {
  Question question;
  std::vector<Answer> all;
  Json skipped = Json::array();
};

Result<Answers> answers_on(const machine::Machine& machine, const Messages& asked) {
  const auto fabric = sim::Fabric::create(machine, asked.nodes, sim::Costs{}.memory_gbps);
  if (!fabric) return fabric.status();
  auto question = question_of(asked, *fabric);
  if (!question) return question.status();

  Answers found_all{*question, {}, Json::array()};
  std::vector<Answer>& answers = found_all.all;
  if (!asked.algorithm.empty()) {
    const auto algorithm = sim::message_algorithm(question->operation, asked.algorithm);
    if (!algorithm) return algorithm.status();
    if (!algorithm->admits(question->ranks))
      return Status(Code::invalid_argument, fmt::format("{} wants {}", algorithm->name, algorithm->wants),
                    "--algorithm", "Choose another number of nodes, or another algorithm");
    auto found = answer(*algorithm, *question, asked, *fabric);
    if (!found) return found.status();
    answers.push_back(std::move(*found));
  } else {
    for (const sim::MessageAlgorithm& algorithm : sim::message_algorithms()) {
      if (algorithm.operation != question->operation || !algorithm.admits(question->ranks)) continue;
      auto found = answer(algorithm, *question, asked, *fabric);
      if (!found && found.status().code() == Code::out_of_memory) {
        found_all.skipped.push_back(algorithm.name);
        continue;
      }
      if (!found) return found.status();
      answers.push_back(std::move(*found));
    }
    std::ranges::stable_sort(answers, {}, [](const Answer& each) { return each.outcome.us; });
  }
  if (answers.empty())
    return Status(Code::unsupported, "no algorithm sends messages for " + asked.operation, {},
                  "Ask for allreduce, reduce_scatter, allgather, reduce, broadcast, gather, scatter or all_to_all");
  return found_all;
}

}  // namespace

Result<Exit> simulate_messages(const Messages& asked) {
  const auto machines = machines_of(asked.machine, asked.what_if);
  if (!machines) return machines.status();
  const machine::Machine& machine = machines->now;
  auto found = answers_on(machine, asked);
  if (!found) return found.status();
  const Question* const question = &found->question;
  const std::vector<Answer>& answers = found->all;
  std::vector<Answer> before;
  if (machines->before) {
    auto without = answers_on(*machines->before, asked);
    if (!without) return without.status();
    before = std::move(without->all);
  }
  Json rows = Json::array();
  for (const Answer& each : answers) {
    const auto same = std::ranges::find(before, each.algorithm, &Answer::algorithm);
    rows.push_back({{"algorithm", each.algorithm},
                    {"us", each.outcome.us},
                    {"before_us", same != before.end() ? Json(same->outcome.us) : Json()},
                    {"closed_form_us", each.closed_form_us ? Json(*each.closed_form_us) : Json()},
                    {"messages", each.messages},
                    {"folded", each.folded}});
  }
  Json costs = Json::object();
  for (const sim::NamedMessageCost& each : sim::kMessageCosts)
    costs[std::string(each.name)] = question->costs.*each.cost;
  print(with_outcome(answers.front().outcome, {{"version", 1},
                                               {"kind", "sim messages"},
                                               {"operation", coll::name(question->operation)},
                                               {"bytes", question->bytes},
                                               {"ranks", question->ranks.all},
                                               {"nodes", asked.nodes},
                                               {"chunks", asked.chunks},
                                               {"machine", machine.name},
                                               {"what_if", asked.what_if},
                                               {"epsilon_us", asked.epsilon_us},
                                               {"costs", std::move(costs)},
                                               {"skipped", std::move(found->skipped)},
                                               {"algorithms", std::move(rows)}}));
  return Exit::ok;
}

}  // namespace sennit::bench
