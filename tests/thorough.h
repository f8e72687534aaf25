// How much of a matrix a test goes through.
#pragma once

#include <cstdlib>

namespace sennit {

/// Returns false under sanitizers, unless all is asked for (SENNIT_TEST_ALL): what has one thread and was run as it
/// is released takes minutes there, and a part of it goes over the same lines.
inline bool thorough() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return std::getenv("SENNIT_TEST_ALL") != nullptr;
#else
  return true;
#endif
}

}  // namespace sennit
