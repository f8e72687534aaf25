#include "path/nics.h"

#include <utility>
#include <vector>

namespace sennit::path {

using machine::DeviceKind;

NearestNic nearest_nic(const Network& network, int device) {
  if (!network.is(device, DeviceKind::gpu) && !network.is(device, DeviceKind::host)) return {};
  std::vector<NearestNic> best;
  for (int nic = 0; nic < network.devices(); ++nic) {
    if (!network.is(nic, DeviceKind::nic)) continue;
    Hop hop = network.find_hop(device, nic);
    if (!hop.exists()) continue;
    const auto rank = [](const Hop& each) { return std::pair(-each.gbps, each.arcs.size()); };
    if (!best.empty() && rank(hop) < rank(best.front().hop)) best.clear();
    if (best.empty() || rank(hop) == rank(best.front().hop)) best.push_back({nic, std::move(hop)});
  }
  if (best.empty()) return {};
  std::size_t ordinal = 0;
  for (int other = 0; other < device; ++other)
    if (network.device(other).kind == network.device(device).kind) ++ordinal;
  return std::move(best[ordinal % best.size()]);
}

std::vector<Usage> usage_of_nic(const Network& network, int device, bool leaves) {
  const NearestNic nearest = nearest_nic(network, device);
  if (nearest.nic < 0) return {};
  const Hop hop = leaves ? nearest.hop : network.find_hop(nearest.nic, device);
  if (!hop.exists()) return {};
  std::vector<Usage> uses = network.usage(hop, machine::Method::sm, false);
  const int limit = leaves ? network.read_limit(nearest.nic) : network.write_limit(nearest.nic);
  if (network.capacity()[static_cast<std::size_t>(limit)] < kUnlimited) add(uses, {limit, 1});
  return uses;
}

}  // namespace sennit::path
