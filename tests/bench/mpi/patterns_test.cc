#include "bench/mpi/patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/mpi/contents.h"
#include "bench/mpi/result.h"
#include "made_up_job.h"

namespace sennit::bench::mpi {
namespace {

using testing::HasSubstr;

Json document() {
  const Json swapped = {{"name", "distance, random"},
                        {"map", {1, 0, 2, 3}},
                        {"exchange_us", 50},
                        {"heaviest_us", 20},
                        {"found_ms", 0.5}};
  return {{"version", 1},
          {"kind", "map variants"},
          {"cases",
           {{{"pattern", "2d-torus:2x2,w=3"},
             {"bytes", 1024},
             {"variants", {{{"name", "as it is"}, {"map", {0, 1, 2, 3}}, {"exchange_us", 100}}, swapped}}}}}};
}

Result<std::vector<PatternCase>> read(const Json& json, int ranks = 4, const std::vector<Over>& over = {Over::mpi}) {
  return patterns_in(json, {Buffers::gpu, Buffers::host}, over, 4, ranks);
}

TEST(MpiPatterns, EachIsMeasuredInAllBuffersByAllMaps) {
  const auto cases = read(document());
  ASSERT_TRUE(cases) << cases.status().text();
  ASSERT_EQ(cases->size(), 2u);
  const PatternCase& host = cases->back();
  EXPECT_EQ(describe(host.what), "2d-torus:2x2,w=3 of 1 KiB, host buffers");
  EXPECT_EQ(host.what.operation, Operation::exchange);
  ASSERT_EQ(host.maps.size(), 2u);
  EXPECT_EQ(host.maps[1].variant.map, (std::vector{1, 0, 2, 3}));
  EXPECT_EQ(host.maps[1].predicted_us, 50);
  EXPECT_EQ(host.maps[1].links_us, 20);
  EXPECT_EQ(host.maps[0].found_ms, 0);
  EXPECT_EQ(Layout::room(host.what, 4), 2u * (3 + 1) * 1024);
}

TEST(MpiPatterns, OverNcclThereAreGpuBuffersAlone) {
  const auto cases = read(document(), 4, {Over::mpi, Over::nccl});
  ASSERT_TRUE(cases) << cases.status().text();
  ASSERT_EQ(cases->size(), 3u);
  EXPECT_EQ(describe((*cases)[1].what), "2d-torus:2x2,w=3 of 1 KiB, gpu buffers, over NCCL");
  EXPECT_EQ((*cases)[2].what.over, Over::mpi);
  const Layout layout{(*cases)[1].what, 0, 4};
  EXPECT_EQ(map_to_json(layout, (*cases)[1].maps[0], kFloats, {})["over"], "nccl");
}

TEST(MpiPatterns, WhatCannotBeExchangedIsRefusedWithItsName) {
  const auto said = [](const char* pointer, const Json& value) {
    Json changed = document();
    changed[Json::json_pointer(pointer)] = value;
    const auto cases = read(changed);
    return cases ? std::string("nothing") : cases.status().text();
  };
  EXPECT_THAT(said("/kind", "map"), HasSubstr("map variants"));
  EXPECT_THAT(said("/cases", Json::array()), HasSubstr("no cases"));
  EXPECT_THAT(said("/cases/0/pattern", "2d-tours:2x2"), HasSubstr("2d-tours"));
  EXPECT_THAT(said("/cases/0/bytes", "many"), HasSubstr("no bytes"));
  EXPECT_THAT(said("/cases/0/bytes", 1 << 30), HasSubstr("more than 1 GiB"));
  for (const Json& map : {Json{0, 1, 2}, Json{0, 1, 2, 2}, Json{0, 1, 2, 4}, Json{0, 1, 2, -1}, Json{0, 1, 2, "3"}})
    EXPECT_THAT(said("/cases/0/variants/1/map", map), HasSubstr("no permutation of 4 ranks")) << map;
  EXPECT_THAT(read(document(), 8).status().text(), HasSubstr("has 4 ranks, and the job 8"));
}

/// One rank that plays both of a pattern's cannot be; so a made-up MPI gives rank 0 what it would get.
TEST(MpiPatterns, EveryByteOfAnExchangeIsVerified) {
  Case what{Operation::exchange, Buffers::host, 1024};
  place::Traffic traffic(2);
  traffic.add(0, 1, 1024);
  traffic.add(1, 0, 3072);
  what.pattern = std::make_shared<const Pattern>(Pattern{"made up", traffic, 4});
  const Variant as_it_is{"as it is", false, false, {0, 1}};
  std::uint64_t wrong = 4096;
  MadeUpJob job([&](const Batch& batch, int, double&) {
    const Layout& mine = batch.layout;
    Layout theirs{mine.what, 1, 2};
    theirs.part = std::make_shared<const Part>(part_of(*mine.what.pattern, std::vector<int>{0, 1}, 1));
    const auto right = given(theirs, kSum, 0);
    for (std::uint64_t at = 0; at < mine.output_bytes(); ++at) batch.output[at] = right[at % right.size()];
    if (wrong < mine.output_bytes()) batch.output[wrong] ^= std::byte{1};
    return Status();
  });
  const auto memories = Memories::of_host();
  Rig rig(job, *memories, kSum);
  ASSERT_TRUE(rig.make_room({what}));
  EXPECT_TRUE(rig.verify(what, as_it_is));
  wrong = 3071;
  const Status status = rig.verify(what, as_it_is);
  EXPECT_EQ(status.what(), "byte 3071 of message 0 is wrong");
  EXPECT_EQ(status.where(), "made up of 1 KiB, host buffers by as it is: rank 0");
}

TEST(MpiPatterns, MapsAreComparedWithTheOrderAsItIs) {
  const auto cases = read(document());
  ASSERT_TRUE(cases);
  MadeUpJob job([&](const Batch& batch, int calls, double& us) {
    us = calls * (batch.variant == "as it is" ? 100.0 : 60.0);
    return Status();
  });
  const auto memories = Memories::of_host();
  Rig rig(job, *memories, kSum);
  const PatternCase& host = cases->back();
  ASSERT_TRUE(rig.make_room({host.what}));
  const auto times = rig.time(host.what, {host.maps[0].variant, host.maps[1].variant}, 0.01);
  ASSERT_TRUE(times);
  const Layout layout{host.what, 0, 4, 2};
  EXPECT_FALSE(map_to_json(layout, host.maps[0], kFloats, (*times)[0]).contains("saved"));
  const Json row = map_to_json(layout, host.maps[1], kFloats, (*times)[1]);
  EXPECT_NEAR(row.at("saved").at("part").get<double>(), 0.4, 1e-9);
  EXPECT_LE(row.at("saved").at("low"), row.at("saved").at("high"));
  EXPECT_FALSE(row.contains("sennit")) << "that is of sennit beside others";
  EXPECT_EQ(row.at("pattern"), "2d-torus:2x2,w=3");
  EXPECT_EQ(row.at("predicted_us"), 50);
  EXPECT_EQ(row.at("nodes"), 2);
}

}  // namespace
}  // namespace sennit::bench::mpi
