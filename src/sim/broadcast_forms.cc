#include "sim/broadcast_forms.h"

#include <algorithm>

namespace sennit::sim {

namespace {

double capped(double gbps, double cap) {
  return cap > 0 ? std::min(gbps, cap) : gbps;
}

double gbps_between(const Fabric& fabric, int from, int to) {
  std::vector<path::Usage> uses;
  fabric.add_way(from, to, machine::Method::sm, 1, uses);
  return fabric.alone_gbps(uses);
}

/// What a message from another node can reach at most on the receiver's.
double receive_gbps(const Fabric& fabric, int from, int to) {
  std::vector<path::Usage> uses;
  fabric.add_way(from, to, machine::Method::sm, 1, uses);
  std::erase_if(uses,
                [&](const path::Usage& use) { return fabric.node_of_resource(use.resource) != fabric.node_of(to); });
  return fabric.alone_gbps(uses);
}

}  // namespace

plan::CorrectedBroadcast broadcast_model(const Fabric& fabric, const Ranks& ranks, const MessageCosts& costs,
                                         double chunk_bytes) {
  const std::vector<int> places = places_of(fabric, ranks.all);
  const int a_node = ranks.network ? ranks.a_node : ranks.all, gpu = places.front(), host = fabric.host_of(gpu);
  plan::CorrectedBroadcast made;
  made.a_node = a_node;
  made.near_us = costs.message_us;
  made.model.start_us = costs.network_us;
  made.model.chunk_bytes = chunk_bytes;
  made.model.mtu_bytes = costs.mtu_bytes;
  made.model.multicast_a = costs.multicast_a;
  if (a_node > 1) made.near_gbps = gbps_between(fabric, gpu, places[1]);
  if (ranks.hosts) {
    made.model.device_to_host_gbps = capped(gbps_between(fabric, gpu, host), costs.to_host_gbps);
    made.host_to_device_gbps = gbps_between(fabric, host, gpu);
  }
  if (!ranks.network) return made;
  const int far = places[static_cast<std::size_t>(a_node)];
  made.model.gpu_gbps = capped(gbps_between(fabric, gpu, far), costs.gpu_read_gbps);
  made.receive_gbps = receive_gbps(fabric, gpu, far);
  if (ranks.hosts) made.model.host_gbps = gbps_between(fabric, host, fabric.host_of(far));
  for (int local = 1; local < a_node; ++local) {
    made.hand_ons += ranks.leader(local) == 0;
    made.neighbours += ranks.leader(local) == 0 || ranks.leader(local) == local;
  }
  return made;
}

std::optional<double> broadcast_form(std::string_view algorithm, const plan::CorrectedBroadcast& model,
                                     const Ranks& ranks, double bytes) {
  const int n = ranks.all;
  if (algorithm == "linear") return model.linear(n, bytes);
  if (algorithm == "linear_staged") return model.linear_staging(n, bytes);
  if (algorithm == "chain") return model.ring(n, bytes);
  if (algorithm == "chain_staged") return model.ring_staging(n, bytes);
  if (algorithm == "tree") return model.knomial(2, n, bytes);
  if (algorithm == "knomial") return model.knomial(ranks.k, n, bytes);
  if (algorithm == "knomial_staged") return model.knomial_staging(ranks.k, n, bytes);
  if (algorithm == "multicast") return model.multicast(n, bytes);
  if (algorithm == "multicast_streaming") return model.multicast_staging(n, bytes);
  return std::nullopt;
}

}  // namespace sennit::sim
