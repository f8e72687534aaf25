// Holds the drop-in for NCCL in a process: what it owns.
#pragma once

#include <memory>
#include <utility>

#include "shim/nccl/calls.h"
#include "shim/nccl/lifecycle.h"
#include "shim/nccl/process.h"

namespace sennit::shim::nccl {

struct DropIn {
  DropIn(const Functions& nccl, Switches switches, std::unique_ptr<stage::PointerCache> memories)
      : process(nccl, std::move(switches), std::move(memories)) {}

  Process process;
  Lifecycle lifecycle{process};
  Calls calls{process, lifecycle};
};

}  // namespace sennit::shim::nccl
