// Defines the result model that all benchmarks share, and its JSON; schemas/result.schema.json states it for readers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "bench/measure/timing.h"
#include "bench/put/job.h"
#include "machine/machine.h"

namespace sennit::bench::put {

/// One size, one way of doing it.
struct Row {
  std::string variant, from, to;
  Case what;
  measure::Summary time;                              ///< of one message; of a window, divided by its messages
  double limit_gbps = 0;                              ///< what the links allow; 0 where nothing is known
  std::vector<std::pair<std::string, double>> split;  ///< share by route; `sennit` only
  bool verified = false;
};

Json to_json(const Row& row);
/// Errors: corrupt, naming the member.
Result<Row> row_from(const Json& json);

/// Holds what the ranks of one pair found, as the parent reads it.
struct Outcome {
  std::vector<Row> rows;
  std::vector<std::string> warnings;  ///< sentences that end with what to do
  std::map<std::string, std::string> versions;
  double setup_ms = 0;  ///< 0: not measured
};

Json to_json(const Outcome& outcome);
Result<Outcome> outcome_from(const Json& json);

/// Returns a sentence for every row above 1 MiB whose spread is more than a tenth of its median.
std::vector<std::string> unsteady(const std::vector<Row>& rows);

/// "2026-11-21T10:00:00Z": now.
std::string timestamp();

/// Returns the whole document.
Json document(const machine::Machine& machine, const std::vector<std::string>& devices, const Json& settings,
              const Outcome& outcome);

}  // namespace sennit::bench::put
