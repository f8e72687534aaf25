// Where the data of calls goes that have a root; pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace sennit::profile {

/// Where the data of a call goes: from all to all, or with a root. `broadcast`: the root has what all others get.
/// `gathers` (also reductions): each rank gives its part, and the root gets all, its own too. `scatters`: the other
/// way round.
enum class Rooted : std::uint8_t { none, broadcast, gathers, scatters };

/// Of a function's name without the library's: "Reduce", "Bcast_c", "Igatherv", "ReduceConfig".
constexpr Rooted rooted_of(std::string_view name) {
  if (name.ends_with("Config")) name.remove_suffix(6);
  if (name.ends_with("_c")) name.remove_suffix(2);
  const auto is = [&](std::string_view what) {
    if (name == what) return true;
    return name.size() == what.size() + 1 && name[0] == 'I' && name.substr(2) == what.substr(1);  // MPI_Ibcast
  };
  if (is("Bcast") || name == "Broadcast") return Rooted::broadcast;
  if (is("Reduce") || is("Gather") || is("Gatherv")) return Rooted::gathers;
  return is("Scatter") || is("Scatterv") ? Rooted::scatters : Rooted::none;
}

}  // namespace sennit::profile
