#include "coll/allreduce.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.h"
#include "coll/allreduce_copy_engines.h"
#include "coll/allreduce_hierarchical.h"
#include "coll/allreduce_linear.h"
#include "coll/allreduce_one_shot_packets.h"
#include "coll/allreduce_recursive_doubling.h"
#include "coll/allreduce_reduce_scatter_allgather.h"
#include "coll/allreduce_ring.h"
#include "coll/allreduce_two_shot.h"
#include "coll/allreduce_two_shot_packets.h"
#include "device/launch.h"

namespace sennit::coll {

namespace {

constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

std::uint64_t unlimited(const Team&, unsigned) {
  return kUnlimited;
}
std::uint64_t one_shot_packets(const Team& team, unsigned blocks) {
  return packet_room(static_cast<unsigned>(team.size)) * blocks;
}
std::uint64_t two_shot_packets(const Team& team, unsigned blocks) {
  const auto ranks = static_cast<unsigned>(team.size);
  return packet_room(2 * ranks) * blocks * ranks;
}
/// A plain ring passes each rank's slice on as a whole.
std::uint64_t one_segment(const Team& team, unsigned blocks) {
  return AllreduceRing::segment_bytes(team) * blocks;
}

template <class Program>
const device::Program& program() {
  return device::program_of<Program>();
}
template <class Program>
Status start(const AllreducePlan& plan, const AllreduceCall& call, const Team& team, CopyEngines*,
             device::Lane& lane) {
  return device::launch(lane, Program{call, team}, plan.blocks, plan.threads);
}
Status start_copy_engines(const AllreducePlan& plan, const AllreduceCall& call, const Team&, CopyEngines* engines,
                          device::Lane& lane) {
  if (engines == nullptr) return Status(Code::invalid_argument, "copy_engines needs lanes for its copies");
  return engines->run(call, lane, plan.blocks);
}

/// One line an algorithm.
struct Entry {
  std::string_view name;
  std::uint64_t (*most_bytes)(const Team&, unsigned blocks);
  const device::Program& (*program)();
  Status (*start)(const AllreducePlan&, const AllreduceCall&, const Team&, CopyEngines*, device::Lane&);
};
template <class Program>
constexpr Entry entry(std::string_view name, std::uint64_t (*most)(const Team&, unsigned)) {
  return {name, most, &program<Program>, &start<Program>};
}

// In the order of the enumeration.
constexpr std::array kEntries{
    entry<AllreduceOneShotPackets>("one_shot_packets", one_shot_packets),
    entry<AllreduceTwoShotPackets>("two_shot_packets", two_shot_packets),
    entry<AllreduceTwoShot>("two_shot", unlimited),
    entry<AllreduceLinear>("linear", unlimited),
    entry<AllreduceRecursiveDoubling>("recursive_doubling", unlimited),
    entry<AllreduceRing>("ring", one_segment),
    entry<AllreduceRing>("segmented_ring", unlimited),
    entry<AllreduceReduceScatterAllgather>("reduce_scatter_allgather", unlimited),
    entry<AllreduceHierarchical>("hierarchical", unlimited),
    Entry{"copy_engines", CopyEngines::most_bytes, &program<EngineReduce>, &start_copy_engines},
};
constexpr auto kAlgorithms = [] {
  std::array<Allreduce, kEntries.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Allreduce>(i);
  return all;
}();
static_assert(kAlgorithms.back() == Allreduce::copy_engines, "an entry for each algorithm");

const Entry& entry_of(Allreduce algorithm) {
  return kEntries[static_cast<std::size_t>(algorithm)];
}

}  // namespace

std::string_view name(Allreduce algorithm) {
  return entry_of(algorithm).name;
}

std::span<const Allreduce> all_allreduce_algorithms() {
  return kAlgorithms;
}

Result<Allreduce> parse_allreduce(std::string_view text) {
  std::vector<std::string_view> names;
  for (const Allreduce algorithm : kAlgorithms) {
    if (name(algorithm) == text) return algorithm;
    names.push_back(name(algorithm));
  }
  return Status(Code::invalid_argument, fmt::format("there is no allreduce algorithm \"{}\"", text), {},
                fmt::format("Use one of {}", fmt::join(names, ", ")));
}

std::uint64_t most_bytes(Allreduce algorithm, const Team& team, unsigned blocks) {
  return entry_of(algorithm).most_bytes(team, blocks);
}

Status launch(const AllreducePlan& plan, const AllreduceCall& call, const Team& team, CopyEngines* engines,
              device::Lane& lane) {
  if (plan.blocks == 0 || plan.blocks > kMostBlocks)
    return Status(Code::invalid_argument, fmt::format("{} blocks", plan.blocks), {},
                  fmt::format("Use 1 to {}", kMostBlocks));
  if (const auto most = most_bytes(plan.algorithm, team, plan.blocks); call.bytes > most)
    return Status(Code::invalid_argument,
                  fmt::format("{} reduces at most {} at a time with {} blocks, not {}", name(plan.algorithm),
                              format_bytes(most), plan.blocks, format_bytes(call.bytes)),
                  {}, "Use more blocks, or another algorithm");
  return entry_of(plan.algorithm).start(plan, call, team, engines, lane);
}

Status load_allreduce(device::Executor& executor, int device) {
  for (const Entry& each : kEntries)
    if (auto status = executor.load(each.program(), device); !status) return status;
  return {};
}

}  // namespace sennit::coll
