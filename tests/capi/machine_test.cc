#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sennit/sennit.h"

namespace sennit::capi {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json taken(char* text) {
  const json document = json::parse(text);
  sennit_text_free(text);
  return document;
}

TEST(Machines, AreDocuments) {
  sennit_machine* machine = nullptr;
  ASSERT_EQ(sennit_machine_load("hgx-h200-4", &machine), SENNIT_OK) << sennit_last_error();
  char* text = nullptr;
  ASSERT_EQ(sennit_machine_json(machine, &text), SENNIT_OK);
  const json document = taken(text);
  EXPECT_EQ(document["name"], "hgx-h200-4");
  // What was written is read again.
  const auto file = std::filesystem::path(testing::TempDir()) / "capi-machine.json";
  std::ofstream(file) << document;
  sennit_machine* again = nullptr;
  ASSERT_EQ(sennit_machine_load(file.c_str(), &again), SENNIT_OK) << sennit_last_error();
  ASSERT_EQ(sennit_machine_json(again, &text), SENNIT_OK);
  EXPECT_EQ(taken(text), document);
  std::filesystem::remove(file);
  EXPECT_EQ(sennit_machine_free(machine), SENNIT_OK);
  EXPECT_EQ(sennit_machine_free(again), SENNIT_OK);
}

TEST(Machines, ThatAreCutOffAreNamed) {
  const auto file = std::filesystem::path(testing::TempDir()) / "capi-cut.json";
  std::ofstream(file) << R"({"version": 1, "name": "x)";
  sennit_machine* machine = nullptr;
  EXPECT_EQ(sennit_machine_load(file.c_str(), &machine), SENNIT_CORRUPT);
  EXPECT_THAT(sennit_last_error(), HasSubstr("capi-cut.json"));
  std::filesystem::remove(file);
}

TEST(Machines, OfTheHostExecutorAreDiscovered) {
  setenv("SENNIT_EXECUTOR", "host", 1);
  setenv("SENNIT_HOST_DEVICES", "3", 1);
  setenv("SENNIT_CACHE", "/nonexistent/sennit", 1);
  sennit_machine* machine = nullptr;
  ASSERT_EQ(sennit_machine_discover(&machine), SENNIT_OK) << sennit_last_error();
  unsetenv("SENNIT_HOST_DEVICES");
  char* text = nullptr;
  ASSERT_EQ(sennit_machine_json(machine, &text), SENNIT_OK);
  EXPECT_EQ(taken(text)["devices"].size(), 4u);
  EXPECT_EQ(sennit_machine_free(machine), SENNIT_OK);
}

TEST(Explain, SaysWhichPathsAMessageTakes) {
  sennit_machine* machine = nullptr;
  ASSERT_EQ(sennit_machine_load("hgx-h200-4", &machine), SENNIT_OK);
  char* text = nullptr;
  ASSERT_EQ(sennit_explain_put(machine, "gpu0", "gpu1", 256ull << 20, &text), SENNIT_OK) << sennit_last_error();
  const json document = taken(text);
  EXPECT_EQ(document["from"], "gpu0");
  std::uint64_t bytes = 0;
  for (const auto& share : document["shares"]) bytes += share["bytes"].get<std::uint64_t>();
  EXPECT_EQ(bytes, 256ull << 20);
  EXPECT_EQ(sennit_explain_put(machine, "gpu0", "gpu9", 1, &text), SENNIT_NOT_FOUND);
  EXPECT_THAT(sennit_last_error(), HasSubstr("gpu9"));
  EXPECT_EQ(sennit_machine_free(machine), SENNIT_OK);
}

}  // namespace
}  // namespace sennit::capi
