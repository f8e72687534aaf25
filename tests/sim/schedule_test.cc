#include "sim/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "sim/job.h"

namespace sennit::sim {
namespace {

using coll::Algorithm;
using coll::Operation;
using testing::HasSubstr;

Schedule schedule_of_call(const Collective& what, int ranks = 3) {
  auto job = Job::create(std::vector<int>(static_cast<std::size_t>(ranks), 0), std::uint64_t{64} << 20);
  EXPECT_TRUE(job.ok()) << job.status().text();
  const Status called = job->call(what);
  EXPECT_TRUE(called.ok()) << called.text();
  return {job->recording(), job->promises()};
}

TEST(Schedule, BothFormsAreReadBackAsWhatWasWritten) {
  for (const Algorithm algorithm : {Algorithm::two_shot, Algorithm::two_shot_packets, Algorithm::copy_engines,
                                    Algorithm::copy_engines_windows, Algorithm::two_shot_windows}) {
    const Schedule schedule = schedule_of_call({Operation::allreduce, {algorithm, 2, 256}, 10'004, 0, true, {}});
    const std::string binary = to_binary(schedule);
    const Json json = to_json(schedule);
    const auto from_binary = schedule_of(std::string_view(binary));
    ASSERT_TRUE(from_binary.ok()) << from_binary.status().text();
    EXPECT_EQ(*from_binary, schedule);
    const auto from_json = schedule_of(Json::parse(json.dump()));
    ASSERT_TRUE(from_json.ok()) << from_json.status().text();
    EXPECT_EQ(*from_json, schedule);
    EXPECT_LT(4 * binary.size(), json.dump().size()) << "the binary form is the compact one";
    EXPECT_TRUE(check(from_binary->recording, from_binary->promises).empty());
  }
}

const Schedule& small() {
  static const Schedule schedule =
      schedule_of_call({Operation::barrier, {Algorithm::direct, 1, 32}, 0, 0, false, {}}, 2);
  return schedule;
}

TEST(Schedule, ABinaryThatEndsEarlyIsCorrectlyRefusedAtEveryByte) {
  const std::string binary = to_binary(small());
  for (std::size_t length = 0; length < binary.size(); ++length) {
    const auto read = schedule_of(std::string_view(binary).substr(0, length));
    ASSERT_FALSE(read.ok()) << length;
  }
  EXPECT_FALSE(schedule_of(std::string_view(binary + "x")).ok()) << "nothing may follow";
}

TEST(Schedule, ChangedBytesNeverDoHarm) {
  const std::string binary =
      to_binary(schedule_of_call({Operation::allreduce, {Algorithm::ring, 1, 256}, 24, 0, false, {}}));
  std::size_t refused = 0;
  for (std::size_t at = 0; at < binary.size(); ++at)
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string changed = binary;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      const auto read = schedule_of(std::string_view(changed));
      if (read.ok())
        (void)check(read->recording, read->promises);
      else
        ++refused;
    }
  EXPECT_GT(refused, binary.size());
}

TEST(Schedule, WhatIsWrongInADocumentIsNamedWithItsPlace) {
  const auto refused = [](const std::function<void(Json&)>& change) {
    Json json = to_json(small());
    change(json);
    const auto read = schedule_of(json);
    return read.ok() ? "read" : read.status().text();
  };
  EXPECT_THAT(refused([](Json& json) { json["version"] = 2; }), HasSubstr("version 2, where 1 is read"));
  EXPECT_THAT(refused([](Json& json) { json["kind"] = "machine"; }), HasSubstr("this is no schedule"));
  EXPECT_THAT(refused([](Json& json) { json.erase("regions"); }), HasSubstr("regions"));
  EXPECT_THAT(refused([](Json& json) { json["ranks"] = 0; }), HasSubstr("ranks"));
  EXPECT_THAT(refused([](Json& json) { json["regions"][1]["rank"] = 9; }), HasSubstr("regions[1]"));
  EXPECT_THAT(refused([](Json& json) { json["launches"][0]["first"] = 99; }), HasSubstr("launches[0]"));
  EXPECT_THAT(refused([](Json& json) { json["launches"][1]["first"] = json["launches"][0]["first"]; }),
              HasSubstr("launches[1]"));
  std::size_t block = 0;
  const Json whole = to_json(small());
  while (whole["strands"][block]["block"] < 0) ++block;
  const std::string where = "strands[" + std::to_string(block) + "]";
  std::size_t signal = 0;
  while (!whole["strands"][block]["steps"][signal].contains("to")) ++signal;
  EXPECT_THAT(refused([&](Json& json) { json["strands"][block]["steps"][0]["act"] = "jump"; }),
              HasSubstr(where + ".steps[0]"));
  EXPECT_THAT(refused([&](Json& json) { json["strands"][block]["steps"][signal]["to"][0][0] = 77; }),
              HasSubstr("no region 77"));
  EXPECT_THAT(refused([&](Json& json) { json["strands"][block]["steps"][signal].erase("to"); }),
              HasSubstr("one destination"));
  EXPECT_THAT(refused([&](Json& json) { json["strands"][block]["lane"] = block; }), HasSubstr("is no lane"));
  EXPECT_THAT(refused([&](Json& json) { json["strands"][block].erase("steps"); }), HasSubstr("strands"));
}

}  // namespace
}  // namespace sennit::sim
