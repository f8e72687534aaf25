#include "base/json.h"

#include <gtest/gtest.h>

namespace sennit {
namespace {

std::filesystem::path scratch(const char* name) {
  return std::filesystem::path(testing::TempDir()) / name;
}

TEST(Json, WritesWhatItReads) {
  const auto file = scratch("folder/document.json");
  ASSERT_TRUE(write_json(file, Json{{"answer", 42}}).ok());
  EXPECT_EQ((*read_json(file))["answer"], 42);
}

TEST(Json, NamesTheFileAndTheByteOfAnError) {
  const auto cut = parse_json("{\"a\": [1, 2", "cut.json");
  EXPECT_EQ(cut.status().code(), Code::corrupt);
  EXPECT_NE(cut.status().text().find("cut.json"), std::string::npos);
  EXPECT_NE(cut.status().text().find("byte 1"), std::string::npos);
}

TEST(Json, RefusesBottomlessNesting) {
  EXPECT_EQ(parse_json(std::string(100000, '['), "deep").status().code(), Code::corrupt);
}

TEST(Json, SaysWhichFileIsMissing) {
  const Status status = read_json("/nonexistent/machine.json").status();
  EXPECT_EQ(status.code(), Code::not_found);
  EXPECT_NE(status.text().find("/nonexistent/machine.json"), std::string::npos);
}

}  // namespace
}  // namespace sennit
