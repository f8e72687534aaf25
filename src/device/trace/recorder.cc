#include "device/trace/recorder.h"

#include <algorithm>
#include <utility>

namespace sennit::device {

void Recorder::add(const void* base, Region region) {
  regions_[static_cast<const std::byte*>(base)] = static_cast<std::uint32_t>(recording_.regions.size());
  recording_.regions.push_back(std::move(region));
}

std::uint32_t Recorder::add_lane(int rank) {
  const auto index = static_cast<std::uint32_t>(recording_.strands.size());
  recording_.strands.push_back({rank, index, -1, {}, {}});
  return index;
}

const Launch& Recorder::add_launch(std::uint32_t lane, const Program& program, unsigned blocks, unsigned threads) {
  next_group(lane);
  add(lane, Act::launch).subject = static_cast<std::uint32_t>(recording_.launches.size());
  const auto first = static_cast<std::uint32_t>(recording_.strands.size());
  const unsigned recorded = std::min(blocks, most_blocks_);
  recording_.launches.push_back({program.name, first, recorded, blocks, threads, program.early});
  for (unsigned block = 0; block < recorded; ++block)
    recording_.strands.push_back({recording_.strands[lane].rank, lane, static_cast<int>(block), {}, {}});
  return recording_.launches.back();
}

std::uint32_t Recorder::add_spare() {
  recording_.strands.emplace_back();
  return static_cast<std::uint32_t>(recording_.strands.size() - 1);
}
std::uint64_t Recorder::drop_spare() {
  const std::uint64_t bytes = moved(recording_.strands.back());
  recording_.strands.pop_back();
  return bytes;
}
std::uint64_t Recorder::moved(const Strand& strand) {
  std::uint64_t bytes = 0;
  for (const Step& step : strand.steps)
    if (step.act == Act::move) bytes += step.bytes;
  return bytes;
}

Step& Recorder::add(std::uint32_t strand, Act act) {
  Strand& to = recording_.strands[strand];
  Step& step = to.steps.emplace_back();
  step.act = act;
  step.group = group_of(strand);
  step.ends = static_cast<std::uint32_t>(to.ends.size());
  return step;
}

void Recorder::add_source(std::uint32_t strand, const void* address, bool packets) {
  Strand& to = recording_.strands[strand];
  ++to.steps.back().sources;
  to.ends.push_back(end_at(address, packets));
}

void Recorder::add_destination(std::uint32_t strand, const void* address, bool packets) {
  Strand& to = recording_.strands[strand];
  ++to.steps.back().destinations;
  to.ends.push_back(end_at(address, packets));
}

void Recorder::add_fill(std::uint32_t lane, const void* address, std::uint64_t bytes) {
  next_group(lane);
  add(lane, Act::move).bytes = bytes;
  add_destination(lane, address);
}

void Recorder::add_read(std::uint32_t lane, const void* address, std::uint64_t bytes) {
  next_group(lane);
  add(lane, Act::move).bytes = bytes;
  add_source(lane, address);
}

void Recorder::forget_steps() {
  recording_.launches.clear();
  std::erase_if(recording_.strands, [](const Strand& strand) { return strand.block >= 0; });
  for (Strand& lane : recording_.strands) lane.steps.clear(), lane.ends.clear();
}

End Recorder::end_at(const void* address, bool packets) const {
  const auto* const at = static_cast<const std::byte*>(address);
  const auto next = regions_.upper_bound(at);
  if (next != regions_.begin()) {
    const auto& [base, index] = *std::prev(next);
    const auto offset = static_cast<std::uint64_t>(at - base);
    if (offset <= recording_.regions[index].bytes) return {index, offset, packets};
  }
  return {kNowhere, reinterpret_cast<std::uintptr_t>(address), packets};
}

}  // namespace sennit::device
