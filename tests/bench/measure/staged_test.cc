#include "bench/measure/staged.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "faulty_executor.h"
#include "small_machine.h"

namespace sennit::bench::measure {
namespace {

using machine::Method;
using testing::HasSubstr;

struct Stage {
  std::unique_ptr<Rig> rig;
  std::unique_ptr<Verifier> verifier;

  explicit Stage(std::vector<Broken> broken = {}) {
    const machine::Machine machine = small_machine();
    rig = std::move(*Rig::open(faulty(std::move(broken)), machine, kLeastRoom));
    verifier = std::make_unique<Verifier>(*Verifier::create(*rig, std::chrono::seconds(20)));
  }
};

TEST(Staged, ByEnginesThroughTheHost) {
  Stage at;
  StagedSweep sweep = small_options().staged;
  sweep.chunks = {128 * KiB, 512 * KiB};
  const auto& gpus = at.rig->gpus();
  const auto path = staged_engine(*at.rig, *at.verifier, gpus[0], at.rig->hosts()[0], gpus[2], sweep);
  ASSERT_TRUE(path.ok()) << path.status().text();
  EXPECT_EQ(path->from + path->stage + path->to, "gpu0host0gpu2");
  EXPECT_EQ(path->method, Method::engine);
  EXPECT_GT(path->rate_gbps.value, 0);
  EXPECT_GE(path->startup_us.value, 0);
  EXPECT_TRUE(path->chunk_bytes == 128 * KiB || path->chunk_bytes == 512 * KiB);
  EXPECT_EQ(path->blocks, 0);
  EXPECT_THAT(path->rate_gbps.note, HasSubstr("128 KiB, 4 MiB"));
}

TEST(Staged, ByEnginesFromAndToTheHostThroughAnotherGpu) {
  Stage at;
  const auto& gpus = at.rig->gpus();
  const Stop& host = at.rig->hosts()[0];
  for (const auto& [from, to] : {std::pair(&host, &gpus[0]), std::pair(&gpus[0], &host)}) {
    const auto path = staged_engine(*at.rig, *at.verifier, *from, gpus[1], *to, small_options().staged);
    ASSERT_TRUE(path.ok()) << path.status().text();
    EXPECT_EQ(path->stage, "gpu1");
    EXPECT_GT(path->rate_gbps.value, 0);
  }
}

TEST(Staged, ByKernelsThroughTheHost) {
  Stage at;
  StagedSweep sweep = small_options().staged;
  sweep.slots = {32 * KiB, 64 * KiB};
  const auto& gpus = at.rig->gpus();
  const auto path = staged_kernel(*at.rig, *at.verifier, gpus[0], at.rig->hosts()[0], gpus[1], sweep);
  ASSERT_TRUE(path.ok()) << path.status().text();
  EXPECT_EQ(path->method, Method::sm);
  EXPECT_EQ(path->blocks, 2);
  EXPECT_TRUE(path->chunk_bytes == 32 * KiB || path->chunk_bytes == 64 * KiB);
  EXPECT_GT(path->rate_gbps.value, 0);
}

TEST(Staged, IsVerifiedBeforeItIsTimed) {
  // gpu0 → gpu1 lies, so that a relay from host memory over gpu0 to gpu1 does.
  Stage at({{0, 1, Fault::wrong_byte}});
  const auto& gpus = at.rig->gpus();
  const auto path =
      staged_engine(*at.rig, *at.verifier, at.rig->hosts()[0], gpus[0], gpus[1], small_options().staged);
  EXPECT_EQ(path.status().code(), Code::corrupt);
  EXPECT_THAT(path.status().where(), HasSubstr("host0 → gpu0 → gpu1 (engine)"));
}

TEST(Staged, NeedsTwoSizes) {
  Stage at;
  StagedSweep sweep = small_options().staged;
  sweep.sizes = {MiB};
  const auto& gpus = at.rig->gpus();
  const auto path = staged_engine(*at.rig, *at.verifier, gpus[0], at.rig->hosts()[0], gpus[1], sweep);
  EXPECT_EQ(path.status().code(), Code::invalid_argument);
  sweep.chunks.clear();
  EXPECT_EQ(staged_engine(*at.rig, *at.verifier, gpus[0], at.rig->hosts()[0], gpus[1], sweep).status().code(),
            Code::invalid_argument);
}

}  // namespace
}  // namespace sennit::bench::measure
