#include "bench/sim/bounds.h"

#include <cstddef>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/units.h"
#include "machine/known.h"
#include "sim/bound.h"
#include "sim/predict.h"

namespace sennit::bench {

namespace {

struct Row {
  coll::Operation operation{};
  std::uint64_t bytes = 0;
  int ranks = 0;
};

Result<Row> row_of(const std::string& operation, const std::string& size, int ranks) {
  auto named = coll::parse_operation(operation);
  if (!named) return std::move(named).status();
  auto bytes = parse_bytes(size);
  if (!bytes) return std::move(bytes).status();
  return Row{*named, *bytes, ranks};
}

Result<std::vector<Row>> rows_of(std::istream& from, const std::string& name) {
  std::vector<Row> rows;
  std::string line;
  for (int number = 1; std::getline(from, line); ++number) {
    std::istringstream words(line);
    std::string operation, size, more;
    if (!(words >> operation)) continue;
    int ranks = 0;
    const std::string where = fmt::format("{}:{}", name, number);
    if (!(words >> size >> ranks) || words >> more || ranks < 1)
      return Status(Code::invalid_argument, fmt::format("'{}' is no row", line), where,
                    "Write an operation, a size and a number of ranks: allreduce 64M 4");
    auto row = row_of(operation, size, ranks);
    if (!row) return std::move(row).status().in(where);
    rows.push_back(*row);
  }
  return rows;
}

Result<std::vector<Row>> rows_of(const Bounds& asked) {
  const bool is_one = !asked.operation.empty();
  if (is_one == !asked.rows.empty() || is_one == asked.size.empty())
    return Status(Code::invalid_argument, "one row is asked for by OPERATION and SIZE, many by --rows", "bound",
                  "Such as: sennit-sim bound allreduce 64M --ranks 4");
  if (is_one) {
    auto row = row_of(asked.operation, asked.size, asked.ranks);
    if (!row) return std::move(row).status();
    return std::vector<Row>{*row};
  }
  if (asked.rows == "-") return rows_of(std::cin, "standard input");
  std::ifstream file(asked.rows);
  if (!file)
    return Status(Code::invalid_argument, "cannot read " + asked.rows, "--rows",
                  "Name a file, or - for standard input");
  return rows_of(file, asked.rows);
}

/// Bounds are in proportion to bytes, so one of each operation and number of ranks is reckoned.
class OfMachine {
 public:
  explicit OfMachine(const machine::Machine& machine) : machine_(machine), gpus_(sim::gpus_of(machine)) {}

  Json json_of(const Row& row) {
    const int ranks = row.ranks != 0 ? row.ranks : static_cast<int>(gpus_.size());
    Json json = {{"operation", coll::name(row.operation)}, {"bytes", row.bytes}, {"ranks", ranks}};
    const std::string why = why_not(row.operation, ranks);
    if (!why.empty()) {
      json["bound_us"] = nullptr;
      json["why"] = why;
      return json;
    }
    const std::optional<double> a_byte = of_a_byte(row.operation, ranks);
    json["bound_us"] = a_byte ? Json(*a_byte * static_cast<double>(row.bytes)) : Json();
    if (!a_byte) json["why"] = "no link joins these ranks";
    return json;
  }

 private:
  std::string why_not(coll::Operation operation, int ranks) const {
    if (operation == coll::Operation::barrier) return "a barrier moves no bytes";
    if (ranks < 2) return "one rank needs no link";
    if (static_cast<std::size_t>(ranks) > gpus_.size()) return "more ranks than GPUs";
    return "";
  }

  std::optional<double> of_a_byte(coll::Operation operation, int ranks) {
    const auto [at, is_new] = known_.try_emplace({operation, ranks});
    if (is_new) {
      const std::vector<std::string> first(gpus_.begin(), gpus_.begin() + ranks);
      at->second = sim::bound_us(machine_, first, operation, 1, 0);
    }
    return at->second;
  }

  const machine::Machine& machine_;
  std::vector<std::string> gpus_;
  std::map<std::pair<coll::Operation, int>, std::optional<double>> known_;
};

}  // namespace

Result<Exit> print_bounds(const Bounds& asked) {
  const auto rows = rows_of(asked);
  if (!rows) return rows.status();
  const auto known = machine::known_machine(asked.machine, "");
  if (!known) return of_arguments(known.status());
  OfMachine machine(known->machine);
  Json found = Json::array();
  for (const Row& row : *rows) found.push_back(machine.json_of(row));
  print({{"version", 1}, {"kind", "sim bound"}, {"machine", known->machine.name}, {"rows", std::move(found)}});
  return Exit::ok;
}

}  // namespace sennit::bench
