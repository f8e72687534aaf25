// Prints for SENNIT_EXPLAIN how calls travel, each thing once; one class serves MPI and NCCL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/units.h"
#include "shim/report.h"

namespace sennit::shim {

class Explanations {
 public:
  /// Explains calls that have a plan for their size: once for each operation and size.
  void say(std::string_view operation, std::uint64_t bytes, std::string_view how) {
    {
      const std::lock_guard lock(mutex_);
      if (!said_.emplace(std::string(operation), bytes).second) return;
    }
    print(operation, bytes, how);
  }
  /// Explains calls that take one way whatever their size, as messages and what is staged: once for each operation,
  /// class of sizes of the report, and way; `bytes` are those of the first.
  void say_way(std::string_view operation, std::uint64_t bytes, std::string_view how) {
    {
      const std::lock_guard lock(mutex_);
      if (!ways_.emplace(std::string(operation), size_class(bytes), std::string(how)).second) return;
    }
    print(operation, bytes, how);
  }

 private:
  static void print(std::string_view operation, std::uint64_t bytes, std::string_view how) {
    std::fputs(fmt::format("sennit: {} of {}: {}\n", operation, format_bytes(bytes), how).c_str(), stderr);
  }

  std::mutex mutex_;
  std::set<std::pair<std::string, std::uint64_t>> said_;
  std::set<std::tuple<std::string, std::size_t, std::string>> ways_;
};

}  // namespace sennit::shim
