// What a drop-in did with a program's calls, counted; the same for MPI and NCCL.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>

namespace sennit::shim {

/// Messages up to these many bytes make up a class; the last one has no end.
inline constexpr std::array<std::uint64_t, 5> kSizeClasses{1 << 10, 16 << 10, 256 << 10, 4 << 20, 64 << 20};
std::size_t size_class(std::uint64_t bytes);
std::string name_of_size_class(std::size_t index);  ///< "to 16 KiB", "above 64 MiB"

class Report {
 public:
  /// One call of `operation`. `how`: the plan that took it, or why it was left to the real library.
  void count(std::string_view operation, std::uint64_t bytes, std::string_view how, double microseconds);
  bool empty() const;
  /// A table for people, with lines of `rank`; ends in a newline.
  std::string text(std::string_view title) const;

 private:
  struct Row {
    std::uint64_t calls = 0, bytes = 0;
    double microseconds = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::tuple<std::string, std::size_t, std::string>, Row, std::less<>> rows_;
};

}  // namespace sennit::shim
