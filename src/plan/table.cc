#include "plan/table.h"

#include <algorithm>
#include <system_error>
#include <tuple>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/units.h"
#include "comm/sha256.h"
#include "machine/cache.h"

namespace sennit::plan {

namespace {

constexpr std::string_view kKind = "collective table";
constexpr std::string_view kTableEnd = ".collectives.json";  // of its file's name

auto key(const Entry& entry) {
  const coll::CallKey& which = entry.which;
  return std::tuple<std::size_t, const Layout&, coll::Operation, coll::Arithmetic, bool, std::uint64_t>(
      entry.layout.size(), entry.layout, which.operation, which.arithmetic, which.windows, which.bytes);
}

bool is_time(const Json& entry, const char* member) {
  return entry.contains(member) && entry[member].is_number() && entry[member].get<double>() >= 0;
}
bool is_count(const Json& entry, const char* member) {
  return entry.contains(member) && entry[member].is_number_unsigned();
}
bool is_text(const Json& entry, const char* member) {
  return entry.contains(member) && entry[member].is_string();
}

// The readers below return what is wrong; an empty text means that all is well.

std::string read_plan(const Json& plan, coll::Operation operation, Timed& into) {
  if (!plan.is_object() || !is_text(plan, "algorithm")) return "algorithm is missing";
  auto algorithm = coll::parse_algorithm(operation, plan["algorithm"].get<std::string>());
  if (!algorithm) return algorithm.status().what();
  for (const char* member : {"us", "spread_us"})
    if (!is_time(plan, member)) return fmt::format("{} is not a time", member);
  if (!is_count(plan, "blocks") || plan["blocks"] < 1 || plan["blocks"] > coll::kMostBlocks)
    return fmt::format("blocks is not 1 to {}", coll::kMostBlocks);
  if (!is_count(plan, "threads") || plan["threads"] < 32 || plan["threads"] > device::kBlockThreads ||
      plan["threads"].get<unsigned>() % 32 != 0)
    return fmt::format("threads is not a multiple of 32 up to {}", device::kBlockThreads);
  into.plan = {*algorithm, plan["blocks"].get<unsigned>(), plan["threads"].get<unsigned>()};
  into.us = plan["us"].get<double>();
  into.spread_us = plan["spread_us"].get<double>();
  return {};
}

std::string read_entry(const Json& entry, Entry& into) {
  if (!entry.is_object()) return "is not an object";
  if (!entry.contains("layout") || !entry["layout"].is_array() || entry["layout"].size() < 2 ||
      entry["layout"].size() > coll::kMostRanks)
    return fmt::format("layout is not the devices of 2 to {} ranks", coll::kMostRanks);
  for (const Json& device : entry["layout"]) {
    if (!device.is_string()) return "layout names no device";
    into.layout.push_back(device.get<std::string>());
  }
  for (const char* member : {"operation", "arithmetic"})
    if (!is_text(entry, member)) return fmt::format("{} is missing", member);
  auto operation = coll::parse_operation(entry["operation"].get<std::string>());
  if (!operation) return operation.status().what();
  auto arithmetic = coll::parse_arithmetic(entry["arithmetic"].get<std::string>());
  if (!arithmetic) return arithmetic.status().what();
  if (!is_count(entry, "bytes")) return "bytes is not a size";
  // Tables from before these were tuned have no entries between windows.
  const Json windows = entry.value("windows", Json(false));
  if (!windows.is_boolean()) return "windows is not true or false";
  into.which = {*operation, *arithmetic, entry["bytes"].get<std::uint64_t>(), windows.get<bool>()};
  for (const char* member : {"model_us", "nccl_us"})
    if (!is_time(entry, member)) return fmt::format("{} is not a time", member);
  into.model_us = entry["model_us"].get<double>();
  into.nccl_us = entry["nccl_us"].get<double>();
  if (is_text(entry, "nccl")) into.nccl = entry["nccl"].get<std::string>();
  if (!is_count(entry, "candidates")) return "candidates is not a number";
  into.candidates = entry["candidates"].get<unsigned>();
  if (!entry.contains("plans") || !entry["plans"].is_array() || entry["plans"].empty() ||
      entry["plans"].size() > Entry::kMostPlans)
    return fmt::format("plans are not 1 to {}", Entry::kMostPlans);
  for (std::size_t i = 0; i < entry["plans"].size(); ++i)
    if (const std::string wrong = read_plan(entry["plans"][i], *operation, into.plans.emplace_back()); !wrong.empty())
      return fmt::format("plans[{}]: {}", i, wrong);
  return {};
}

Json to_json(const Entry& entry) {
  Json plans = Json::array();
  for (const Timed& timed : entry.plans)
    plans.push_back({{"algorithm", coll::name(timed.plan.algorithm)},
                     {"blocks", timed.plan.blocks},
                     {"threads", timed.plan.threads},
                     {"us", timed.us},
                     {"spread_us", timed.spread_us}});
  Json json{{"layout", entry.layout},
            {"operation", coll::name(entry.which.operation)},
            {"arithmetic", coll::name(entry.which.arithmetic)},
            {"bytes", entry.which.bytes},
            {"plans", std::move(plans)},
            {"model_us", entry.model_us},
            {"nccl_us", entry.nccl_us},
            {"nccl", entry.nccl},
            {"candidates", entry.candidates}};
  if (entry.which.windows) json["windows"] = true;
  return json;
}

/// Describes what differs between two sets of versions that must be equal for times to be compared.
std::string difference(const std::map<std::string, std::string>& theirs,
                       const std::map<std::string, std::string>& ours) {
  for (const auto& [name, version] : ours) {
    const auto found = theirs.find(name);
    const std::string other = found != theirs.end() ? found->second : std::string();
    if (other != version) return fmt::format("{} {} instead of {}", name, other.empty() ? "?" : other, version);
  }
  return {};
}

}  // namespace

bool before(const Entry& a, const Entry& b) {
  return key(a) < key(b);
}

const Entry* Table::find(const Layout& layout, const coll::CallKey& which) const {
  for (const Entry& entry : entries)
    if (entry.layout == layout && entry.which == which) return &entry;
  return nullptr;
}

std::map<std::string, std::string> versions_of(const machine::Machine& machine) {
  return {{"sennit", SENNIT_VERSION}, {"driver", machine.driver}, {"cuda", machine.cuda}};
}

Status suits(const Table& table, const machine::Machine& machine, std::uint64_t scratch_bytes) {
  const auto refused = [](std::string what) {
    return Status(Code::mismatch, std::move(what), "the table of collectives", "Run: sennit tune collectives");
  };
  if (table.fingerprint != machine.fingerprint)
    return refused(fmt::format("it was measured on machine {}, this is {}", table.fingerprint, machine.fingerprint));
  if (const std::string differs = difference(table.versions, versions_of(machine)); !differs.empty())
    return refused(fmt::format("it was measured with {}", differs));
  if (table.scratch_bytes != scratch_bytes)
    return refused(fmt::format("it was measured with {} of scratch memory, here are {}",
                               format_bytes(table.scratch_bytes), format_bytes(scratch_bytes)));
  return {};
}

Result<Table> merge(const Table& older, const Table& newer) {
  const auto refused = [](std::string what) { return Status(Code::mismatch, std::move(what), "merging tables"); };
  if (older.fingerprint != newer.fingerprint)
    return refused(fmt::format("one is of machine {}, one of {}", older.fingerprint, newer.fingerprint));
  if (const std::string differs = difference(older.versions, newer.versions); !differs.empty())
    return refused(fmt::format("the older was measured with {}", differs));
  if (older.scratch_bytes != newer.scratch_bytes)
    return refused(fmt::format("{} and {} of scratch memory", format_bytes(older.scratch_bytes),
                               format_bytes(newer.scratch_bytes)));
  Table merged = older;
  merged.date = std::max(older.date, newer.date);
  for (const Entry& entry : newer.entries) insert(merged, entry);
  return merged;
}

void insert(Table& table, Entry entry) {
  const auto place = std::ranges::lower_bound(table.entries, entry, &before);
  if (place != table.entries.end() && place->same_case(entry))
    *place = std::move(entry);
  else
    table.entries.insert(place, std::move(entry));
}

Json to_json(const Table& table) {
  Json document{{"version", Table::kVersion},       {"kind", kKind},
                {"fingerprint", table.fingerprint}, {"date", table.date},
                {"versions", table.versions},       {"scratch_bytes", table.scratch_bytes},
                {"entries", Json::array()}};
  for (const Entry& entry : table.entries) document["entries"].push_back(to_json(entry));
  return document;
}

Result<Table> table_from_json(const Json& document, std::string_view origin) {
  const auto corrupt = [&](const std::string& what) {
    return Status(Code::corrupt, what, std::string(origin), "Delete it and run: sennit tune collectives");
  };
  if (!document.is_object() || document.value("version", Json()) != Table::kVersion ||
      document.value("kind", Json()) != kKind)
    return corrupt(fmt::format("is not a {} of version {}", kKind, Table::kVersion));
  for (const char* member : {"fingerprint", "date"})
    if (!is_text(document, member)) return corrupt(fmt::format("{} is missing", member));
  if (!document.contains("versions") || !document["versions"].is_object()) return corrupt("versions are missing");
  if (!is_count(document, "scratch_bytes")) return corrupt("scratch_bytes is not a size");
  if (!document.contains("entries") || !document["entries"].is_array()) return corrupt("entries are missing");
  Table table;
  table.fingerprint = document["fingerprint"].get<std::string>();
  table.date = document["date"].get<std::string>();
  for (const auto& [name, version] : document["versions"].items()) {
    if (!version.is_string()) return corrupt(fmt::format("versions: {} is not a text", name));
    table.versions[name] = version.get<std::string>();
  }
  table.scratch_bytes = document["scratch_bytes"].get<std::uint64_t>();
  for (std::size_t i = 0; i < document["entries"].size(); ++i) {
    Entry entry;
    if (const std::string wrong = read_entry(document["entries"][i], entry); !wrong.empty())
      return corrupt(fmt::format("entries[{}]: {}", i, wrong));
    insert(table, std::move(entry));
  }
  return table;
}

std::string hash(const Table& table) {
  std::string text;
  for (const std::byte byte : comm::sha256(to_json(table).dump()))
    text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

Result<std::filesystem::path> table_file(const std::string& fingerprint) {
  auto file = machine::cache_file(fingerprint);
  if (!file) return file.status();
  return file->replace_extension(kTableEnd);
}

bool has_table() {
  const std::string named = environment("SENNIT_TABLE");
  if (!named.empty()) return named != "none";
  const auto folder = machine::cache_folder();
  if (!folder) return false;
  std::error_code error;
  for (std::filesystem::directory_iterator file(*folder, error), end; !error && file != end; file.increment(error))
    if (file->path().filename().string().ends_with(kTableEnd)) return true;
  return false;
}

Result<Table> load_table(const std::filesystem::path& file, std::string_view named_by) {
  if (std::error_code error; !std::filesystem::exists(file, error)) {
    if (!named_by.empty())
      return Status(Code::not_found, fmt::format("{} does not exist", file.string()), {},
                    fmt::format("Check {}", named_by));
    return Status(Code::not_found, "collectives were never tuned on this machine", file.string(),
                  "Run: sennit tune collectives");
  }
  auto document = read_json(file);
  if (!document) return document.status();
  return table_from_json(*document, file.string());
}

Result<Kept> kept_table(const machine::Machine& machine) {
  const std::string named = environment("SENNIT_TABLE");
  if (named == "none" || (named.empty() && machine.fingerprint.empty())) return Kept();
  Kept kept{named, std::nullopt};
  if (named.empty()) {
    auto file = table_file(machine.fingerprint);
    if (!file) return Kept();  // there is no folder to keep tables in
    kept.file = *file;
  }
  auto table = load_table(kept.file, named.empty() ? "" : "SENNIT_TABLE");
  if (table.ok())
    kept.table = std::move(*table);
  else if (!named.empty())
    return std::move(table).status().in("SENNIT_TABLE");
  else if (table.status().code() != Code::not_found)
    return table.status();
  return kept;
}

Result<Table> own_table(const machine::Machine& machine, std::uint64_t scratch_bytes) {
  auto kept = kept_table(machine);
  if (!kept) return kept.status();
  if (!kept->table) return Table();
  if (auto suited = suits(*kept->table, machine, scratch_bytes); !suited) return suited;
  return *std::move(kept->table);
}

}  // namespace sennit::plan
