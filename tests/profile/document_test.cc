#include "profile/document.h"

#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include "profile/made_up.h"

namespace sennit::profile {
namespace {

TEST(ProfileDocument, SaysWhatThereWas) {
  const MadeUp made(0, 1);
  made.call("MPI_Allreduce", 1000, 3000, 48, 1, Memory::device);
  made.call("MPI_Barrier", 4000, 5000);
  made.recorder->begin_run(1000);
  std::vector<Rank> ranks;
  ranks.push_back(made.read().value());
  const Json document = to_json(merge(std::move(ranks)).value());
  EXPECT_EQ(document["kind"], "profile");
  EXPECT_EQ(document["ranks"][0]["ended"], "killed");
  EXPECT_EQ(document["ranks"][0]["calls"], 2);
  EXPECT_EQ(document["ranks"][0]["seconds"], 4e-6);
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

TEST(ProfileDocument, SaysWhoDidACallAndWhatGraphsDidOfIt) {
  const MadeUp made(0, 1);
  Recorder& recorder = *made.recorder;
  Call call{};
  call.function = recorder.function("ncclAllReduce");
  call.bytes_in = call.bytes_out = 64;
  call.end = 10;
  recorder.record(call);
  call.how = recorder.how("two_shot 4x256");
  recorder.record(call);
  recorder.add_captured(recorder.thread(), class_of(call));
  recorder.add_replays(recorder.thread(), class_of(call), 7, 7 * 64);
  recorder.end_unseen(recorder.thread(), class_of(call));
  std::vector<Rank> ranks;
  ranks.push_back(made.read().value());
  const Json document = to_json(merge(std::move(ranks)).value());
  ASSERT_EQ(document["rows"].size(), 2u);
  const bool is_first = document["rows"][0]["how"].is_string();
  const Json &told = document["rows"][is_first ? 0 : 1], &other = document["rows"][is_first ? 1 : 0];
  EXPECT_EQ(told["how"], "two_shot 4x256");
  EXPECT_EQ(told["captured"], 1);
  EXPECT_EQ(told["replayed"], 7);
  EXPECT_EQ(told["replayed_bytes"], 7 * 64);
  EXPECT_EQ(told["unseen"], 1);
  EXPECT_TRUE(other["how"].is_null());
  EXPECT_EQ(other["replayed"], 0);
}

/// It turns out at a request's end, in another thread.
TEST(ProfileDocument, CountsACallOnceThatIsToldAnew) {
  const MadeUp made(0, 1);
  Recorder& recorder = *made.recorder;
  Call call{};
  call.function = recorder.function("MPI_Iallreduce");
  call.bytes_in = call.bytes_out = 64;
  call.begin = 100;
  call.end = 130;
  recorder.record(call);
  call.end = 110;
  recorder.record(call);
  std::jthread([&] {
    Class of = class_of(call);
    for (std::string_view how : {"two_shot 4x256", "staged"}) {
      of.how = recorder.how(how);
      recorder.retell(recorder.thread(), class_of(call), of,
                      {.bytes_in = 64, .bytes_out = 64, .time = how == "staged" ? 10u : 30u});
      recorder.end_request(recorder.thread(), of, {.flight = 8000});
    }
  }).join();
  std::vector<Rank> ranks;
  ranks.push_back(made.read().value());
  const Json document = to_json(merge(std::move(ranks)).value());
  ASSERT_EQ(document["rows"].size(), 2u);
  EXPECT_EQ(document["ranks"][0]["calls"], 2);
  for (const Json& row : document["rows"]) {
    const bool staged = row["how"] == "staged";
    EXPECT_EQ(row["calls"], 1);
    EXPECT_EQ(row["bytes_out"], 64);
    EXPECT_EQ(row["seconds"], staged ? 1e-8 : 3e-8);
    EXPECT_EQ(row["least_us"], staged ? 0.01 : 0.03);
    EXPECT_EQ(row["requests"], 1);
  }
}

TEST(ProfileDocument, SaysWhatTheMpiAndTheKernelsTold) {
  const MadeUp made(0, 1);
  Recorder& recorder = *made.recorder;
  recorder.begin_run(1000);
  const std::uint16_t length = recorder.variable("queue_length", {});
  recorder.variable("queue_time", "it cannot be read");
  for (std::uint64_t i = 0; i < kSamples + 10; ++i) recorder.sample(length, 2000 + i, i % 5);
  Header& header = recorder.header();
  header.gpu_times = GpuTimes::kernel;
  header.kernels_begin = 2000;
  header.kernels_end = 5000;
  header.gpu_communication_ns = 900;
  header.gpu_both_ns = 300;
  std::vector<Rank> ranks;
  ranks.push_back(made.read().value());
  const Json document = to_json(merge(std::move(ranks)).value());
  EXPECT_EQ(document["gpu_times"], "kernel");
  const Json& kernels = document["ranks"][0]["kernels"];
  EXPECT_EQ(kernels["seconds"], 3e-6);
  EXPECT_EQ(kernels["communication_seconds"], 9e-7);
  EXPECT_EQ(kernels["overlapped_seconds"], 3e-7);
  EXPECT_TRUE(kernels["refused"].is_null());
  const Json& variable = document["variables"][0];
  EXPECT_EQ(variable["name"], "queue_length");
  EXPECT_EQ(variable["samples"], kSamples + 10);
  EXPECT_EQ(variable["most"], 4);
  EXPECT_LE(variable["points"].size(), 300u);
  EXPECT_EQ(variable["points"][0][0], 1.01e-6) << "the latest stay";
  EXPECT_EQ(variable["points"][0][1], 4);
  EXPECT_EQ(document["variables"][1]["failed"], "it cannot be read");
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
