#include "base/units.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <string>

#include <fmt/format.h>

namespace sennit {

Result<std::uint64_t> parse_bytes(std::string_view text) {
  const Status bad(Code::invalid_argument, fmt::format("'{}' is not a size", text), {},
                   "Write a number of bytes with an optional unit, such as 4096, 64K, 1.5M or 2GiB");
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number) || number < 0) return bad;

  std::string unit;
  for (const char* c = rest; c != text.data() + text.size(); ++c)
    if (*c != ' ') unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  double scale = 0;
  if (unit.empty() || unit == "b") scale = 1;
  if (unit == "k" || unit == "kb" || unit == "kib") scale = double(KiB);
  if (unit == "m" || unit == "mb" || unit == "mib") scale = double(MiB);
  if (unit == "g" || unit == "gb" || unit == "gib") scale = double(GiB);
  if (unit == "t" || unit == "tb" || unit == "tib") scale = double(GiB) * 1024;
  const double bytes = number * scale;
  if (scale == 0 || bytes > 0x1p63) return bad;
  return static_cast<std::uint64_t>(std::llround(bytes));
}

std::string format_bytes(std::uint64_t bytes) {
  struct Unit {
    std::uint64_t size;
    const char* name;
  };
  for (const Unit unit : {Unit{GiB, "GiB"}, Unit{MiB, "MiB"}, Unit{KiB, "KiB"}}) {
    if (bytes < unit.size) continue;
    std::string number = fmt::format("{:.2f}", double(bytes) / double(unit.size));
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
    return number + " " + unit.name;
  }
  return fmt::format("{} B", bytes);
}

double gigabytes_per_second(std::uint64_t bytes, double microseconds) {
  return microseconds > 0 ? double(bytes) / microseconds / 1e3 : 0;
}

}  // namespace sennit
