#include "profile/document.h"

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

}  // namespace
}  // namespace sennit::profile
