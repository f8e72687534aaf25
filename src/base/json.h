// Wraps nlohmann-json for every document that sennit reads or writes, and reads files without exceptions.
#pragma once

#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/status.h"

namespace sennit {

using Json = nlohmann::ordered_json;

/// Parses a whole file. Errors: not_found (no such file), corrupt (not JSON: says at which byte),
/// invalid_argument (larger than 64 MiB, a limit that no document of ours approaches).
Result<Json> read_json(const std::filesystem::path& file);

/// Parses text; `origin` names it in errors.
Result<Json> parse_json(std::string_view text, std::string_view origin);

/// Writes `document` so that readers see the old file or the new one, never a part: temporary file
/// in the same folder, then rename. Creates missing folders.
Status write_json(const std::filesystem::path& file, const Json& document);

}  // namespace sennit
