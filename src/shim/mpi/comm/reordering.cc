#include "shim/mpi/comm/reordering.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "base/environment.h"
#include "comm/job_place.h"
#include "shim/mpi/comm/fixed_text.h"

namespace sennit::shim::mpi {

namespace {

constexpr std::size_t kName = 128;  // limit: of a node's name; what is longer is cut alike on all its ranks

/// What ranks tell each other first, as bytes.
struct Place {
  std::array<char, kName> node{};
  std::array<char, 48> gpu{};
  int local = 0;
  int told = 0;  ///< numbers of its neighbours
};

/// Collective: the numbers of all ranks; no value where MPI fails.
std::optional<ToldByRank> gather(const Mpi& mpi, Handle comm, const std::vector<int>& mine,
                                 const std::vector<Place>& places) {
  std::vector<int> lengths, begins;
  std::size_t sum = 0;
  for (const Place& each : places) {
    begins.push_back(int(sum * sizeof(int)));
    lengths.push_back(int(std::size_t(each.told) * sizeof(int)));
    sum += std::size_t(each.told);
  }
  std::vector<int> all(std::max<std::size_t>(1, sum));
  const int bytes = int(mine.size() * sizeof(int));
  if (sum > 0 && mpi.all_gather(comm, mine.data(), bytes, all.data(), lengths, begins) != 0) return std::nullopt;
  ToldByRank told;
  auto at = all.begin();
  for (const Place& each : places) {
    told.emplace_back(at, at + each.told);
    at += each.told;
  }
  return told;
}

/// Rank 0's: the order, or the ranks as they are.
place::Order solve(const ToldByRank& told, const std::vector<Place>& places, const TrafficOf& traffic,
                   const std::function<std::optional<machine::Machine>()>& machine) {
  place::Order same;
  same.process.resize(places.size());
  std::iota(same.process.begin(), same.process.end(), 0);
  const auto sent = traffic(told, int(places.size()));
  if (!sent) return same;
  std::vector<place::Process> processes;
  for (const Place& each : places) processes.push_back({each.node.data(), each.gpu.data(), each.local});
  const auto known = machine();
  auto found = place::reorder(*sent, processes, known ? &*known : nullptr);
  return found ? std::move(*found) : same;
}

}  // namespace

place::Process own_process() {
  place::Process process;
  std::array<char, kName> host{};
  (void)gethostname(host.data(), host.size() - 1);
  process.node = environment("SENNIT_NODE") + "/" + host.data();
  // Of one whose launcher says nothing, no GPU is known.
  const auto place = comm::place_from(comm::own_environment());
  process.local = place ? place->local_rank : -1;
  return process;
}

std::optional<Reordered> reorder(const Mpi& mpi, Handle comm, const std::vector<int>& told, const TrafficOf& traffic,
                                 const std::function<std::optional<machine::Machine>()>& machine) {
  CommShape shape;
  if (mpi.shape(comm, shape) != 0 || shape.inter || shape.size < 3 || shape.size > place::kMostReordered)
    return std::nullopt;
  // Ranks of another job may know nothing of this: each rank sees that there are some.
  std::vector<int> ranks;
  if (mpi.all_world_ranks(comm, ranks) != 0 || std::ranges::any_of(ranks, [](int rank) { return rank < 0; }))
    return std::nullopt;
  const place::Process own = own_process();
  Place mine;
  put_text(own.node, mine.node);
  put_text(own.gpu, mine.gpu);
  mine.local = own.local;
  mine.told = int(told.size());
  std::vector<Place> places(std::size_t(shape.size));
  if (mpi.all_gather(comm, &mine, places.data(), sizeof mine) != 0) return std::nullopt;
  auto all = gather(mpi, comm, told, places);
  if (!all) return std::nullopt;
  struct {
    std::array<int, place::kMostReordered> process;
    double before, after;
  } said{};
  if (shape.rank == 0) {
    const place::Order order = solve(*all, places, traffic, machine);
    std::ranges::copy(order.process, said.process.begin());
    said.before = order.before;
    said.after = order.after;
  }
  if (mpi.broadcast(comm, &said, sizeof said, 0) != 0 || said.after >= said.before) return std::nullopt;
  Reordered found;
  found.order = {{said.process.begin(), said.process.begin() + shape.size}, said.before, said.after};
  found.rank = int(std::ranges::find(found.order.process, shape.rank) - found.order.process.begin());
  found.told = std::move(*all);
  return found;
}

}  // namespace sennit::shim::mpi
