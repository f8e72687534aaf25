// Jobs of gpu_rank, as tests run them.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs.h"

namespace sennit::gpu {

/// GPUs that tests use: no more than eight.
inline int gpus() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? std::min(count, 8) : 0;
}

/// Why a test of a split is skipped where gpus() is below two.
inline constexpr const char* kOneGpu = "two ranks of one GPU have no path over the host";

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
