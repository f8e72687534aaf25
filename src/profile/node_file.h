// A process's file that lies on its node until the end, since the profile's folder is on a file system of other
// machines: a mapped file costs too much there. In the folder a symbolic link stands for it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "base/status.h"

namespace sennit::profile {

/// Returns whether a file system, by statfs()'s number, is on other machines, or is one of a program (FUSE).
bool is_of_other_machines(long type);

/// Returns where files of this folder are to lie until the end: `wanted` where that is not empty, else a folder of
/// the node where `folder` is on a file system of other machines; empty where they lie in `folder` itself.
std::filesystem::path folder_on_node(const std::filesystem::path& folder, const std::string& wanted);

/// Makes a name for a new file on the node, which nobody can guess, in a folder of its own, and the link to it.
/// Errors: as file_error().
Result<std::filesystem::path> make_node_file(const std::filesystem::path& on_node, const std::filesystem::path& link);

/// Puts a recorder's content in the place of the link, or of what another process has brought, and removes the file
/// on the node. Errors: as save(); both are then as they were.
Status bring(std::span<const std::byte> content, const std::filesystem::path& link);

/// Brings what lies on this node of processes of the folder that have ended without bringing it. Those that cannot be
/// brought stay.
void bring_left_behind(const std::filesystem::path& folder);

}  // namespace sennit::profile
