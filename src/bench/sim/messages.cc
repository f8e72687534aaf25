#include "bench/sim/messages.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

#include "base/units.h"
#include "bench/sim/report.h"
#include "plan/closed_forms.h"
#include "sim/broadcast_forms.h"
#include "sim/messages.h"
#include "sim/predict.h"

namespace sennit::bench {

namespace {

/// More messages than this are folded. A limit: 100 to 250 bytes of memory each.
constexpr std::uint64_t kMostMessages = 4'000'000;
/// This program chooses a number of chunks that makes no more messages than this: a simulation takes a few seconds.
constexpr std::uint64_t kMostChosen = 1'000'000;

struct Answer {
  std::string_view algorithm;
  bool folded = false;
  std::uint64_t messages = 0;
  int chunks = 1;
  std::optional<double> closed_form_us{}, overlap{};
  sim::Outcome outcome{};
};

struct Question {
  coll::Operation operation{};
  std::uint64_t bytes = 0;
  sim::Ranks ranks;
  sim::MessageCosts costs;
  int sources = 1;
};

Status of_many(std::uint64_t messages, int chunks, int sources) {
  if (sources > 1)
    return Status(Code::out_of_memory,
                  fmt::format("{} messages of {} sources are too many to simulate each", messages, sources),
                  "--sources", "Use fewer sources, or fewer nodes");
  return Status(Code::out_of_memory,
                fmt::format("{} messages of {} chunks are too many to simulate each", messages, chunks), "--chunks",
                "Use fewer chunks, or --chunks 1, which folds rounds that are alike");
}

/// Reads --sources: "3", "all".
Result<int> sources_of(const std::string& text, coll::Operation operation, int ranks) {
  int sources = text == "all" ? ranks : 0;
  const char* const end = text.data() + text.size();
  if (sources == 0 && std::from_chars(text.data(), end, sources).ptr != end) sources = 0;
  if (sources < 1 || sources > ranks)
    return Status(Code::invalid_argument, fmt::format("'{}' is no number of sources", text), "--sources",
                  fmt::format("Use 1 to {}, or all", ranks));
  if (sources > 1 && operation != coll::Operation::broadcast)
    return Status(Code::invalid_argument, fmt::format("{} has no sources", coll::name(operation)), "--sources",
                  "Leave it out, or ask for broadcast");
  return sources;
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

/// Returns the time by a closed form: of broadcasts, and for whole messages on one node, by its narrowest way between
/// two GPUs. Several sources take as many times as long, as nothing overlaps there.
std::optional<double> closed_form(const sim::MessageAlgorithm& algorithm, const Question& question, int nodes,
                                  int chunks, const sim::Fabric& fabric) {
  const auto bytes = static_cast<double>(question.bytes);
  const double gbps = narrowest_gbps(fabric.network());
  if (algorithm.operation == coll::Operation::broadcast) {
    plan::CorrectedBroadcast model =
        sim::broadcast_model(fabric, question.ranks, question.costs, bytes / static_cast<double>(chunks));
    if (nodes == 1) model.near_gbps = gbps;
    const auto once = sim::broadcast_form(algorithm.name, model, question.ranks, bytes);
    return once ? std::optional(plan::several_sources(*once, question.sources, 0)) : std::nullopt;
  }
  if (nodes > 1 || chunks > 1) return std::nullopt;
  const auto terms = plan::closed_form(algorithm.operation, algorithm.name, question.ranks.all, bytes);
  if (!terms || gbps <= 0) return std::nullopt;
  const sim::MessageCosts& costs = question.costs;
  return plan::AlphaBetaGamma{costs.message_us, gbps, costs.reduce_us, costs.reduce_gbps}.us(*terms);
}

/// Returns the rounds of each source's chunk: the roots are ranks that follow each other.
std::vector<sim::Rounds> jobs_of(const sim::MessageAlgorithm& algorithm, const Question& question, int sources,
                                 int chunks) {
  std::vector<sim::Rounds> jobs;
  sim::Ranks ranks = question.ranks;
  for (int source = 0; source < sources; ++source, ranks.root = (ranks.root + 1) % ranks.all)
    jobs.push_back(algorithm.rounds(ranks, static_cast<double>(question.bytes) / static_cast<double>(chunks)));
  return jobs;
}

/// Returns the number of chunks that the closed form likes best of 1, 2, 4, …, as long as messages are not too many.
int best_chunks(const sim::MessageAlgorithm& algorithm, const Question& question, int nodes, std::uint64_t messages,
                const sim::Fabric& fabric) {
  int best = 1;
  std::optional<double> least = closed_form(algorithm, question, nodes, 1, fabric);
  for (int chunks = 2; least && chunks <= kMostChunks && messages * static_cast<std::uint64_t>(chunks) <= kMostChosen;
       chunks *= 2) {
    const auto us = closed_form(algorithm, question, nodes, chunks, fabric);
    if (!us || *us >= *least) continue;
    least = us;
    best = chunks;
  }
  return best;
}

Result<Answer> answer(const sim::MessageAlgorithm& algorithm, const Question& question, const Messages& asked,
                      const sim::Fabric& fabric) {
  const std::vector<int> places = sim::places_of(fabric, question.ranks.all);
  const bool broadcast = algorithm.operation == coll::Operation::broadcast;
  const auto sources = static_cast<std::uint64_t>(question.sources);
  const std::uint64_t a_chunk = sim::count_messages(jobs_of(algorithm, question, 1, 1).front()) * sources;
  int chunks = std::max(1, asked.chunks);
  if (broadcast && asked.chunks == 0) chunks = best_chunks(algorithm, question, asked.nodes, a_chunk, fabric);
  Answer found{algorithm.name, false, a_chunk * static_cast<std::uint64_t>(chunks), chunks};
  found.closed_form_us = closed_form(algorithm, question, asked.nodes, chunks, fabric);
  if (asked.equations) {
    const bool by_host = algorithm.name.ends_with("_staged") || algorithm.name.ends_with("_streaming");
    if (!by_host && narrowest_gbps(fabric.network()) <= 0)
      return Status(Code::unsupported, "no links join some GPUs of a node", "--machine", "Use a staged algorithm");
    if (!found.closed_form_us)
      return Status(Code::not_found, fmt::format("no equation is known of {}", algorithm.name), "--equations",
                    "Leave it out: it is simulated");
    found.outcome.us = *found.closed_form_us;
    return found;
  }
  found.folded = found.messages > kMostMessages;
  if (found.folded && (chunks > 1 || sources > 1)) return of_many(found.messages, chunks, question.sources);
  const std::vector<sim::Rounds> jobs = jobs_of(algorithm, question, question.sources, chunks);
  if (found.folded) {
    auto folded = sim::fold(jobs.front(), places, question.costs, fabric, asked.epsilon_us);
    if (!folded) return folded.status();
    found.outcome = std::move(*folded);
    return found;
  }
  const auto play = [&](std::span<const sim::Rounds> of) {
    return sim::play(sim::unroll(of, chunks, places, question.costs, fabric), fabric, asked.epsilon_us);
  };
  auto played = play(jobs);
  if (!played) return played.status();
  found.outcome = std::move(*played);
  if (sources > 1) {
    const auto alone = play(std::span(jobs).first(1));
    if (!alone) return alone.status();
    found.overlap = plan::overlap(alone->us, found.outcome.us, question.sources);
  }
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
  question.ranks.k = asked.k;
  const auto sources = sources_of(asked.sources, *operation, question.ranks.all);
  if (!sources) return sources.status();
  question.sources = *sources;
  if (auto status = set_costs(question.costs, sim::kMessageCosts, asked.costs); !status) return status;
  return question;
}

/// Covers all algorithms, the fastest first, or the one that is named.
struct Answers {
  Question question;
  std::vector<Answer> all{};
  Json skipped = Json::array(), unreachable = Json::array();
};

Result<Answers> answers_on(const machine::Machine& machine, const Messages& asked) {
  const auto fabric = sim::Fabric::create(machine, asked.nodes, sim::Costs{}.memory_gbps);
  if (!fabric) return fabric.status();
  auto question = question_of(asked, *fabric);
  if (!question) return question.status();

  Answers found_all{*question, {}};
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
    // Staged ones need no links between GPUs, so others' failure is no reason to give no answer.
    const bool staging = question->operation == coll::Operation::broadcast && question->ranks.hosts;
    for (const sim::MessageAlgorithm& algorithm : sim::message_algorithms()) {
      if (algorithm.operation != question->operation || !algorithm.admits(question->ranks)) continue;
      auto found = answer(algorithm, *question, asked, *fabric);
      if (!found && asked.equations && found.status().code() == Code::not_found) continue;
      if (!found && found.status().code() == Code::out_of_memory) {
        found_all.skipped.push_back(algorithm.name);
        continue;
      }
      if (!found && found.status().code() == Code::unsupported && staging) {
        found_all.unreachable.push_back(algorithm.name);
        continue;
      }
      if (!found) return found.status();
      answers.push_back(std::move(*found));
    }
    std::ranges::stable_sort(answers, {}, [](const Answer& each) { return each.outcome.us; });
  }
  if (answers.empty() && asked.equations)
    return Status(Code::unsupported, "equations are of broadcasts", "--equations",
                  "Leave it out, or ask for broadcast");
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
                    {"overlap", each.overlap ? Json(*each.overlap) : Json()},
                    {"chunks", each.chunks},
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
                                               {"chunks", std::max(1, asked.chunks)},
                                               {"sources", question->sources},
                                               {"k", question->ranks.k},
                                               {"machine", machine.name},
                                               {"what_if", asked.what_if},
                                               {"epsilon_us", asked.epsilon_us},
                                               {"equations", asked.equations},
                                               {"costs", std::move(costs)},
                                               {"skipped", std::move(found->skipped)},
                                               {"unreachable", std::move(found->unreachable)},
                                               {"algorithms", std::move(rows)}}));
  return Exit::ok;
}

}  // namespace sennit::bench
