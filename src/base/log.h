// What sennit says while it works, on stderr: nothing unless something is wrong, by default (SENNIT_LOG).
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace sennit {

enum class LogLevel { error, warning, info, debug };

/// SENNIT_LOG's value as a level. Errors: invalid_argument names the levels there are.
Result<LogLevel> parse_log_level(std::string_view text);

/// Returns whether lines of a level are written: SENNIT_LOG as it was when this process first asked. A value that
/// makes no sense counts as the default here; setting up a communicator reports it.
bool logs(LogLevel level);

/// "sennit warning (process 4711): TEXT", with a line's end. Line breaks within the text become spaces.
std::string log_line(LogLevel level, std::string_view text);

/// Writes that line in one piece when the level is on. From any thread.
void log(LogLevel level, std::string_view text);

}  // namespace sennit
