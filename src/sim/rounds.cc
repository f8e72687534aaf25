#include "sim/rounds.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "sim/broadcast_rounds.h"

namespace sennit::sim {

using coll::Operation;

namespace {

void append(Rounds& rounds, Rounds more) {
  for (Round& round : more)
    if (!round.messages.empty()) rounds.push_back(std::move(round));
}

Rounds then(Rounds first, Rounds second) {
  append(first, std::move(second));
  return first;
}

/// The same messages the other way, last round first: what gathers then scatters, what reduces then spreads.
Rounds back(Rounds rounds) {
  std::ranges::reverse(rounds);
  for (Round& round : rounds)
    for (Message& each : round.messages) {
      std::swap(each.from, each.to);
      each.reduced = false;
    }
  return rounds;
}

Rounds reducing(Rounds rounds) {
  for (Round& round : rounds)
    for (Message& each : round.messages) each.reduced = true;
  return rounds;
}

int turned(const Ranks& ranks, int position) {
  return (position + ranks.root) % ranks.all;
}

/// Everybody to the one that stands `shift` behind it.
Round shifted(const Ranks& ranks, int shift, double bytes) {
  Round round;
  for (int rank = 0; rank < ranks.all; ++rank)
    round.messages.push_back({rank, (rank + shift) % ranks.all, bytes, false});
  return round;
}

Rounds ring(const Ranks& ranks, double bytes) {
  Rounds rounds{shifted(ranks, 1, bytes)};
  rounds.front().times = static_cast<std::uint64_t>(ranks.all - 1);
  return rounds;
}

/// Everybody to everybody, a partner after the other. Shifts that leave no rank on its node, and lead to the same
/// place there, are alike.
Rounds pairwise(const Ranks& ranks, double bytes) {
  Rounds rounds;
  const int near = std::min(ranks.a_node, ranks.all);
  for (int shift = 1; shift < std::min(near, ranks.all); ++shift) rounds.push_back(shifted(ranks, shift, bytes));
  if (ranks.nodes() == 1) return rounds;
  const int far = ranks.all - near;  // the last shift of which none stays
  for (int first = near; first < 2 * near && first <= far; ++first) {
    rounds.push_back(shifted(ranks, first, bytes));
    rounds.back().times = static_cast<std::uint64_t>(far - first) / static_cast<std::uint64_t>(near) + 1;
  }
  for (int shift = far + 1; shift < ranks.all; ++shift) rounds.push_back(shifted(ranks, shift, bytes));
  return rounds;
}

/// Exchanges with a partner at twice the distance each time; what is sent grows or shrinks by `factor`.
Rounds doubling(const Ranks& ranks, double bytes, double factor) {
  Rounds rounds;
  for (int distance = 1; distance < ranks.all; distance *= 2, bytes *= factor) {
    Round round;
    for (int rank = 0; rank < ranks.all; ++rank) round.messages.push_back({rank, rank ^ distance, bytes, false});
    rounds.push_back(std::move(round));
  }
  return rounds;
}

Rounds linear_to_root(const Ranks& ranks, double bytes) {
  Round round;
  for (int position = 1; position < ranks.all; ++position)
    round.messages.push_back({turned(ranks, position), ranks.root, bytes, false});
  return {round};
}

/// The binomial tree. A message to a subtree is `bytes`, or, where parts are scattered, that of all its ranks.
Rounds tree_from_root(const Ranks& ranks, double bytes, bool parts) {
  Rounds rounds;
  for (int distance = static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks.all))) / 2; distance > 0;
       distance /= 2) {
    Round round;
    for (int position = 0; position + distance < ranks.all; position += 2 * distance) {
      const int below = std::min(distance, ranks.all - position - distance);
      round.messages.push_back(
          {turned(ranks, position), turned(ranks, position + distance), parts ? bytes * below : bytes, false});
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

/// Two binary trees of ranks, whatever their nodes, of which each has half the message and the other's leaves as
/// inner nodes (Sanders, Speck and Träff 2009): from the leaves to the root of each.
Rounds two_trees(const Ranks& ranks, double bytes) {
  Rounds rounds;
  // In the order of a heap, parent of i is (i - 1) / 2; the second tree is the first seen in a mirror.
  for (int first = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks.all))) - 1; first > 0;
       first = (first - 1) / 2) {
    Round round;
    for (int i = first; i < std::min(2 * first + 1, ranks.all); ++i) {
      round.messages.push_back({i, (i - 1) / 2, bytes / 2, true});
      round.messages.push_back({ranks.all - 1 - i, ranks.all - 1 - (i - 1) / 2, bytes / 2, true});
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

// Allreduce.

Rounds allreduce_linear(const Ranks& ranks, double bytes) {
  const Rounds in = linear_to_root(ranks, bytes);
  return then(reducing(in), back(in));
}
Rounds allreduce_one_shot(const Ranks& ranks, double bytes) {
  return reducing(pairwise(ranks, bytes));
}
Rounds allreduce_two_shot(const Ranks& ranks, double bytes) {
  const Rounds parts = pairwise(ranks, bytes / ranks.all);
  return then(reducing(parts), parts);
}
Rounds allreduce_ring(const Ranks& ranks, double bytes) {
  const Rounds parts = ring(ranks, bytes / ranks.all);
  return then(reducing(parts), parts);
}
Rounds allreduce_recursive_doubling(const Ranks& ranks, double bytes) {
  return reducing(doubling(ranks, bytes, 1));
}
/// Rabenseifner's: halves, quarters, … of the vector to partners further and further off, and back.
Rounds allreduce_reduce_scatter_allgather(const Ranks& ranks, double bytes) {
  const Rounds halves = doubling(ranks, bytes / 2, 0.5);
  return then(reducing(halves), back(halves));
}
Rounds allreduce_tree(const Ranks& ranks, double bytes) {
  const Rounds up = two_trees(ranks, bytes);
  return then(up, back(up));
}

/// Each node by itself, all at the same time.
Rounds in_nodes(const Ranks& ranks, double bytes, Rounds (*of)(const Ranks&, double)) {
  const Rounds one = of({ranks.a_node, ranks.a_node, 0}, bytes);
  Rounds all;
  for (const Round& round : one) {
    all.push_back({{}, round.times});
    for (int node = 0; node < ranks.nodes(); ++node)
      for (Message each : round.messages) {
        each.from += node * ranks.a_node;
        each.to += node * ranks.a_node;
        all.back().messages.push_back(each);
      }
  }
  return all;
}

/// Between the ranks of the same number on all nodes, for the first `leaders` numbers at the same time.
Rounds between_nodes(const Ranks& ranks, double bytes, int leaders, Rounds (*of)(const Ranks&, double)) {
  const Rounds one = of({ranks.nodes(), 1, 0}, bytes);
  Rounds all;
  for (const Round& round : one) {
    all.push_back({{}, round.times});
    for (int local = 0; local < leaders; ++local)
      for (Message each : round.messages) {
        each.from = each.from * ranks.a_node + local;
        each.to = each.to * ranks.a_node + local;
        all.back().messages.push_back(each);
      }
  }
  return all;
}

/// Each rank of a node gets a part of the vector, reduces it with its like on other nodes, and gives it to the node
/// (Träff and Hunold 2020): every NIC works.
Rounds multilane(const Ranks& ranks, double bytes, Rounds (*of)(const Ranks&, double)) {
  const Rounds parts = in_nodes(ranks, bytes / ranks.a_node, pairwise);
  return then(then(reducing(parts), between_nodes(ranks, bytes / ranks.a_node, ranks.a_node, of)), parts);
}
Rounds allreduce_multilane(const Ranks& ranks, double bytes) {
  return multilane(ranks, bytes, allreduce_ring);
}
Rounds allreduce_multilane_tree(const Ranks& ranks, double bytes) {
  return multilane(ranks, bytes, allreduce_tree);
}
Rounds allreduce_multilane_halving(const Ranks& ranks, double bytes) {
  return multilane(ranks, bytes, allreduce_reduce_scatter_allgather);
}
/// One rank of a node for all of it: coll/allreduce_hierarchical.h, of nodes or sockets.
Rounds allreduce_hierarchical(const Ranks& ranks, double bytes) {
  const Rounds in = in_nodes(ranks, bytes, linear_to_root);
  return then(then(reducing(in), between_nodes(ranks, bytes, 1, allreduce_ring)), back(in));
}

// The others.

Rounds reduce_scatter_ring(const Ranks& ranks, double bytes) {
  return reducing(ring(ranks, bytes));
}
Rounds reduce_scatter_direct(const Ranks& ranks, double bytes) {
  return reducing(pairwise(ranks, bytes));
}
Rounds reduce_scatter_halving(const Ranks& ranks, double bytes) {
  return reducing(doubling(ranks, bytes * ranks.all / 2, 0.5));
}
Rounds allgather_recursive_doubling(const Ranks& ranks, double bytes) {
  return doubling(ranks, bytes, 2);
}
Rounds broadcast_tree(const Ranks& ranks, double bytes) {
  return tree_from_root(ranks, bytes, false);
}
/// Van de Geijn's: a part to each, then everybody's to all.
Rounds broadcast_scatter_allgather(const Ranks& ranks, double bytes) {
  return then(tree_from_root(ranks, bytes / ranks.all, true), ring(ranks, bytes / ranks.all));
}
Rounds reduce_linear(const Ranks& ranks, double bytes) {
  return reducing(linear_to_root(ranks, bytes));
}
Rounds reduce_chain(const Ranks& ranks, double bytes) {
  return reducing(back(broadcast_chain(ranks, bytes)));
}
Rounds reduce_tree(const Ranks& ranks, double bytes) {
  return reducing(back(tree_from_root(ranks, bytes, false)));
}
Rounds gather_tree(const Ranks& ranks, double bytes) {
  return back(tree_from_root(ranks, bytes, true));
}
Rounds scatter_linear(const Ranks& ranks, double bytes) {
  return back(linear_to_root(ranks, bytes));
}
Rounds scatter_tree(const Ranks& ranks, double bytes) {
  return tree_from_root(ranks, bytes, true);
}

bool any(const Ranks& ranks) {
  return ranks.all >= 2;
}
bool power_of_two(const Ranks& ranks) {
  return any(ranks) && std::has_single_bit(static_cast<unsigned>(ranks.all));
}
bool several_nodes(const Ranks& ranks) {
  return ranks.nodes() >= 2 && ranks.a_node >= 2;
}
bool power_of_two_nodes(const Ranks& ranks) {
  return several_nodes(ranks) && std::has_single_bit(static_cast<unsigned>(ranks.nodes()));
}

bool has_hosts(const Ranks& ranks) {
  return any(ranks) && ranks.hosts;
}
bool has_network(const Ranks& ranks) {
  return ranks.network && ranks.nodes() >= 2;
}
bool has_both(const Ranks& ranks) {
  return has_network(ranks) && ranks.hosts;
}

constexpr std::string_view kPower = "a power of two of ranks", kNodes = "several nodes, or sockets, of several GPUs",
                           kNodesPower = "several nodes, or sockets, of several GPUs, and a power of two of them",
                           kHosts = "host memory that every GPU reaches", kNetwork = "several nodes",
                           kNetworkHosts = "several nodes, and host memory that every GPU reaches";

constexpr MessageAlgorithm kAlgorithms[] = {
    {Operation::allreduce, "linear", allreduce_linear, any, {}},
    {Operation::allreduce, "one_shot", allreduce_one_shot, any, {}},
    {Operation::allreduce, "two_shot", allreduce_two_shot, any, {}},
    {Operation::allreduce, "ring", allreduce_ring, any, {}},
    {Operation::allreduce, "recursive_doubling", allreduce_recursive_doubling, power_of_two, kPower},
    {Operation::allreduce, "reduce_scatter_allgather", allreduce_reduce_scatter_allgather, power_of_two, kPower},
    {Operation::allreduce, "tree", allreduce_tree, any, {}},
    {Operation::allreduce, "multilane", allreduce_multilane, several_nodes, kNodes},
    {Operation::allreduce, "multilane_tree", allreduce_multilane_tree, several_nodes, kNodes},
    {Operation::allreduce, "multilane_halving", allreduce_multilane_halving, power_of_two_nodes, kNodesPower},
    {Operation::allreduce, "hierarchical", allreduce_hierarchical, several_nodes, kNodes},
    {Operation::reduce_scatter, "ring", reduce_scatter_ring, any, {}},
    {Operation::reduce_scatter, "direct", reduce_scatter_direct, any, {}},
    {Operation::reduce_scatter, "halving", reduce_scatter_halving, power_of_two, kPower},
    {Operation::allgather, "ring", ring, any, {}},
    {Operation::allgather, "direct", pairwise, any, {}},
    {Operation::allgather, "recursive_doubling", allgather_recursive_doubling, power_of_two, kPower},
    {Operation::reduce, "linear", reduce_linear, any, {}},
    {Operation::reduce, "chain", reduce_chain, any, {}},
    {Operation::reduce, "tree", reduce_tree, any, {}},
    {Operation::broadcast, "linear", broadcast_linear, any, {}},
    {Operation::broadcast, "chain", broadcast_chain, any, {}},
    {Operation::broadcast, "tree", broadcast_tree, any, {}},
    {Operation::broadcast, "knomial", broadcast_knomial, any, {}},
    {Operation::broadcast, "scatter_allgather", broadcast_scatter_allgather, any, {}},
    {Operation::broadcast, "linear_staged", broadcast_linear_staged, has_hosts, kHosts},
    {Operation::broadcast, "chain_staged", broadcast_chain_staged, has_hosts, kHosts},
    {Operation::broadcast, "knomial_staged", broadcast_knomial_staged, has_hosts, kHosts},
    {Operation::broadcast, "multicast", broadcast_multicast, has_network, kNetwork},
    {Operation::broadcast, "multicast_streaming", broadcast_multicast_streaming, has_both, kNetworkHosts},
    {Operation::gather, "linear", linear_to_root, any, {}},
    {Operation::gather, "tree", gather_tree, any, {}},
    {Operation::scatter, "linear", scatter_linear, any, {}},
    {Operation::scatter, "tree", scatter_tree, any, {}},
    {Operation::all_to_all, "direct", pairwise, any, {}},
};

}  // namespace

std::span<const MessageAlgorithm> message_algorithms() {
  return kAlgorithms;
}

Result<MessageAlgorithm> message_algorithm(Operation operation, std::string_view name) {
  std::string known;
  for (const MessageAlgorithm& each : kAlgorithms) {
    if (each.operation != operation) continue;
    if (each.name == name) return each;
    known += (known.empty() ? "" : ", ") + std::string(each.name);
  }
  return Status(Code::not_found, fmt::format("no algorithm '{}' sends messages for {}", name, coll::name(operation)),
                {}, known.empty() ? "Choose another operation" : "Use one of " + known);
}

bool is_copy_of(const Message& message, const Message& before) {
  return message.multicast && before.multicast && message.from == before.from;
}

std::uint64_t count_messages(const Rounds& rounds) {
  std::uint64_t all = 0;
  for (const Round& round : rounds) {
    // The copies of a multicast stand side by side.
    std::uint64_t copies = 0;
    for (std::size_t i = 1; i < round.messages.size(); ++i)
      copies += is_copy_of(round.messages[i], round.messages[i - 1]);
    all += round.times * (round.messages.size() - copies);
  }
  return all;
}

}  // namespace sennit::sim
