#include "bench/sim/against.h"

#include <fmt/format.h>

#include "bench/sim/report.h"
#include "machine/known.h"
#include "sim/predict.h"
#include "sim/put.h"

namespace sennit::bench {

namespace {

Result<Json> row_of(const Json& row, const machine::Machine& machine, const sim::Costs& costs) {
  auto operation = coll::parse_operation(row.at("operation").get<std::string>());
  if (!operation) return Json();
  const auto plan = coll::parse_plan(*operation, row.value("plan", ""));
  if (!plan) return Json();  // a peer's row, or of an algorithm that there is no more
  sim::Question question;
  question.costs = costs;
  question.ranks = row.at("ranks").get<int>();
  question.what.operation = *operation;
  question.what.bytes = row.at("bytes").get<std::uint64_t>();
  question.what.in_place = row.value("in_place", true);
  if (coll::gathers(*operation) || coll::scatters(*operation)) question.what.bytes /= unsigned(question.ranks);
  auto predicted = sim::predict(machine, question, *plan);
  if (!predicted) return predicted.status();
  if (!*predicted) return Json();
  const sim::Prediction& found = **predicted;
  const bool any = !found.once.critical.empty();
  return Json{{"operation", row.at("operation")},
              {"bytes", row.at("bytes")},
              {"ranks", question.ranks},
              {"registered", row.value("registered", false)},
              {"plan", row.at("plan")},
              {"measured_us", row.at("median_us")},
              {"us", found.back_to_back_us},
              {"limit", any ? found.once.critical.front().what : ""},
              {"limit_share", any ? found.once.critical.front().us / found.once.us : 0}};
}

/// A put by sennit, or its copy straight by an engine; of others nothing is known.
Result<Json> put_row_of(const Json& row, const machine::Machine& machine, const sim::PutCosts& costs) {
  const std::string variant = row.at("variant").get<std::string>();
  if (variant != "sennit" && variant != "engine") return Json();
  sim::Put put;
  put.costs = costs;
  put.from = row.at("from").get<std::string>();
  put.to = row.at("to").get<std::string>();
  put.bytes = row.at("bytes").get<double>();
  put.window = row.value("window", 1);
  put.both_ways = row.at("traffic") == "both_ways";
  std::string plan;
  if (variant == "engine") put.split.emplace_back("direct", 1);
  for (const Json& share : row.value("split", Json::array()))
    put.split.emplace_back(share.at("route").get<std::string>(), share.at("share").get<double>());
  for (const auto& [route, part] : put.split)
    plan +=
        fmt::format("{}{}{}", plan.empty() ? "" : ", ", route, part < 1 ? fmt::format(" {:.0f} %", part * 100) : "");
  const auto played = sim::simulate_put(machine, put);
  if (!played) return played.status();
  const bool any = !played->critical.empty();
  return Json{{"operation", fmt::format("put {} to {}{}{}", put.from, put.to, put.both_ways ? ", both ways" : "",
                                        put.window > 1 ? fmt::format(", window {}", put.window) : "")},
              {"bytes", row.at("bytes")},
              {"ranks", 2},
              {"plan", plan},
              {"measured_us", row.at("median_us")},
              {"us", played->us / put.window},
              {"limit", any ? played->critical.front().what : ""},
              {"limit_share", any ? played->critical.front().us / played->us : 0}};
}

}  // namespace

Result<Exit> hold_against(const Against& asked) {
  const auto known = machine::known_machine(asked.machine, "");
  if (!known) return of_arguments(known.status());
  auto document = read_json(asked.file);
  if (!document) return of_arguments(document.status());
  const std::string kind = document->value("kind", "");
  if (kind != "bench collective" && kind != "bench put")
    return Status(Code::invalid_argument, asked.file + " is no result of puts or collectives", {},
                  "Name a result that `sennit bench allreduce --json` or `sennit bench put --json` kept");
  const bool puts = kind == "bench put";
  sim::Costs costs;
  sim::PutCosts put_costs;
  if (auto status =
          puts ? set_costs(put_costs, sim::kPutCosts, asked.costs) : set_costs(costs, sim::kCosts, asked.costs);
      !status)
    return status;
  Json rows = Json::array();
  std::size_t index = 0;
  try {
    for (const Json& each : document->at("rows")) {
      auto row = puts ? put_row_of(each, known->machine, put_costs) : row_of(each, known->machine, costs);
      if (!row) return row.status();
      if (!row->is_null()) rows.push_back(std::move(*row));
      ++index;
    }
  } catch (const Json::exception& error) {
    return Status(Code::invalid_argument, fmt::format("rows[{}] is no row of a result: {}", index, error.what()),
                  asked.file, "Keep a result anew: sennit bench … --json");
  }
  Json used = Json::object();
  if (puts)
    for (const sim::NamedPutCost& each : sim::kPutCosts) used[std::string(each.name)] = put_costs.*each.cost;
  else
    for (const sim::NamedCost& each : sim::kCosts) used[std::string(each.name)] = costs.*each.cost;
  print({{"version", 1},
         {"kind", "sim against"},
         {"machine", known->machine.name},
         {"measured",
          {{"date", document->value("date", "")}, {"versions", document->value("versions", Json::object())}}},
         {"costs", std::move(used)},
         {"rows", std::move(rows)}});
  return Exit::ok;
}

}  // namespace sennit::bench
