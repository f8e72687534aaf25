// Reads which processors this process may run on and of which NUMA nodes they are: what a launcher has bound it to.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace sennit {

/// Processors in a list of the kernel's, "0-15,32-47", each below 65 536; parts that are no numbers are skipped.
std::vector<int> parse_processors(std::string_view text);

/// Those that this thread may run on, ascending; none where the kernel does not say.
std::vector<int> allowed_processors();

/// The NUMA nodes that `allowed` are of, ascending, if there are others with processors; none of a process that may
/// run on all nodes, as nobody has bound it to some. Reads ROOT/sys.
std::vector<int> bound_nodes(std::span<const int> allowed, const std::filesystem::path& root = "/");

}  // namespace sennit
