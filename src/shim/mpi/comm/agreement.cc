#include "shim/mpi/comm/agreement.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include <fmt/format.h>

namespace sennit::shim::mpi {

namespace {

/// The introduction has one size in all builds.
struct Introduction {
  char what[16] = "sennit drop-in";
  char build[44] = {};
  std::uint32_t flags = 0;
};
constexpr std::uint32_t kPossible = 1, kReorder = 2, kMap = 4;
static_assert(sizeof(Introduction) == 64);

constexpr char kRemedy[] =
    "LD_PRELOAD has to reach every rank, on every host, and lead to the same build of sennit (docs/use/mpi.md); "
    "SENNIT_TIMEOUT gives late ranks longer";

/// MPI works on these buffers: as long as the process lives, where a call does not end.
struct Introducing {
  Introduction mine;
  std::vector<Introduction> all;
};

void keep_begun(std::unique_ptr<Introducing> introducing) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<Introducing>>();
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(introducing));
}

Result<std::vector<Introduction>> introduce(const Mpi& mpi, const CommShape& world, const Introduction& mine,
                                            comm::Clock::duration limit) {
  auto introducing = std::make_unique<Introducing>();
  introducing->mine = mine;
  introducing->all.resize(static_cast<std::size_t>(world.size));
  Handle request = 0;
  int code =
      mpi.begin_all_gather(mpi.comm_world(), &introducing->mine, introducing->all.data(), sizeof mine, request);
  const auto deadline = comm::Deadline::after(limit);
  for (bool done = false; code == 0 && !done;) {
    code = mpi.done_quietly(mpi.comm_world(), request, done);
    if (done || code != 0) break;
    if (deadline.passed()) {
      keep_begun(std::move(introducing));
      return Status(Code::timed_out, fmt::format("not all ranks answered within {} s", deadline.seconds()),
                    "MPI_Init", kRemedy);
    }
    sched_yield();
  }
  if (code != 0) return Status(Code::system_error, fmt::format("MPI_Iallgather returned error {}", code), "MPI_Init");
  return std::move(introducing->all);
}

std::string text_of(const Introduction& introduction) {
  return {introduction.build, strnlen(introduction.build, sizeof introduction.build)};
}

/// Checks the introductions of all ranks; every rank gets an equal result.
Status judge(const std::vector<Introduction>& introductions) {
  const Introduction empty;
  for (std::size_t rank = 0; rank < introductions.size(); ++rank) {
    // A message of the program, from a rank that has no drop-in, may have come instead of an introduction.
    if (std::memcmp(introductions[rank].what, empty.what, sizeof empty.what) != 0)
      return Status(Code::peer_lost, fmt::format("rank {} has no drop-in", rank), "MPI_Init", kRemedy);
    if (std::memcmp(introductions[rank].build, introductions[0].build, sizeof empty.build) != 0)
      return Status(Code::mismatch,
                    fmt::format("rank 0 has sennit {}, rank {} another build, {}", text_of(introductions[0]), rank,
                                text_of(introductions[rank])),
                    "MPI_Init", kRemedy);
  }
  return {};
}

}  // namespace

Result<bool> agree(const Mpi& mpi, const CommShape& world, std::string_view build, bool possible,
                   comm::Clock::duration limit, Requested* requested) {
  Introduction mine;
  build.copy(mine.build, sizeof mine.build - 1);
  const Requested own = requested != nullptr ? *requested : Requested();
  mine.flags = (possible ? kPossible : 0) | (own.reorder ? kReorder : 0) | (own.map ? kMap : 0);
  auto introductions = introduce(mpi, world, mine, limit);
  if (!introductions) return introductions.status();
  if (auto status = judge(*introductions); !status) return status;  // every rank that has them all sees the same
  if (auto confirmed = introduce(mpi, world, mine, limit); !confirmed) return confirmed.status();
  const auto has = [](std::uint32_t flag) {
    return [flag](const Introduction& each) { return (each.flags & flag) != 0; };
  };
  if (requested != nullptr)
    *requested = {std::ranges::all_of(*introductions, has(kReorder)), std::ranges::all_of(*introductions, has(kMap))};
  return std::ranges::any_of(*introductions, has(kPossible));
}

}  // namespace sennit::shim::mpi
