// The schema and the reader must accept the same members and the same words; Python validates with the one, C++
// with the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/json.h"
#include "machine/document.h"
#include "machine/made_up.h"
#include "places.h"

namespace sennit::machine {
namespace {

Json schema() {
  return *read_json(places::source("schemas/machine.schema.json"));
}

std::set<std::string> keys(const Json& object) {
  std::set<std::string> result;
  for (const auto& [key, value] : object.items()) result.insert(key);
  return result;
}

/// A machine whose parts together write every member there is.
Json everything() {
  Machine machine = two_gpus();
  machine.devices[0].write_gbps = machine.devices[0].read_write_gbps = machine.devices[0].read_gbps;
  machine.links[0].both_gbps = machine.links[0].forward_gbps;
  return to_json(machine);
}

TEST(Schema, HasExactlyTheMembersThatAreWritten) {
  const Json all = everything();
  const Json rules = schema();
  EXPECT_EQ(keys(rules["properties"]), keys(all));
  const Json& parts = rules["$defs"];
  EXPECT_EQ(keys(parts["device"]["properties"]), keys(all["devices"][0]));
  EXPECT_EQ(keys(parts["link"]["properties"]), keys(all["links"][0]));
  EXPECT_EQ(keys(parts["curve"]["properties"]), keys(all["curves"][0]));
  EXPECT_EQ(keys(parts["point"]["properties"]), keys(all["curves"][0]["points"][0]));
  EXPECT_EQ(keys(parts["staged"]["properties"]), keys(all["staged"][0]));
  EXPECT_EQ(keys(parts["figure"]["properties"]), keys(all["staged"][0]["rate_gbps"]));
  EXPECT_EQ(rules["properties"]["version"]["const"], kVersion);
}

TEST(Schema, RequiresExactlyWhatTheReaderRequires) {
  const Json rules = schema();
  const auto check = [](const std::string& pointer, const Json& part) {
    const std::set<std::string> required(part["required"].begin(), part["required"].end());
    for (const auto& [member, rule] : part["properties"].items()) {
      Json document = everything();
      document[Json::json_pointer(pointer)].erase(member);
      // Taking out a member that others refer to breaks the document in another way than by its absence.
      const Status status = machine::from_json(document, "m").status();
      const bool missing = status.what().find("missing") != std::string::npos;
      EXPECT_EQ(missing, required.contains(member)) << pointer << " " << member << ": " << status.text();
    }
  };
  check("", rules);
  check("/devices/0", rules["$defs"]["device"]);
  check("/links/0", rules["$defs"]["link"]);
  check("/curves/0", rules["$defs"]["curve"]);
  check("/curves/0/points/0", rules["$defs"]["point"]);
  check("/staged/0", rules["$defs"]["staged"]);
  check("/staged/0/rate_gbps", rules["$defs"]["figure"]);
}

TEST(Schema, KnowsTheSameWords) {
  const auto accepts = [](const std::string& pointer, const Json& words) {
    for (const Json& word : words) {
      Json document = everything();
      document[Json::json_pointer(pointer)] = word;
      const Status status = machine::from_json(document, "m").status();
      EXPECT_EQ(status.what().find("unknown"), std::string::npos) << status.text();
    }
    Json document = everything();
    document[Json::json_pointer(pointer)] = "";
    std::size_t offered = 1;
    const std::string remedy = machine::from_json(document, "m").status().remedy();
    offered += std::size_t(std::ranges::count(remedy, ','));
    EXPECT_EQ(offered, words.size()) << pointer;
  };
  const Json parts = schema()["$defs"];
  accepts("/devices/0/kind", parts["device"]["properties"]["kind"]["enum"]);
  accepts("/links/2/kind", parts["link"]["properties"]["kind"]["enum"]);
  accepts("/curves/0/method", parts["method"]["enum"]);
  accepts("/curves/0/traffic", parts["curve"]["properties"]["traffic"]["enum"]);
  accepts("/staged/0/rate_gbps/source", parts["source"]["enum"]);
}

}  // namespace
}  // namespace sennit::machine
