#include "shim/mpi/comm/map_look.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "shim/map_check.h"
#include "shim/mpi/comm/fixed_text.h"

namespace sennit::shim::mpi {

namespace {

/// A rank tells the others this, as bytes; limits of the texts, which are cut alike on all ranks of a host.
struct GpuTold {
  std::array<char, 64> host{};
  std::array<char, 48> used{}, asked{};
};

std::string gpu_of(stage::PointerCache& memories) {
  const int device = memories.first_device();
  if (device < 0) return {};
  const auto executor = memories.executor();
  if (!executor || std::size_t(device) >= (*executor)->devices().size()) return {};
  return (*executor)->devices()[std::size_t(device)].uuid;
}

}  // namespace

void look_at_map(const Mpi& mpi, stage::PointerCache& memories) {
  CommShape world;
  if (mpi.shape(mpi.comm_world(), world) != 0) return;
  GpuTold mine;
  (void)gethostname(mine.host.data(), mine.host.size() - 1);
  put_text(gpu_of(memories), mine.used);
  std::vector<GpuTold> all(std::size_t(world.size));
  if (mpi.all_gather(mpi.comm_world(), &mine, all.data(), sizeof mine) != 0) return;
  // Only now each rank knows which it is of its host, and so what its host's map asks of it.
  const auto local = std::ranges::count(all.begin(), all.begin() + world.rank, mine.host, &GpuTold::host);
  const auto asked = asked_gpus();
  if (std::size_t(local) < asked.size()) put_text(asked[std::size_t(local)], mine.asked);
  if (mpi.all_gather(mpi.comm_world(), &mine, all.data(), sizeof mine) != 0 || world.rank != 0) return;
  std::vector<GpuOfRank> ranks;
  for (const GpuTold& each : all) ranks.push_back({each.asked.data(), each.used.data()});
  std::fprintf(stderr, "sennit: %s\n", judge_map(ranks, "gave MPI no GPU memory").c_str());
}

}  // namespace sennit::shim::mpi
