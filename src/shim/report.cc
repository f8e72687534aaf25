#include "shim/report.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::shim {

std::size_t size_class(std::uint64_t bytes) {
  return static_cast<std::size_t>(std::ranges::lower_bound(kSizeClasses, bytes) - kSizeClasses.begin());
}

std::string name_of_size_class(std::size_t index) {
  return index < kSizeClasses.size() ? fmt::format("to {}", format_bytes(kSizeClasses[index]))
                                     : fmt::format("above {}", format_bytes(kSizeClasses.back()));
}

void Report::count(std::string_view operation, std::uint64_t bytes, std::string_view how, double microseconds) {
  const std::lock_guard lock(mutex_);
  Row& row = rows_[{std::string(operation), size_class(bytes), std::string(how)}];
  ++row.calls;
  row.bytes += bytes;
  row.microseconds += microseconds;
}

bool Report::empty() const {
  const std::lock_guard lock(mutex_);
  return rows_.empty();
}

std::string Report::text(std::string_view title) const {
  const std::lock_guard lock(mutex_);
  std::string text = fmt::format("{}\n{:<26} {:>13} {:>10} {:>12} {:>12}  {}\n", title, "operation", "size", "calls",
                                 "bytes", "µs a call", "how");
  for (const auto& [key, row] : rows_) {
    const auto& [operation, size, how] = key;
    text += fmt::format("{:<26} {:>13} {:>10} {:>12} {:>12.1f}  {}\n", operation, name_of_size_class(size), row.calls,
                        format_bytes(row.bytes), row.microseconds / static_cast<double>(row.calls), how);
  }
  return text;
}

}  // namespace sennit::shim
