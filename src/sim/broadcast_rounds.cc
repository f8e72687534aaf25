#include "sim/broadcast_rounds.h"

#include <algorithm>
#include <utility>

namespace sennit::sim {

namespace {

int rank_at(const Ranks& ranks, long position) {
  return static_cast<int>((position + ranks.root) % ranks.all);
}

/// The same between host memories. A rank's copy to its GPU begins with the round behind its arrival; nothing waits
/// for it but the end.
Rounds between_hosts(const Ranks& ranks, Rounds rounds, double bytes) {
  Rounds all{{{{.from = ranks.root, .to = ranks.root, .bytes = bytes, .to_host = true}}}};
  std::vector<Message> arrived;
  for (Round& round : rounds) {
    std::vector<Message> up = std::exchange(arrived, {});
    for (Message& each : round.messages) {
      each.from_host = each.to_host = true;
      arrived.push_back({.from = each.to, .to = each.to, .bytes = bytes, .from_host = true});
    }
    round.messages.insert(round.messages.end(), up.begin(), up.end());
    all.push_back(std::move(round));
  }
  all.push_back({std::move(arrived)});
  return all;
}

Rounds casts_of(const Ranks& ranks, double bytes, bool from_host) {
  Round casts, near, further;
  const int home = ranks.root / ranks.a_node;
  for (int rank = 0; rank < ranks.all; ++rank) {
    if (rank == ranks.root) continue;
    const int node = rank / ranks.a_node, leader = node * ranks.a_node + ranks.leader(rank % ranks.a_node);
    const bool leads = rank == leader,
               beside_root = node == home && ranks.leader(ranks.root % ranks.a_node) == leader % ranks.a_node;
    if (beside_root)
      near.messages.push_back({.from = ranks.root, .to = rank, .bytes = bytes});
    else if (node == home && leads)
      near.messages.push_back({.from = ranks.root, .to = rank, .bytes = bytes, .from_host = from_host});
    else if (leads)
      casts.messages.push_back(
          {.from = ranks.root, .to = rank, .bytes = bytes, .from_host = from_host, .multicast = true});
    else
      further.messages.push_back({.from = leader, .to = rank, .bytes = bytes});
  }
  Rounds all;
  if (from_host) all.push_back({{{.from = ranks.root, .to = ranks.root, .bytes = bytes, .to_host = true}}});
  casts.messages.insert(casts.messages.end(), near.messages.begin(), near.messages.end());
  all.push_back(std::move(casts));
  if (!further.messages.empty()) all.push_back(std::move(further));
  return all;
}

}  // namespace

Rounds broadcast_linear(const Ranks& ranks, double bytes) {
  Round round;
  for (int position = 1; position < ranks.all; ++position)
    round.messages.push_back({.from = ranks.root, .to = rank_at(ranks, position), .bytes = bytes});
  return {round};
}

Rounds broadcast_chain(const Ranks& ranks, double bytes) {
  Rounds rounds;
  for (int position = 1; position < ranks.all; ++position)
    rounds.push_back({{{.from = rank_at(ranks, position - 1), .to = rank_at(ranks, position), .bytes = bytes}}});
  return rounds;
}

Rounds broadcast_knomial(const Ranks& ranks, double bytes) {
  Rounds rounds;
  long distance = 1;
  while (distance * ranks.k < ranks.all) distance *= ranks.k;
  for (; distance > 0; distance /= ranks.k) {
    Round round;
    for (long position = 0; position < ranks.all; position += distance * ranks.k)
      for (long child = position + distance; child < std::min<long>(position + distance * ranks.k, ranks.all);
           child += distance)
        round.messages.push_back({.from = rank_at(ranks, position), .to = rank_at(ranks, child), .bytes = bytes});
    rounds.push_back(std::move(round));
  }
  return rounds;
}

Rounds broadcast_linear_staged(const Ranks& ranks, double bytes) {
  return between_hosts(ranks, broadcast_linear(ranks, bytes), bytes);
}
Rounds broadcast_chain_staged(const Ranks& ranks, double bytes) {
  return between_hosts(ranks, broadcast_chain(ranks, bytes), bytes);
}
Rounds broadcast_knomial_staged(const Ranks& ranks, double bytes) {
  return between_hosts(ranks, broadcast_knomial(ranks, bytes), bytes);
}
Rounds broadcast_multicast(const Ranks& ranks, double bytes) {
  return casts_of(ranks, bytes, false);
}
Rounds broadcast_multicast_streaming(const Ranks& ranks, double bytes) {
  return casts_of(ranks, bytes, true);
}

}  // namespace sennit::sim
