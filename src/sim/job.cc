#include "sim/job.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::sim {

using coll::Operation;

Result<Job> Job::create(const std::vector<int>& sockets, std::uint64_t scratch_bytes, unsigned most_blocks) {
  const auto size = static_cast<int>(sockets.size());
  if (size < 2 || size > coll::kMostRanks)
    return Status(Code::invalid_argument, fmt::format("{} ranks", size), {},
                  fmt::format("Use 2 to {}", coll::kMostRanks));
  const coll::Shape shape = coll::Shape::of(scratch_bytes, size);
  if (shape.slot(coll::Layout::mesh) == 0)
    return Status(Code::invalid_argument, format_bytes(scratch_bytes) + " of scratch are too few", {},
                  "Use the default of SENNIT_SCRATCH, 64 MiB");
  Job job(size, most_blocks);
  job.counts_.resize(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    job.executors_.push_back(std::make_unique<device::TraceExecutor>(job.recorder_, rank));
    auto lane = job.executors_.back()->lane(0);
    if (!lane) return lane.status();
    job.lanes_.push_back(std::move(*lane));
    auto scratch = job.executors_.back()->reserve("scratch", shape.bytes());
    if (!scratch) return scratch.status();
    job.scratch_.push_back(std::move(*scratch));
    auto& counts = job.counts_[static_cast<std::size_t>(rank)];
    counts.resize(coll::kMostBlocks);
    coll::Team team;
    team.rank = rank;
    team.size = size;
    team.shape = shape;
    team.counts = counts.data();
    job.teams_.push_back(team);
  }
  for (coll::Team& team : job.teams_)
    for (std::size_t rank = 0; rank < sockets.size(); ++rank) {
      team.scratch[rank] = job.scratch_[rank].data();
      team.leader[rank] = static_cast<std::int8_t>(std::ranges::find(sockets, sockets[rank]) - sockets.begin());
    }
  for (int rank = 0; rank < size; ++rank) {
    auto engines = coll::CopyEngines::create(*job.executors_[static_cast<std::size_t>(rank)], 0, job.team(rank));
    if (!engines) return engines.status();
    job.engines_.push_back(std::move(*engines));
  }
  job.recorder_->forget_steps();
  return job;
}

bool Job::admits(const Collective& what) const {
  // See coll::Windows::reach.
  if (needs_windows(what.plan.algorithm) && what.operation == Operation::all_to_all && what.in_place) return false;
  if ((what.operation == Operation::all_to_all_v || what.operation == Operation::sendrecv) && what.in_place)
    return false;
  if (what.bytes == 0 && what.operation != Operation::all_to_all_v && what.operation != Operation::barrier)
    return false;  // no rank would launch anything
  return what.bytes <= coll::most_bytes(what.operation, what.plan, team(0));
}

std::uint64_t Job::length(const Collective& what, int from, int to) {
  return what.uneven ? what.bytes * static_cast<unsigned>((from + 2 * to) % 4) / 3 / 4 * 4 : what.bytes;
}

Result<Job::Buffers> Job::make_buffers(const Collective& what, int rank) {
  auto& executor = *executors_[static_cast<std::size_t>(rank)];
  const auto each = [&](bool all) { return what.bytes * (all ? team(0).ranks() : 1); };
  const std::uint64_t in = each(scatters(what.operation)), out = each(gathers(what.operation));
  const std::uint64_t own = static_cast<unsigned>(rank) * what.bytes;
  const bool gives = coll::gives(what.operation, rank == what.root);
  const bool takes = coll::takes(what.operation, rank == what.root);
  Buffers buffers;
  if (gives || (takes && what.in_place)) {
    auto made = executor.reserve(what.in_place ? "buffer" : "input", what.in_place ? std::max(in, out) : in);
    if (!made) return made.status();
    buffers.input = std::move(*made);
  }
  if (takes && !what.in_place) {
    auto made = executor.reserve("output", out);
    if (!made) return made.status();
    buffers.output = std::move(*made);
  }
  if (what.operation == Operation::barrier) {
    auto made = executor.reserve("mark", 4);
    if (!made) return made.status();
    buffers.mark = std::move(*made);
  }
  const bool to_itself = gathers(what.operation) == scatters(what.operation) || !what.in_place;
  if (gives) buffers.from = buffers.input.data() + (to_itself || scatters(what.operation) ? 0 : own);
  if (takes)
    buffers.to =
        (what.in_place ? buffers.input : buffers.output).data() + (to_itself || gathers(what.operation) ? 0 : own);
  return buffers;
}

Status Job::call(const Collective& what) {
  const auto first = buffers_.size();
  std::vector<const Buffers*> buffers;
  for (int rank = 0; rank < ranks(); ++rank) {
    auto made = make_buffers(what, rank);
    if (!made) return made.status();
    buffers_.push_back(std::make_unique<Buffers>(std::move(*made)));
  }
  for (int rank = 0; rank < ranks(); ++rank) buffers.push_back(buffers_[first + static_cast<unsigned>(rank)].get());

  for (int rank = 0; rank < ranks(); ++rank) {
    const Buffers& own = *buffers[static_cast<std::size_t>(rank)];
    begin(what, rank, own);
    coll::Call call{what.operation, own.from, own.to, what.bytes, what.root, what.reduction, {}};
    call.reduction.ranks = static_cast<unsigned>(ranks());
    call.reach.emplace();
    for (int peer = 0; peer < ranks(); ++peer) {
      call.reach->input[peer] = buffers[static_cast<std::size_t>(peer)]->from;
      call.reach->output[peer] = buffers[static_cast<std::size_t>(peer)]->to;
    }
    if (what.operation == Operation::all_to_all_v) {
      call.bytes = 0;
      for (int peer = 0; peer < ranks(); ++peer) {
        const std::uint64_t place = static_cast<unsigned>(peer) * what.bytes;
        call.messages.with[peer] = {own.from + place, length(what, rank, peer), own.to + place,
                                    length(what, peer, rank)};
      }
    }
    const auto index = static_cast<std::size_t>(rank);
    if (auto status = coll::launch(what.plan, call, teams_[index], engines_[index].get(), *lanes_[index]); !status)
      return status;
    end(what, rank, buffers);
  }
  promise(what, buffers);
  return {};
}

void Job::begin(const Collective& what, int rank, const Buffers& own) {
  if (own.mark.bytes() != 0) recorder_->add_fill(lane_of(rank), own.mark.data(), own.mark.bytes());
  if (coll::gives(what.operation, rank == what.root) && own.input.bytes() != 0)
    recorder_->add_fill(lane_of(rank), own.input.data(), own.input.bytes());
}

/// Behind a call its rank has what it wanted, and may do with its input what it likes; behind a barrier it sees what
/// all had done before.
void Job::end(const Collective& what, int rank, std::span<const Buffers* const> buffers) {
  const Buffers& own = *buffers[static_cast<std::size_t>(rank)];
  if (what.operation == Operation::barrier)
    for (const Buffers* each : buffers) recorder_->add_read(lane_of(rank), each->mark.data(), each->mark.bytes());
  if (!coll::takes(what.operation, rank == what.root)) return;
  const bool uneven = what.operation == Operation::all_to_all_v && what.uneven;  // has holes
  if (what.bytes != 0 && !uneven)
    recorder_->add_read(lane_of(rank), own.to, what.bytes * (coll::gathers(what.operation) ? team(0).ranks() : 1));
  if (!what.in_place && own.input.bytes() != 0)
    recorder_->add_fill(lane_of(rank), own.input.data(), own.input.bytes());
}

/// Whose message is that of place `from` in the output of `rank`.
int Job::giver_of(const Collective& what, int rank, int from) const {
  if (what.operation == Operation::sendrecv) return (rank + ranks() - 1) % ranks();
  return coll::gathers(what.operation) ? from : what.root;
}

void Job::promise(const Collective& what, std::span<const Buffers* const> buffers) {
  const auto place_of = [&](const std::byte* data) { return recorder_->place(data); };
  const auto own = [&](int rank) { return static_cast<unsigned>(rank) * what.bytes; };
  const bool sums = coll::reduces(what.operation);
  const int same = what.operation == Operation::allreduce ? static_cast<int>(promises_.size()) : -1;
  for (int rank = 0; rank < ranks(); ++rank) {
    if (!coll::takes(what.operation, rank == what.root)) continue;
    const std::byte* const to = buffers[static_cast<std::size_t>(rank)]->to;
    for (int from = 0; from < (coll::gathers(what.operation) ? ranks() : 1); ++from) {
      Promise promise;
      promise.bytes = what.operation == Operation::all_to_all_v ? length(what, from, rank) : what.bytes;
      promise.result = place_of(to + own(from));
      const std::uint64_t offset = coll::scatters(what.operation) ? own(rank) : 0;
      for (int giver = 0; giver < ranks(); ++giver)
        if (sums || giver == giver_of(what, rank, from))
          promise.sources.push_back(place_of(buffers[static_cast<std::size_t>(giver)]->from + offset));
      promise.same_bits = same;
      promises_.push_back(std::move(promise));
    }
  }
}

}  // namespace sennit::sim
