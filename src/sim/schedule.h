// Writes a recorded job as a document, and reads it: what every party does, in order, and what must come of it. JSON
// for people, a compact binary form for volume; either is read back as what was written.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/json.h"
#include "sim/check.h"

namespace sennit::sim {

/// Version of both forms. Readers accept exactly this one.
inline constexpr int kScheduleVersion = 1;

struct Schedule {
  device::Recording recording;
  Promises promises;

  bool operator==(const Schedule&) const = default;
};

Json to_json(const Schedule& schedule);
/// Errors: corrupt, naming the place; invalid_argument (another version, another kind of document).
Result<Schedule> schedule_of(const Json& document);

std::string to_binary(const Schedule& schedule);
/// Errors: as schedule_of(); corrupt says at which byte.
Result<Schedule> schedule_of(std::string_view binary);

/// Whether everything that refers to something refers to something that is there. Errors: corrupt, naming the place.
Status validate(const Schedule& schedule);

/// By the file's name: JSON where it ends in ".json", else binary. Errors: invalid_argument (cannot be written).
Status write_schedule(const std::filesystem::path& file, const Schedule& schedule);
/// By the file's content. Errors: not_found, those of schedule_of().
Result<Schedule> read_schedule(const std::filesystem::path& file);

}  // namespace sennit::sim
