// Keeps measured machines for each user, one file a fingerprint, so that a new driver or GPU is measured anew.
#pragma once

#include <filesystem>
#include <string>

#include "base/status.h"
#include "machine/machine.h"

namespace sennit::machine {

/// Returns the folder: SENNIT_CACHE, else $XDG_CACHE_HOME/sennit, else ~/.cache/sennit. Errors: not_found when none
/// is set.
Result<std::filesystem::path> cache_folder();

/// Returns the file of a fingerprint, whether it exists or not. Errors: invalid_argument when it is not a
/// fingerprint.
Result<std::filesystem::path> cache_file(const std::string& fingerprint);

/// Checks that something can be kept: makes the folder, and writes there. To be called before anything is measured.
/// Errors: permission_denied, with the reason.
Status check_cache();

/// Loads the measured machine with this fingerprint. Errors: not_found when there is none; permission_denied when the
/// file may not be read; corrupt when the file was tampered with or holds another machine.
Result<Machine> load_cached(const std::string& fingerprint);

/// Keeps `machine` under its fingerprint; a reader sees the old file or the new one. Returns the file.
Result<std::filesystem::path> store_cached(const Machine& machine);

}  // namespace sennit::machine
