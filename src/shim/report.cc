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

Names::~Names() {
  for (auto& place : places_) delete place.load(std::memory_order_relaxed);
}

Names::Number Names::number_of(std::string_view text) {
  const std::string* made = nullptr;
  std::size_t at = std::hash<std::string_view>{}(text) % kPlaces;
  for (;; at = (at + 1) % kPlaces) {
    const std::string* found = places_[at].load(std::memory_order_acquire);
    if (found == nullptr) {
      if (made == nullptr && known_.fetch_add(1, std::memory_order_relaxed) >= kMost) return kNone;
      if (made == nullptr) made = new std::string(text);
      if (places_[at].compare_exchange_strong(found, made, std::memory_order_acq_rel)) return static_cast<Number>(at);
    }
    if (*found == text) break;  // another thread's may have come between
  }
  delete made;
  return static_cast<Number>(at);
}

void Report::count(std::string_view operation, std::uint64_t bytes, std::string_view how, double microseconds) {
  const std::size_t size = size_class(bytes);
  const Names::Number what = names_.number_of(operation), why = names_.number_of(how);
  const auto known = what != Names::kNone && why != Names::kNone;
  const std::uint64_t key = std::uint64_t{1} << 63 | std::uint64_t{what} << 32 | std::uint64_t{why} << 8 | size;
  std::size_t at = (key * 0x9e3779b97f4a7c15u) >> 54;
  for (std::size_t tries = 0; known && tries < kRows; ++tries, at = (at + 1) % kRows) {
    Counted& row = counted_[at];
    std::uint64_t held = row.key.load(std::memory_order_acquire);
    if (held == 0 && row.key.compare_exchange_strong(held, key, std::memory_order_acq_rel)) held = key;
    if (held != key) continue;
    row.calls.fetch_add(1, std::memory_order_relaxed);
    row.bytes.fetch_add(bytes, std::memory_order_relaxed);
    row.microseconds.fetch_add(microseconds, std::memory_order_relaxed);
    return;
  }
  const std::lock_guard lock(mutex_);
  Row& row = others_[{std::string(operation), size, std::string(how)}];
  ++row.calls;
  row.bytes += bytes;
  row.microseconds += microseconds;
}

std::map<Report::Key, Report::Row, std::less<>> Report::all() const {
  const std::lock_guard lock(mutex_);
  auto rows = others_;
  for (const Counted& row : counted_) {
    const std::uint64_t key = row.key.load(std::memory_order_acquire);
    const std::uint64_t calls = row.calls.load(std::memory_order_relaxed);
    if (calls == 0) continue;  // free, or about to be counted
    const auto name = [&](unsigned shift) {
      return names_.text_of(static_cast<Names::Number>(key >> shift & 0xffff));
    };
    rows[{name(32), key & 0xff, name(8)}] = {calls, row.bytes.load(std::memory_order_relaxed),
                                             row.microseconds.load(std::memory_order_relaxed)};
  }
  return rows;
}

std::string Report::text(std::string_view title) const {
  std::string text = fmt::format("{}\n{:<26} {:>13} {:>10} {:>12} {:>12}  {}\n", title, "operation", "size", "calls",
                                 "bytes", "µs a call", "how");
  for (const auto& [key, row] : all()) {
    const auto& [operation, size, how] = key;
    text += fmt::format("{:<26} {:>13} {:>10} {:>12} {:>12.1f}  {}\n", operation, name_of_size_class(size), row.calls,
                        format_bytes(row.bytes), row.microseconds / static_cast<double>(row.calls), how);
  }
  return text;
}

}  // namespace sennit::shim
