#include "place/read_traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "machine/mutant.h"
#include "place/made_up.h"

namespace sennit::place {
namespace {

using testing::HasSubstr;

TEST(ReadTraffic, AMatrixAsText) {
  for (const char* text :
       {"0,1,2\n3,0,4\n5,6,0\n", "# from\\to\n0 1 2\r\n3 0 4\r\n\r\n5 6 0", "0;1;2\n3;\t0;4\n5;6;0;"}) {
    const auto traffic = parse_matrix(text, "talk.csv");
    ASSERT_TRUE(traffic.ok()) << traffic.status().text();
    EXPECT_THAT(traffic->matrix(), testing::ElementsAre(0, 1, 2, 3, 0, 4, 5, 6, 0));
    EXPECT_EQ(traffic->talks().front(), (Talk{0, 1, 1, 1}));
  }
  EXPECT_EQ(parse_matrix("7", "one").value().talks().size(), 0u) << "what a rank sends to itself moves nowhere";
}

TEST(ReadTraffic, AMatrixThatIsNoneIsRefusedByItsLine) {
  const std::pair<const char*, const char*> wrong[] = {{"", "no matrix"},
                                                       {"0,1\n", "2 columns and 1 rows"},
                                                       {"0,1\n1,0\n0,0\n", "more rows"},
                                                       {"0,1\n1\n", "line 2"},
                                                       {"0,-1\n1,0\n", "-1 is no number of bytes"},
                                                       {"0,nan\n1,0\n", "nan is no number of bytes"},
                                                       {"0,inf\n1,0\n", "inf"},
                                                       {"0,1e300\n1,0\n", "1e300"},
                                                       {"0,x\n1,0\n", "'x' is no number"},
                                                       {"0,0x10\n1,0", "'0x10'"}};
  for (const auto& [text, said] : wrong) {
    const auto traffic = parse_matrix(text, "talk.csv");
    ASSERT_FALSE(traffic.ok()) << text;
    EXPECT_THAT(traffic.status().text(), HasSubstr(said));
    EXPECT_THAT(traffic.status().text(), HasSubstr("talk.csv"));
  }
}

constexpr const char* kMonitored =
    "# POINT TO POINT\n"
    "E\t0\t1\t4096 bytes\t4 msgs sent\t0,0,0,4\n"
    "I\t0\t1\t100 bytes\t1 msgs sent\t1\n"
    "E\t2\t0\t8 bytes\t2 msgs sent\n"
    "# OSC\nS\t0\t1\t99 bytes\t1 msgs sent\n"
    "C\t0\t1\t99 bytes\t1 msgs sent\n";

TEST(ReadTraffic, WhatMonitoringWrote) {
  EXPECT_TRUE(is_monitoring(kMonitored));
  EXPECT_FALSE(is_monitoring("# a comment\n0 1\n1 0\n"));
  const auto traffic = parse_monitoring(kMonitored, "job.prof");
  ASSERT_TRUE(traffic.ok()) << traffic.status().text();
  EXPECT_EQ(traffic->ranks(), 3);
  EXPECT_THAT(traffic->talks(), testing::UnorderedElementsAre(Talk{0, 1, 4196, 5}, Talk{2, 0, 8, 2}));
  EXPECT_THAT(parse_monitoring("E\t0\t1\tmany bytes", "job.prof").status().where(), HasSubstr("line 1"));
  EXPECT_FALSE(parse_monitoring("E 0 5000 1 bytes 1 msgs sent", "x").ok());
  EXPECT_FALSE(parse_monitoring("E -1 0 1 bytes 1 msgs sent", "x").ok());
  EXPECT_FALSE(parse_monitoring("S 0 1 1 bytes 1 msgs sent", "x").ok()) << "no messages";
}

TEST(ReadTraffic, FilesOfEitherKind) {
  const std::filesystem::path folder = testing::TempDir();
  const auto first = folder / "traffic.0.prof", second = folder / "traffic.1.prof";
  std::ofstream(first) << kMonitored;
  std::ofstream(second) << "E\t1\t0\t16 bytes\t1 msgs sent\t1";
  EXPECT_EQ(read_traffic({first, second}).value().talks().size(), 3u);
  std::ofstream(second) << "0 1\n1 0\n";
  EXPECT_EQ(read_traffic({second}).value().ranks(), 2);
  EXPECT_THAT(read_traffic({second, second}).status().what(), HasSubstr("several files"));
  EXPECT_EQ(read_traffic({folder / "none"}).status().code(), Code::not_found);
  EXPECT_EQ(read_traffic({folder}).status().code(), Code::not_found);
}

Json profile() {
  return Json::parse(R"({"kind": "profile", "version": 1, "ranks_of_job": 4, "missing": [],
    "partners": [{"from": 0, "to": 1, "messages": 3, "bytes": 300}, {"from": 3, "to": 0, "messages": 1, "bytes": 8}],
    "rows": [{"function": "MPI_Allreduce", "communicator_size": 4, "calls": 8, "bytes_in": 800, "bytes_out": 800},
             {"function": "MPI_Allreduce", "communicator_size": 2, "calls": 8, "bytes_in": 800, "bytes_out": 800},
             {"function": "MPI_Barrier", "communicator_size": 4, "calls": 8, "bytes_in": 0, "bytes_out": 0}]})");
}

TEST(ReadTraffic, AProfile) {
  const auto found = traffic_of(profile(), "profile.json");
  ASSERT_TRUE(found.ok()) << found.status().text();
  EXPECT_THAT(found->traffic.talks(), testing::UnorderedElementsAre(Talk{0, 1, 300, 3}, Talk{3, 0, 8, 1}));
  ASSERT_EQ(found->collectives.size(), 1u) << "of all ranks, and with bytes";
  EXPECT_EQ(found->collectives[0].calls, 2);
  EXPECT_EQ(found->collectives[0].bytes, 100);
}

TEST(ReadTraffic, AProfileSaysWhatRanksWereBoundTo) {
  Json document = profile();
  const Json bound = {{"rank", 0}, {"host", "a"}, {"numa_nodes", {1, 2}}};
  document["ranks"] = Json::array({bound});
  EXPECT_TRUE(traffic_of(document, "profile.json")->bound.empty()) << "not of all ranks";
  for (int rank = 1; rank < 4; ++rank)
    document["ranks"].push_back({{"rank", rank}, {"host", "b"}, {"numa_nodes", Json::array()}});
  const auto found = traffic_of(document, "profile.json")->bound;
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].host, "a");
  EXPECT_THAT(found[0].numa_nodes, testing::ElementsAre(1, 2));
  EXPECT_THAT(found[3].numa_nodes, testing::IsEmpty());
  document["ranks"][3].erase("numa_nodes");
  EXPECT_TRUE(traffic_of(document, "profile.json")->bound.empty()) << "an older profile";
}

TEST(ReadTraffic, AProfileThatIsDamagedOrNotWhole) {
  const auto wrong = [](const char* patch) {
    Json document = profile();
    document.merge_patch(Json::parse(patch));
    return traffic_of(document, "profile.json").status();
  };
  EXPECT_THAT(wrong(R"({"missing": [2]})").what(), HasSubstr("rank 2"));
  EXPECT_EQ(wrong(R"({"kind": "bench put"})").code(), Code::corrupt);
  EXPECT_FALSE(wrong(R"({"ranks_of_job": 0})").ok());
  EXPECT_FALSE(wrong(R"({"ranks_of_job": 9999999})").ok());
  EXPECT_FALSE(wrong(R"({"ranks_of_job": null})").ok());
  EXPECT_FALSE(wrong(R"({"partners": [{"from": 0, "to": 4, "messages": 1, "bytes": 1}]})").ok());
  EXPECT_FALSE(wrong(R"({"partners": [{"from": 0, "to": 1, "messages": 1}]})").ok());
  EXPECT_FALSE(wrong(R"({"partners": [7]})").ok());
  EXPECT_FALSE(traffic_of(Json::array(), "x").ok());
}

/// Readers of damaged files end with traffic that makes sense, or with an error that says something.
TEST(ReadTraffic, NeverCrashes) {
  std::mt19937_64 random(7);
  const std::string seeds[] = {"0,1,2\n3,0,4\n5,6,0\n", kMonitored, profile().dump()};
  for (int i = 0; i < cases(3000, 1000000); ++i) {
    const std::string text = mutate(seeds[std::size_t(i) % 3], random);
    const auto json = parse_json(text, "mutant");
    const Result<Traffic> traffic = i % 3 == 2 ? !json ? Result<Traffic>(json.status()) : [&]() -> Result<Traffic> {
      auto found = traffic_of(*json, "mutant");
      if (!found) return found.status();
      return found->traffic;
    }()
        : is_monitoring(text) ? parse_monitoring(text, "mutant")
                              : parse_matrix(text, "mutant");
    if (!traffic.ok()) {
      ASSERT_FALSE(traffic.status().text().empty());
      continue;
    }
    ASSERT_LE(traffic->ranks(), kMostRanks);
    for (const Talk& talk : traffic->talks()) {
      ASSERT_TRUE(talk.bytes > 0 && talk.bytes < 1e20) << text;
      ASSERT_TRUE(talk.from >= 0 && talk.from < traffic->ranks() && talk.to >= 0 && talk.to < traffic->ranks());
    }
  }
}

}  // namespace
}  // namespace sennit::place
