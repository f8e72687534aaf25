// Finds the machine files that ship with sennit.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sennit::machine {

/// Returns the folder of shipped machines: ../machines beside the folder of the running program or library
/// (installed), else that of the source tree it was built from. Errors: not_found.
Result<std::filesystem::path> shipped_folder();

/// Returns the shipped file called `name`. Errors: not_found, naming those there are.
Result<std::filesystem::path> shipped_file(std::string_view name);

/// Returns the files of all shipped machines, sorted by name.
Result<std::vector<std::filesystem::path>> shipped_files();

}  // namespace sennit::machine
