#include "base/log.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/environment.h"

namespace sennit {

namespace {

constexpr std::array<std::string_view, 4> kNames{"error", "warning", "info", "debug"};

}  // namespace

Result<LogLevel> parse_log_level(std::string_view text) {
  const auto found = std::ranges::find(kNames, text);
  if (found != kNames.end()) return static_cast<LogLevel>(found - kNames.begin());
  return Status(Code::invalid_argument, fmt::format("SENNIT_LOG='{}' is no level", text), {},
                "Set it to error, warning, info or debug, or unset it");
}

bool logs(LogLevel level) {
  static const LogLevel most = [] {
    const auto asked = parse_log_level(environment("SENNIT_LOG"));
    return asked.ok() ? *asked : LogLevel::warning;
  }();
  return level <= most;
}

std::string log_line(LogLevel level, std::string_view text) {
  std::string line =
      fmt::format("sennit {} (process {}): {}", kNames[static_cast<std::size_t>(level)], ::getpid(), text);
  std::ranges::replace(line, '\n', ' ');
  return line + '\n';
}

void log(LogLevel level, std::string_view text) {
  if (!logs(level)) return;
  const std::string line = log_line(level, text);
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace sennit
