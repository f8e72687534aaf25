// Memory of a GPU that calls are given, for tests of what stands in for it.
#pragma once

#include <memory>
#include <numeric>
#include <span>

#include <gtest/gtest.h>

#include "../gaps_mpi.h"
#include "shim/mpi/staging/staged_buffers.h"

namespace sennit::shim::mpi {

class StagedBuffersTest : public testing::Test {
 protected:
  StagedBuffersTest() : executor_(*device::open_host_executor()), gpus_(executor_), host_(executor_) {
    memory_ = std::move(*executor_->allocate(0, 256));
    std::iota(bytes().begin(), bytes().end(), std::uint8_t{1});
  }
  std::span<std::uint8_t> bytes() { return {reinterpret_cast<std::uint8_t*>(memory_.data()), 64}; }
  bool is_device(const void* at) const { return at >= memory_.data() && at < memory_.data() + memory_.bytes(); }

  Call call_with(Part part) const {
    Call call(mpi_, Family::Recv, Form::blocking, MadeUpMpi::kComm);
    call.add(part);
    return call;
  }
  void make(StagedBuffers& staged, const Call& call) {
    ASSERT_TRUE(
        staged.make(call,
                    [&](const void* at) {
                      return is_device(at) ? stage::MemInfo{0, true} : stage::MemInfo{};
                    })
            .ok());
  }

  const MadeUpMpi mpi_;
  std::shared_ptr<device::Executor> executor_;
  stage::Gpus gpus_;
  stage::PinnedPool host_;
  device::Memory memory_;
};

}  // namespace sennit::shim::mpi
