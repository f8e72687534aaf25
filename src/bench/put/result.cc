#include "bench/put/result.h"

#include <ctime>
#include <thread>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::bench::put {

namespace {

/// A default: where repeated times differ by more than this part of the median, a ratio of 1.1 says little.
constexpr double kUnsteady = 0.1;

}  // namespace

Json to_json(const Row& row) {
  Json json = {{"variant", row.variant},
               {"from", row.from},
               {"to", row.to},
               {"traffic", traffic_name(row.what.both_ways)},
               {"window", row.what.window},
               {"bytes", row.what.bytes},
               {"repetitions", row.time.repetitions},
               {"median_us", row.time.median_us},
               {"spread_us", row.time.spread_us},
               {"min_us", row.time.min_us},
               {"p95_us", row.time.p95_us},
               {"gbps", gigabytes_per_second(row.what.bytes, row.time.median_us)},
               {"limit_gbps", row.limit_gbps}};
  if (!row.split.empty()) {
    Json shares = Json::array();
    for (const auto& [route, share] : row.split) shares.push_back({{"route", route}, {"share", share}});
    json["split"] = std::move(shares);
  }
  json["verified"] = row.verified;
  return json;
}

Result<Row> row_from(const Json& json) {
  try {
    Row row;
    row.variant = json.at("variant");
    row.from = json.at("from");
    row.to = json.at("to");
    row.what = {json.at("bytes"), json.at("traffic") == "both_ways", json.at("window")};
    row.time.repetitions = json.at("repetitions");
    row.time.median_us = json.at("median_us");
    row.time.spread_us = json.at("spread_us");
    row.time.min_us = json.at("min_us");
    row.time.p95_us = json.at("p95_us");
    row.limit_gbps = json.at("limit_gbps");
    if (json.contains("split"))
      for (const Json& share : json.at("split"))
        row.split.emplace_back(share.at("route").get<std::string>(), share.at("share").get<double>());
    row.verified = json.at("verified");
    return row;
  } catch (const Json::exception& error) {
    return Status(Code::corrupt, error.what(), "row", "Report this: it should not happen");
  }
}

Json to_json(const Outcome& outcome) {
  Json rows = Json::array();
  for (const Row& row : outcome.rows) rows.push_back(to_json(row));
  return {
      {"rows", rows}, {"warnings", outcome.warnings}, {"versions", outcome.versions}, {"setup_ms", outcome.setup_ms}};
}

Result<Outcome> outcome_from(const Json& json) {
  try {
    Outcome outcome;
    for (const Json& each : json.at("rows")) {
      auto row = row_from(each);
      if (!row) return row.status();
      outcome.rows.push_back(std::move(*row));
    }
    outcome.warnings = json.at("warnings").get<std::vector<std::string>>();
    outcome.versions = json.at("versions").get<std::map<std::string, std::string>>();
    outcome.setup_ms = json.at("setup_ms");
    return outcome;
  } catch (const Json::exception& error) {
    return Status(Code::corrupt, error.what(), "what rank 0 printed", "Report this: it should not happen");
  }
}

std::vector<std::string> unsteady(const std::vector<Row>& rows) {
  std::vector<std::string> sentences;
  for (const Row& row : rows)
    if (row.what.bytes > MiB && row.time.spread_us > kUnsteady * row.time.median_us)
      sentences.push_back(fmt::format(
          "{} of {} from {} to {} ({}, window {}) spreads by {:.0f} % of its median: another job may use these "
          "links; "
          "measure again on a quiet machine, or longer (--seconds).",
          row.variant, format_bytes(row.what.bytes), row.from, row.to, row.what.both_ways ? "both ways" : "one way",
          row.what.window, 100 * row.time.spread_us / row.time.median_us));
  return sentences;
}

std::string timestamp() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec);
}

Json document(const machine::Machine& machine, const std::vector<std::string>& devices, const Json& settings,
              const Outcome& outcome) {
  std::string cpu;
  for (const machine::Device& device : machine.devices)
    if (device.kind == machine::DeviceKind::host && cpu.empty()) cpu = device.model;
  const Json rows = to_json(outcome).at("rows");
  return {{"version", 1},
          {"kind", "bench put"},
          {"date", timestamp()},
          {"machine",
           {{"name", machine.name},
            {"fingerprint", machine.fingerprint},
            {"driver", machine.driver},
            {"cuda", machine.cuda},
            {"devices", devices},
            {"host_cpu", cpu},
            {"cores", std::thread::hardware_concurrency()}}},
          {"versions", outcome.versions},
          {"settings", settings},
          {"rows", rows},
          {"warnings", outcome.warnings}};
}

}  // namespace sennit::bench::put
