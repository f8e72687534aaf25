// Writes what sennit reports on stderr while it works: by default nothing unless something is wrong (SENNIT_LOG).
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace sennit {

enum class LogLevel { error, warning, info, debug };

/// SENNIT_LOG's value as a level. Errors: invalid_argument names the levels there are.
Result<LogLevel> parse_log_level(std::string_view text);

/// Returns whether lines of a level are written, by SENNIT_LOG's value when this process first asked. An invalid
/// value counts as the default here; setting up a communicator reports it.
bool logs(LogLevel level);

/// "sennit warning (process 4711): TEXT", with a line's end. Line breaks within the text become spaces.
std::string log_line(LogLevel level, std::string_view text);

/// Writes that line in one piece when the level is on. From any thread.
void log(LogLevel level, std::string_view text);

}  // namespace sennit
