// Reads small files of /proc and /sys.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace sennit::doctor {

/// Returns the file's first 64 KiB without trailing white space; nothing where it cannot be read.
std::optional<std::string> read_text(const std::filesystem::path& file);

/// Returns the whole number a file holds; nothing where there is none ("max" in a cgroup's limit, above all).
std::optional<long long> read_number(const std::filesystem::path& file);

/// Parses the kernel's lists: "0-3,8" is {0, 1, 2, 3, 8}. What is not a list is empty.
std::set<int> parse_list(std::string_view text);
/// Does the reverse of parse_list().
std::string list_text(const std::set<int>& numbers);

}  // namespace sennit::doctor
