#include "net/leaders.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "path/nics.h"

namespace sennit::net {

std::vector<int> leaders_of(const machine::Machine& machine, std::span<const std::string> devices) {
  const path::Network network(machine);
  std::vector<path::NearestNic> nearest;
  std::vector<int> sockets;
  for (const std::string& name : devices) {
    const int device = name.empty() ? -1 : network.index(name);
    nearest.push_back(device < 0 ? path::NearestNic() : path::nearest_nic(network, device));
    sockets.push_back(device < 0 ? -1 : network.device(device).numa);
  }
  const bool shows_nics = std::ranges::any_of(nearest, [](const path::NearestNic& each) { return each.nic >= 0; });
  using Worth = std::tuple<double, std::size_t, int>;  // the lower the better; last is the rank
  std::map<int, Worth> best;                           // by NIC or socket
  for (std::size_t rank = 0; rank < devices.size(); ++rank) {
    const path::NearestNic& one = nearest[rank];
    if (shows_nics && one.nic < 0) continue;
    const Worth worth(-one.hop.gbps, one.hop.arcs.size(), static_cast<int>(rank));
    const auto [found, is_first] = best.try_emplace(shows_nics ? one.nic : sockets[rank], worth);
    if (!is_first) found->second = std::min(found->second, worth);
  }
  std::vector<int> leaders;
  for (const auto& [adapter, worth] : best) leaders.push_back(std::get<int>(worth));
  return leaders;
}

}  // namespace sennit::net
