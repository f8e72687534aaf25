#include "path/explain.h"

#include <utility>

#include "base/units.h"

namespace sennit::path {

namespace {

Json common(const Candidate& candidate) {
  return {{"route", candidate.route.name()},
          {"stops", candidate.route.stops},
          {"method", machine::name(candidate.route.method)}};
}

Json carried(const Share& share, std::uint64_t whole) {
  const Candidate& candidate = share.candidate;
  Json row = common(candidate);
  row["bytes"] = share.bytes;
  row["share"] = double(share.bytes) / double(whole);
  row["offset"] = share.offset;
  row["chunk_bytes"] = candidate.chunk_bytes;
  row["blocks"] = candidate.blocks;
  row["startup_us"] = candidate.startup_us;
  row["rate_gbps"] = candidate.rate_gbps;
  row["finish_us"] = share.finish_us;
  row["links"] = candidate.links;
  row["source"] = machine::name(candidate.source);
  return row;
}

Json left_out(const Rejected& each) {
  Json row = common(each.candidate);
  row["startup_us"] = each.candidate.startup_us;
  row["rate_gbps"] = each.candidate.rate_gbps;
  row["links"] = each.candidate.links;
  row["source"] = machine::name(each.candidate.source);
  row["reason"] = each.reason;
  return row;
}

}  // namespace

Json explain(const machine::Machine& machine, const std::string& from, const std::string& to, const Split& split,
             bool both_ways) {
  Json shares = Json::array();
  for (const Share& share : split.shares) shares.push_back(carried(share, split.bytes));
  Json rejected = Json::array();
  for (const Rejected& each : split.rejected) rejected.push_back(left_out(each));
  return {{"version", 1},
          {"operation", "put"},
          {"bytes", split.bytes},
          {"from", machine.find(from)->id},
          {"to", machine.find(to)->id},
          {"traffic", both_ways ? "both_ways" : "one_way"},
          {"machine", machine.name},
          {"measured", !machine.curves.empty()},
          {"tuned", split.tuned},
          {"shares", std::move(shares)},
          {"rejected", std::move(rejected)},
          {"predicted_us", split.predicted_us},
          {"predicted_gbps", gigabytes_per_second(split.bytes, split.predicted_us)},
          {"single_us", split.single_us},
          {"single_gbps", gigabytes_per_second(split.bytes, split.single_us)},
          {"limit_gbps", split.limit_gbps}};
}

Result<Json> explain_put(const machine::Machine& machine, const std::string& from, const std::string& to,
                         std::uint64_t bytes, SplitOptions options, const Ground& ground) {
  // The table knows devices by id alone; names that the machine does not know are split()'s to refuse.
  const auto id = [&](const std::string& name) {
    const machine::Device* found = machine.find(name);
    return found != nullptr ? found->id : name;
  };
  const std::string source = id(from), destination = id(to);
  PutTable table;
  if (ground.kept && !machine.fingerprint.empty())
    if (auto kept = load_put_table(machine.fingerprint); kept.ok()) {
      table = *std::move(kept);
      options.tuned = &table;
    }
  const bool direct_alone =
      !ground.named && options.tuned == nullptr && options.forced.empty() && source != destination;
  if (direct_alone) options.forced = {{"direct", 1.0}};
  auto decided = split(machine, source, destination, bytes, options);
  if (!decided) return std::move(decided).status();
  if (direct_alone)
    for (Rejected& each : decided->rejected)
      each.reason = "waits until this machine is tuned (sennit tune): nothing says yet that it pays";
  Json document = explain(machine, source, destination, *decided, options.both_ways);
  document["decided_by"] = decided->tuned           ? "table"
                           : direct_alone           ? "caution"
                           : options.forced.empty() ? "model"
                                                    : "request";
  return document;
}

}  // namespace sennit::path
