// Writes the machine as a JSON document (schemas/machine.schema.json), and reads it so strictly that whatever was
// read can be planned from without further checks.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"
#include "machine/machine.h"

namespace sennit::machine {

/// Returns the document of `machine`, every member written except absent optional figures. from_json(to_json(m))
/// equals m.
Json to_json(const Machine& machine);

/// Reads a document and validates it (validate.h). Members without a default (version, name, devices; id, kind;
/// from, to; value, source; …) must be there; unknown members are refused, so that a misspelt one is noticed.
/// Errors: unsupported (another version), corrupt (anything else); `where` is the origin and the path of the
/// field, such as "mine.json: devices[2].memory_bytes".
Result<Machine> from_json(const Json& document, std::string_view origin);

/// Loads the machine called so in the machines/ folder that ships with sennit ("hgx-h200-4"), or the one in the file.
/// What ends in .json or contains a slash is a file. Errors: not_found (names the machines there are), and those of
/// read_json and from_json.
Result<Machine> load(const std::string& name_or_file);

}  // namespace sennit::machine
