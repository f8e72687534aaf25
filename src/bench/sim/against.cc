#include "bench/sim/against.h"

#include "machine/known.h"
#include "sim/predict.h"

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

}  // namespace

Result<Exit> hold_against(const Against& asked) {
  const auto known = machine::known_machine(asked.machine, "");
  if (!known) return of_arguments(known.status());
  auto document = read_json(asked.file);
  if (!document) return of_arguments(document.status());
  if (document->value("kind", "") != "bench collective")
    return Status(Code::invalid_argument, asked.file + " is no result of collectives", {},
                  "Name a result that `sennit bench allreduce --json` kept");
  Json rows = Json::array();
  for (const Json& each : document->at("rows")) {
    auto row = row_of(each, known->machine, asked.costs);
    if (!row) return row.status();
    if (!row->is_null()) rows.push_back(std::move(*row));
  }
  Json costs = Json::object();
  for (const sim::NamedCost& each : sim::kCosts) costs[std::string(each.name)] = asked.costs.*each.cost;
  print({{"version", 1},
         {"kind", "sim against"},
         {"machine", known->machine.name},
         {"measured",
          {{"date", document->value("date", "")}, {"versions", document->value("versions", Json::object())}}},
         {"costs", std::move(costs)},
         {"rows", std::move(rows)}});
  return Exit::ok;
}

}  // namespace sennit::bench
