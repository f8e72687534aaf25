// Answers `reorder` of MPI_Cart_create, MPI_Graph_create and MPI_Dist_graph_create(_adjacent), with SENNIT_REORDER=1:
//
// 1. All ranks learn who is where and who sends to whom (comm/reordering.h); rank 0 finds an order.
// 2. MPI_Comm_split makes a communicator in that order, by keys.
// 3. The program's own function makes the topology of that one, without reordering: so what it says of neighbours and
//    coordinates is right by construction. Of MPI_Dist_graph_create_adjacent a process gives there what the process
//    gave that had its new rank before.
//
// Where there is no better order, and of arguments that are none, the call is the MPI's, as the program made it.
#pragma once

#include <dlfcn.h>

#include <span>

#include "machine/known.h"
#include "shim/mpi/comm/reordering.h"
#include "shim/mpi/entry/process.h"

namespace sennit::shim::mpi::wrappers {

/// Returns the program's own definition of a function.
template <class Abi>
void* own_function(Entry entry) {
  return Process<Abi>::instance().real[static_cast<std::size_t>(entry)];
}

/// Returns the two addresses that stand for no weights, and for weights of no edges.
template <class Abi>
std::array<const int*, 2> no_weights() {
  if constexpr (Abi::kFlavour == Flavour::mpich) {
    const auto of = [](const char* name) {
      const auto* const found = static_cast<const int* const*>(dlsym(RTLD_DEFAULT, name));
      return found != nullptr ? *found : nullptr;
    };
    static const std::array found{of("MPI_UNWEIGHTED"), of("MPI_WEIGHTS_EMPTY")};
    return found;
  }
  constexpr std::intptr_t kFirst = Abi::kFlavour == Flavour::openmpi ? 2 : 10;
  return {reinterpret_cast<const int*>(kFirst), reinterpret_cast<const int*>(kFirst + 1)};
}

template <class Abi>
bool has_weights(const int* weights) {
  const auto [unweighted, empty] = no_weights<Abi>();
  return weights != nullptr && weights != unweighted && weights != empty;
}

/// The numbers in which a rank tells its part of a topology, and back. What is no topology is told as one number, so
/// that the other ranks do not wait for it.
struct Lists {
  static constexpr int kWrong = -1;

  static void add(std::vector<int>& told, const int* list, int count, int otherwise) {
    for (int i = 0; i < count; ++i) told.push_back(list != nullptr ? list[i] : otherwise);
  }
  static bool is_wrong(const std::vector<int>& told) { return told.size() == 1; }
};

/// Of MPI_Dist_graph_create_adjacent: {sources, destinations, then of each the ranks and the weights}.
struct Neighbourhood {
  std::span<const int> sources, source_weights, destinations, destination_weights;

  explicit Neighbourhood(const std::vector<int>& told) {
    const auto in = std::size_t(told[0]), out = std::size_t(told[1]);
    const std::span<const int> all = std::span(told).subspan(2);
    sources = all.first(in);
    source_weights = all.subspan(in, in);
    destinations = all.subspan(2 * in, out);
    destination_weights = all.subspan(2 * in + out, out);
  }
};

template <class Abi>
std::vector<int> tell_neighbours(const Frame& frame) {
  const int in = frame.number(1), out = frame.number(4);
  const auto *const sources = frame.pointer<const int>(2), *const destinations = frame.pointer<const int>(5);
  const auto *const to_us = frame.pointer<const int>(3), *const to_them = frame.pointer<const int>(6);
  if (in < 0 || out < 0 || (in > 0 && sources == nullptr) || (out > 0 && destinations == nullptr))
    return {Lists::kWrong};
  std::vector<int> told{in, out};
  Lists::add(told, sources, in, 0);
  Lists::add(told, has_weights<Abi>(to_us) ? to_us : nullptr, in, 1);
  Lists::add(told, destinations, out, 0);
  Lists::add(told, has_weights<Abi>(to_them) ? to_them : nullptr, out, 1);
  return told;
}

/// Of MPI_Dist_graph_create: triples of source, destination and weight.
template <class Abi>
std::vector<int> tell_edges(const Frame& frame) {
  const int n = frame.number(1);
  const auto *const sources = frame.pointer<const int>(2), *const degrees = frame.pointer<const int>(3);
  const auto *const destinations = frame.pointer<const int>(4), *const weights = frame.pointer<const int>(5);
  if (n < 0 || (n > 0 && (sources == nullptr || degrees == nullptr))) return {Lists::kWrong};
  std::vector<int> told;
  int edge = 0;
  for (int i = 0; i < n; ++i) {
    if (degrees[i] < 0 || (degrees[i] > 0 && destinations == nullptr)) return {Lists::kWrong};
    for (int k = 0; k < degrees[i]; ++k, ++edge) {
      const int weight = has_weights<Abi>(weights) ? weights[edge] : 1;
      told.insert(told.end(), {sources[i], destinations[edge], weight});
    }
  }
  return told;
}

inline bool add_edge(place::Traffic& traffic, int from, int to, int weight) {
  const auto is_rank = [&](int rank) { return rank >= 0 && rank < traffic.ranks(); };
  if (!is_rank(from) || !is_rank(to) || weight < 0) return false;
  traffic.add(from, to, weight);
  return true;
}

inline std::optional<place::Traffic> traffic_of_neighbours(const ToldByRank& told, int processes) {
  place::Traffic traffic(processes);
  for (int rank = 0; rank < int(told.size()); ++rank) {
    if (Lists::is_wrong(told[std::size_t(rank)])) return std::nullopt;
    // Each edge is told at both its ends: those that leave a rank are all.
    const Neighbourhood of(told[std::size_t(rank)]);
    for (std::size_t i = 0; i < of.destinations.size(); ++i)
      if (!add_edge(traffic, rank, of.destinations[i], of.destination_weights[i])) return std::nullopt;
  }
  return traffic;
}

inline std::optional<place::Traffic> traffic_of_edges(const ToldByRank& told, int processes) {
  place::Traffic traffic(processes);
  for (const std::vector<int>& each : told) {
    if (Lists::is_wrong(each)) return std::nullopt;
    for (std::size_t i = 0; i + 2 < each.size(); i += 3)
      if (!add_edge(traffic, each[i], each[i + 1], each[i + 2])) return std::nullopt;
  }
  return traffic;
}

/// Where an argument `reorder` stands, and what its function is told and makes of it.
struct Reorderable {
  Argument reorder = kAbsent;
  std::vector<int> told;
  TrafficOf traffic;
};

template <class Abi>
std::optional<Reorderable> reorderable(const Frame& frame) {
  switch (frame.of->family) {
    case Family::Cart_create: {
      const auto extents = std::span(frame.pointer<const int>(2), std::size_t(std::max(0, frame.number(1))));
      const auto wraps = std::span(frame.pointer<const int>(3), extents.size());
      if (extents.data() == nullptr || wraps.data() == nullptr) return std::nullopt;
      return Reorderable{4, {}, [=](const ToldByRank&, int n) { return place::traffic_of_cart(extents, wraps, n); }};
    }
    case Family::Graph_create: {
      const auto index = std::span(frame.pointer<const int>(2), std::size_t(std::max(0, frame.number(1))));
      const auto* const edges = frame.pointer<const int>(3);
      if (index.data() == nullptr || edges == nullptr || index.empty() || index.back() < 0) return std::nullopt;
      const std::span all(edges, std::size_t(index.back()));
      return Reorderable{4, {}, [=](const ToldByRank&, int n) { return place::traffic_of_graph(index, all, n); }};
    }
    case Family::Dist_graph_create: return Reorderable{7, tell_edges<Abi>(frame), &traffic_of_edges};
    case Family::Dist_graph_create_adjacent:
      return Reorderable{8, tell_neighbours<Abi>(frame), &traffic_of_neighbours};
    default: return std::nullopt;
  }
}

/// Collective, of a maker whose ranks have all come: the code of what was made in another order; no value where the
/// call is still to be made, as it is.
template <class Abi>
std::optional<int> make_reordered(const Frame& frame) {
  DropIn& here = drop_in<Abi>();
  const auto began = Reporting::Clock::now();
  const auto asked = reorderable<Abi>(frame);
  if (!asked || frame.number(asked->reorder) == 0) return std::nullopt;
  const Handle comm = frame.handle(frame.of->comm);
  const auto machine = [&]() -> std::optional<machine::Machine> {
    auto known = machine::known_machine("", here.switches.emulate ? "host" : "cuda");
    if (!known) return std::nullopt;
    return std::move(known->machine);
  };
  const Call call(mpi<Abi>(), frame.of->family, Form::blocking, comm);
  const auto found = reorder(mpi<Abi>(), comm, asked->told, asked->traffic, machine);
  if (!found) {
    here.reporting.count(call, 0, "in the order as it is", began);
    return std::nullopt;
  }
  auto ordered = from_handle<typename Abi::Comm>(kNoHandle);
  const auto split = reinterpret_cast<FunctionOf<Abi, Entry::Comm_split>*>(own_function<Abi>(Entry::Comm_split));
  const auto free = reinterpret_cast<FunctionOf<Abi, Entry::Comm_free>*>(own_function<Abi>(Entry::Comm_free));
  if (const int code = split(from_handle<typename Abi::Comm>(comm), 0, found->rank, &ordered); code != 0) return code;
  Frame later = frame;
  later[frame.of->comm] = to_bits(ordered);
  later[asked->reorder] = 0;
  if (frame.of->family == Family::Dist_graph_create_adjacent) {
    const Neighbourhood mine(found->told[std::size_t(found->rank)]);
    const auto give = [&](Argument count, std::span<const int> ranks, std::span<const int> weights) {
      later[count] = to_bits(int(ranks.size()));
      later[Argument(count + 1)] = to_bits(ranks.data());
      // All ranks give weights, or none does; those of no edges may have an address of their own.
      if (frame.pointer<const int>(Argument(count + 2)) != no_weights<Abi>()[0])
        later[Argument(count + 2)] = to_bits(ranks.empty() ? no_weights<Abi>()[1] : weights.data());
    };
    give(1, mine.sources, mine.source_weights);
    give(4, mine.destinations, mine.destination_weights);
  }
  const int code = later.call();
  (void)free(&ordered);
  here.reporting.count(call, 0, "in another order", began);
  here.reporting.explain_way(
      frame.of->name, 0, "in another order",
      fmt::format(": {:.0f} % less bytes × links", 100 * (1 - found->order.after / found->order.before)));
  return code;
}

}  // namespace sennit::shim::mpi::wrappers
