#include "path/tuned.h"

#include <algorithm>
#include <cmath>
#include <system_error>

#include <fmt/format.h>

#include "machine/cache.h"

namespace sennit::path {

namespace {

const NamedShares kSingle{{"direct", 1.0}};

bool same_routes(const NamedShares& a, const NamedShares& b) {
  return std::ranges::equal(a, b, {}, &NamedShares::value_type::first, &NamedShares::value_type::first);
}

/// Reads one entry; an empty text means it is sound.
std::string read_entry(const Json& entry, TunedPut& into) {
  if (!entry.is_object()) return "is not an object";
  for (const char* member : {"from", "to"})
    if (!entry.contains(member) || !entry[member].is_string()) return fmt::format("{} is not a device", member);
  for (const char* member : {"us", "spread_us", "single_us"})
    if (!entry.contains(member) || !entry[member].is_number() || !(entry[member].get<double>() >= 0))
      return fmt::format("{} is not a time", member);
  if (!entry.contains("bytes") || !entry["bytes"].is_number_unsigned()) return "bytes is not a size";
  if (!entry.contains("both_ways") || !entry["both_ways"].is_boolean()) return "both_ways is not true or false";
  if (!entry.contains("shares") || !entry["shares"].is_object() || entry["shares"].empty())
    return "shares are missing";
  double sum = 0;
  for (const auto& [route, share] : entry["shares"].items()) {
    if (!share.is_number() || !(share.get<double>() > 0)) return fmt::format("the share of {} is not above 0", route);
    sum += share.get<double>();
    into.shares.emplace_back(route, share.get<double>());
  }
  if (!(std::abs(sum - 1) < 1e-3)) return fmt::format("shares sum to {}, not 1", sum);
  into.from = entry["from"].get<std::string>();
  into.to = entry["to"].get<std::string>();
  into.both_ways = entry["both_ways"].get<bool>();
  into.bytes = entry["bytes"].get<std::uint64_t>();
  into.us = entry["us"].get<double>();
  into.spread_us = entry["spread_us"].get<double>();
  into.single_us = entry["single_us"].get<double>();
  return {};
}

}  // namespace

std::optional<NamedShares> PutTable::shares(const std::string& from, const std::string& to, bool both_ways,
                                            std::uint64_t bytes) const {
  const TunedPut* below = nullptr;
  const TunedPut* above = nullptr;
  bool known = false;
  for (const TunedPut& entry : entries) {
    if (entry.from != from || entry.to != to || entry.both_ways != both_ways) continue;
    known = true;
    if (entry.bytes <= bytes && (below == nullptr || entry.bytes > below->bytes)) below = &entry;
    if (entry.bytes > bytes && (above == nullptr || entry.bytes < above->bytes)) above = &entry;
  }
  if (!known) return std::nullopt;
  if (below == nullptr) return kSingle;
  if (above == nullptr || !same_routes(below->shares, above->shares)) return below->shares;
  const double part =
      std::log2(double(bytes) / double(below->bytes)) / std::log2(double(above->bytes) / double(below->bytes));
  NamedShares between = below->shares;
  for (std::size_t i = 0; i < between.size(); ++i)
    between[i].second += part * (above->shares[i].second - between[i].second);
  return between;
}

std::uint64_t PutTable::least_split(const std::string& from, const std::string& to) const {
  std::uint64_t least = ~std::uint64_t{0};
  bool known = false;
  for (const TunedPut& entry : entries) {
    if (entry.from != from || entry.to != to) continue;
    known = true;
    if (entry.shares.size() > 1) least = std::min(least, entry.bytes);
  }
  return known ? least : 0;
}

Json to_json(const PutTable& table) {
  Json document{{"version", PutTable::kVersion},
                {"kind", "put table"},
                {"fingerprint", table.fingerprint},
                {"date", table.date},
                {"entries", Json::array()}};
  for (const TunedPut& entry : table.entries) {
    Json shares = Json::object();
    for (const auto& [route, share] : entry.shares) shares[route] = share;
    document["entries"].push_back({{"from", entry.from},
                                   {"to", entry.to},
                                   {"both_ways", entry.both_ways},
                                   {"bytes", entry.bytes},
                                   {"shares", shares},
                                   {"us", entry.us},
                                   {"spread_us", entry.spread_us},
                                   {"single_us", entry.single_us}});
  }
  return document;
}

Result<PutTable> put_table_from_json(const Json& document, std::string_view origin) {
  const auto corrupt = [&](const std::string& what) {
    return Status(Code::corrupt, what, std::string(origin), "Delete it and run: sennit tune");
  };
  if (!document.is_object() || document.value("version", Json()) != PutTable::kVersion ||
      document.value("kind", Json()) != "put table")
    return corrupt(fmt::format("is not a put table of version {}", PutTable::kVersion));
  for (const char* member : {"fingerprint", "date"})
    if (!document.contains(member) || !document[member].is_string())
      return corrupt(fmt::format("{} is missing", member));
  if (!document.contains("entries") || !document["entries"].is_array()) return corrupt("entries are missing");
  PutTable table;
  table.fingerprint = document["fingerprint"].get<std::string>();
  table.date = document["date"].get<std::string>();
  for (std::size_t i = 0; i < document["entries"].size(); ++i)
    if (const std::string wrong = read_entry(document["entries"][i], table.entries.emplace_back()); !wrong.empty())
      return corrupt(fmt::format("entries[{}]: {}", i, wrong));
  return table;
}

Result<std::filesystem::path> put_table_file(const std::string& fingerprint) {
  auto file = machine::cache_file(fingerprint);
  if (!file) return file.status();
  return file->replace_extension(".put.json");
}

Result<PutTable> load_put_table(const std::string& fingerprint) {
  auto file = put_table_file(fingerprint);
  if (!file) return file.status();
  if (std::error_code error; !std::filesystem::exists(*file, error))
    return Status(Code::not_found, "puts were never tuned on this machine", file->string(), "Run: sennit tune");
  auto document = read_json(*file);
  if (!document) return document.status();
  return put_table_from_json(*document, file->string());
}

}  // namespace sennit::path
