// What SENNIT_EXPLAIN prints: how calls travel, once for each operation and size; the same for MPI and NCCL.
#pragma once

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::shim {

class Explanations {
 public:
  void say(std::string_view operation, std::uint64_t bytes, std::string_view how) {
    {
      const std::lock_guard lock(mutex_);
      if (!said_.emplace(std::string(operation), bytes).second) return;
    }
    std::fputs(fmt::format("sennit: {} of {}: {}\n", operation, format_bytes(bytes), how).c_str(), stderr);
  }

 private:
  std::mutex mutex_;
  std::set<std::pair<std::string, std::uint64_t>> said_;
};

}  // namespace sennit::shim
