// Jobs of gpu_rank, as tests run them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs.h"

namespace sennit::gpu {

inline comm::Job run_on_gpus(int ranks, std::vector<std::string> scenario,
                             std::map<std::string, std::string> more = {}, std::vector<std::string> under = {}) {
  more.emplace("SENNIT_EXECUTOR", "cuda");
  return capi::run_ranks(ranks, std::move(scenario), std::move(more), {}, std::move(under));
}

inline void expect_all_right(const comm::Job& job, const std::string& text = "all right") {
  for (std::size_t rank = 0; rank < job.lines.size(); ++rank)
    EXPECT_THAT(job.line(int(rank)), testing::HasSubstr(text)) << "rank " << rank;
}

}  // namespace sennit::gpu
