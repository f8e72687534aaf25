// Names what ranks must have in common to use each other's memory, beside sennit's version.
#pragma once

#include <string>
#include <string_view>

namespace sennit::coll {

/// The version is to be raised with every change of what ranks read and write in each other's memory: where slots,
/// words and packets lie (team.h), what is counted there and when, and what the control segment holds; and of what
/// they choose alike: algorithms and their numbers. Builds of one version that differ in it would read each other
/// wrongly.
inline constexpr unsigned kLayoutVersion = 4;

/// Returns the build's name for handshakes, and for people: "0.1.0 (layout 4)". Ranks of other builds cannot work
/// together.
std::string build_of(std::string_view version, unsigned layout = kLayoutVersion);

}  // namespace sennit::coll
