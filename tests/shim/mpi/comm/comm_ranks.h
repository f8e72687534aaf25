// Communicators of ranks that are threads (thread_mpi.h), for tests.
#pragma once

#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "../thread_mpi.h"
#include "shim/mpi/comm/comm_registry.h"

namespace sennit::shim::mpi {

inline constexpr Handle kWorld = MadeUpMpi::kComm, kFirst = 1, kSecond = 2, kNull = 99;
inline void nothing_meanwhile() {}

/// Collective over `comm`: until its ranks have met.
inline CommState& meet(CommRegistry& all, Handle comm, const CommRegistry::Meanwhile& meanwhile = nothing_meanwhile) {
  CommState& one = all.find_or_begin(comm);
  for (; !all.ready(comm, one); std::this_thread::yield()) meanwhile();
  return one;
}

inline std::unique_ptr<CommRegistry> create(const Mpi& mpi) {
  auto created = CommRegistry::create(mpi);
  EXPECT_TRUE(created.ok()) << created.status().text();
  return created.ok() ? std::move(*created) : nullptr;
}

}  // namespace sennit::shim::mpi
