#include "profile/document.h"

#include <thread>

#include <gtest/gtest.h>

#include "profile/made_up.h"

namespace sennit::profile {
namespace {

TEST(ProfileDocument, SaysWhatThereWas) {
  const MadeUp made(0, 1);
  made.call("MPI_Allreduce", 1000, 3000, 48, 1, Memory::device);
  made.call("MPI_Barrier", 4000, 5000);
  made.recorder->begin_run(0);
  std::vector<Rank> ranks;
  ranks.push_back(made.read().value());
  const Json document = to_json(merge(std::move(ranks)).value());
  EXPECT_EQ(document["kind"], "profile");
  EXPECT_EQ(document["ranks"][0]["ended"], "killed");
  EXPECT_EQ(document["ranks"][0]["calls"], 2);
  EXPECT_EQ(document["ranks"][0]["seconds"], 5e-6);
  const Json& row = document["rows"][0];
  EXPECT_EQ(row["function"], "MPI_Allreduce");
  EXPECT_EQ(row["from_bytes"], 33);
  EXPECT_EQ(row["to_bytes"], 64);
  EXPECT_EQ(row["memory_in"], "gpu");
  EXPECT_TRUE(row["reduction"].is_null());
  const Json& barrier = document["rows"][1];
  EXPECT_EQ(barrier["from_bytes"], 0);
  EXPECT_EQ(barrier["to_bytes"], 0);
}

/// Another thread ends what one has begun.
TEST(ProfileDocument, SaysHowRequestsEndedAndWhatWasAskedInVain) {
  const MadeUp made(0, 1);
  Recorder& recorder = *made.recorder;
  Call receive{};
  receive.function = recorder.function("MPI_Irecv");
  receive.type = recorder.type("MPI_DOUBLE");
  receive.bytes_out = 64;
  receive.memory_out = Memory::host;
  receive.begin = 1000;
  receive.end = 3000;
  recorder.record(receive);
  std::jthread([&] {
    recorder.end_request(recorder.thread(), class_of(receive), {.flight = 8000, .waited = 2000, .received = 48});
  }).join();
  Call probe{};
  probe.function = recorder.function("MPI_Iprobe");
  for (probe.missed = 0; probe.missed < 2; ++probe.missed) {
    probe.end = 100;
    recorder.record(probe);
  }
  std::vector<Rank> ranks;
  ranks.push_back(made.read().value());
  const Json document = to_json(merge(std::move(ranks)).value());
  const Json& row = document["rows"][0];
  EXPECT_EQ(row["function"], "MPI_Irecv");
  EXPECT_EQ(row["calls"], 1);
  EXPECT_EQ(row["least_us"], 2.0);
  EXPECT_EQ(row["processes"], 1);
  EXPECT_EQ(row["requests"], 1);
  EXPECT_EQ(row["flight_seconds"], 8e-6);
  EXPECT_EQ(row["waited_seconds"], 2e-6);
  EXPECT_EQ(row["received_bytes"], 48);
  ASSERT_EQ(document["polls"].size(), 1u);
  EXPECT_EQ(document["polls"][0]["function"], "MPI_Iprobe");
  EXPECT_EQ(document["polls"][0]["calls"], 2);
  EXPECT_EQ(document["polls"][0]["misses"], 1);
  EXPECT_EQ(document["polls"][0]["missed_seconds"], 1e-7);
  EXPECT_EQ(document["types"], Json::parse(R"([{"type": "MPI_DOUBLE", "calls": 1, "bytes": 64}])"));
}

}  // namespace
}  // namespace sennit::profile
