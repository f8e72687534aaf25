// Writes the profile of a process to a file at its end, where it was kept elsewhere until then.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "base/status.h"

namespace sennit::profile {

/// Writes a recorder's content (Recorder::bytes()) to a file, which must not exist, as short as it can be: of the
/// ring what was used, and no page that is zero. Where there is no room for the single calls they are left out, and
/// the file says how many they were; sums stay exact. Threads may record meanwhile. Errors: permission_denied,
/// out_of_memory (the disk, the quota or a limit of files), system_error; the file is then not there.
Status save(std::span<const std::byte> content, const std::filesystem::path& file);

}  // namespace sennit::profile
