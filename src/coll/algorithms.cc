#include "coll/algorithms.h"

#include <array>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.h"
#include "coll/message.h"
#include "coll/programs.h"
#include "device/launch.h"

namespace sennit::coll {

namespace {

constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

/// Holds what a launch needs to know.
struct Start {
  const Plan& plan;
  const Call& call;
  const Team& team;
  CopyEngines* engines;
  device::Lane& lane;

  template <class Program>
  Status launch(const Program& program) const {
    return device::launch(lane, program, plan.blocks, plan.threads);
  }
};

// Admission.
std::uint64_t unlimited(const Team&, unsigned) {
  return kUnlimited;
}
/// Returns the room for packets of every peer at the same time.
std::uint64_t packets_of_all(const Team& team, unsigned blocks) {
  return packet_room(static_cast<unsigned>(team.size - 1)) * blocks;
}
std::uint64_t packets_of_slices(const Team& team, unsigned blocks) {
  const auto ranks = static_cast<unsigned>(team.size);
  return device::in_units(packet_room(2 * (ranks - 1)) * blocks) * ranks;
}
/// Returns the room for each block's part of a message, in one slot.
std::uint64_t one_slot(const Team& team, unsigned blocks) {
  return device::in_units(team.shape.shared_slot(blocks, team.peers())) * blocks;
}
/// Returns the room for each block's part of every rank's slice, each in one slot.
std::uint64_t one_slot_of_slices(const Team& team, unsigned blocks) {
  return one_slot(team, blocks) * team.ranks();
}
/// A plain ring passes each rank's slice on as a whole.
std::uint64_t one_segment(const Team& team, unsigned blocks) {
  return AllreduceRing::segment_bytes(team) * blocks;
}

// Launches.
/// Programs whose ranks have slices of the message say how many.
template <class Program>
Partition partition_for(const Start& start) {
  unsigned slices = 1;
  if constexpr (requires { Program::slices(0); }) slices = Program::slices(start.team.size);
  return Partition::of(start.call.bytes, slices, start.plan.blocks);
}
template <class Program, Way... way>
Status start_reduction(const Start& start) {
  const Call& call = start.call;
  const int root = call.operation == Operation::reduce ? call.root : kEveryRank;
  return start.launch(
      Program{{call.input, call.output, call.bytes, call.reduction, root, partition_for<Program>(start)},
              start.team,
              way...});
}
Status no_engines(const Start& start) {
  return Status(Code::invalid_argument, fmt::format("{} needs lanes for its copies", name(start.plan.algorithm)));
}
Status start_copy_engines(const Start& start) {
  if (start.engines == nullptr) return no_engines(start);
  const Call& call = start.call;
  return start.engines->run({call.input, call.output, call.bytes, call.reduction, kEveryRank, {}}, start.lane,
                            start.plan.blocks);
}
/// A reduce-scatter has a slice for every rank side by side; of an allreduce in one shot all are the same.
Partition partition_for_every_rank(const Start& start) {
  Partition partition = Partition::of(start.call.bytes, 1, start.plan.blocks);
  partition.apart = start.call.operation == Operation::reduce_scatter ? start.call.bytes : 0;
  return partition;
}
template <Way... way>
Status start_reduce_direct(const Start& start) {
  const Call& call = start.call;
  const bool scatters = call.operation == Operation::reduce_scatter;
  const Partition partition = partition_for_every_rank(start);
  const std::uint64_t all = scatters ? call.bytes * start.team.ranks() : call.bytes;
  return start.launch(ReduceScatterDirect{{call.input, call.output, all, call.reduction, kEveryRank, partition},
                                          start.team,
                                          partition.apart * static_cast<unsigned>(start.team.rank),
                                          way...});
}
/// Starts a direct reduction whose blocks send all at once.
Status start_reduce_whole(const Start& start) {
  const Call& call = start.call;
  return start.launch(ReduceScatterWhole{
      {call.input, call.output, call.bytes, call.reduction, kEveryRank, partition_for_every_rank(start)},
      start.team});
}
Status start_two_shot_windows(const Start& start) {
  const Call& call = start.call;
  return start.launch(AllreduceTwoShotWindows{{call.input, call.output, call.bytes, call.reduction, kEveryRank,
                                               partition_for<AllreduceTwoShotWindows>(start)},
                                              start.team,
                                              *call.reach});
}
Status start_allreduce_engines_windows(const Start& start) {
  if (start.engines == nullptr) return no_engines(start);
  const Call& call = start.call;
  const Partition partition = Partition::of(call.bytes, start.team.ranks(), start.plan.blocks);
  const auto slice = device::part_at(call.bytes, partition.slice, static_cast<unsigned>(start.team.rank));
  std::array<WindowMessage, kMostRanks> messages{};
  for (unsigned rank = 0; rank < start.team.ranks(); ++rank)
    messages[rank] = {call.output + slice.begin, call.reach->output[rank] + slice.begin, slice.bytes()};
  return start.engines->exchange(messages, start.lane, [&] {
    return start.launch(ReduceScatterDirect{
        {call.input, call.output, call.bytes, call.reduction, kEveryRank, partition}, start.team, 0});
  });
}
// Returns where this rank's message goes in `rank`'s window, for operations whose every rank gets a message from
// each, side by side.
std::byte* place_at(const Start& start, unsigned rank) {
  return start.call.reach->output[rank] + static_cast<unsigned>(start.team.rank) * start.call.bytes;
}
Exchange exchange_for(const Start& start) {
  const Call& call = start.call;
  return exchange_of(call.operation, call.input, call.output, call.bytes, call.root, start.team.rank,
                     start.team.size);
}
Status start_exchange_windows(const Start& start) {
  ExchangeWindows program{exchange_for(start), start.team, {}};
  program.exchange.cut(start.plan.blocks);
  for (unsigned rank = 0; rank < start.team.ranks(); ++rank) program.to[rank] = place_at(start, rank);
  return start.launch(program);
}
Status start_exchange_engines_windows(const Start& start) {
  if (start.engines == nullptr) return no_engines(start);
  const Exchange exchange = exchange_for(start);
  std::array<WindowMessage, kMostRanks> messages{};
  for (unsigned rank = 0; rank < start.team.ranks(); ++rank)
    messages[rank] = {exchange.with[rank].from, place_at(start, rank), start.call.bytes};
  return start.engines->exchange(messages, start.lane);
}
template <class Program, Way... way>
Status start_exchange(const Start& start) {
  Exchange exchange = exchange_for(start);
  exchange.cut(start.plan.blocks);
  return start.launch(Program{exchange, start.team, way...});
}
/// Only the two ranks of a message know how long it is: how they are cut depends on that alone. All launch the same
/// blocks, though some may have nothing to do: see links.h.
template <Way... way>
Status start_all_to_all_v(const Start& start) {
  constexpr std::uint64_t kLeast = 4 * KiB;  // a default
  Exchange exchange = start.call.messages;
  exchange.cut(start.plan.blocks, kLeast);
  return start.launch(ExchangeDirect{exchange, start.team, way...});
}
Status start_sendrecv(const Start& start) {
  const auto& [operation, input, output, bytes, root, reduction, exchange, reach] = start.call;
  const Plan& plan = start.plan;
  // The input is only read.
  const std::array messages{
      Message{start.team.after(1), true, const_cast<std::byte*>(input), bytes, plan.blocks, plan.threads},
      Message{start.team.after(start.team.size - 1), false, output, bytes, plan.blocks, plan.threads}};
  return send_receive(messages, start.team, {}, start.lane);
}
Status start_allgather_ring(const Start& start) {
  return start.launch(AllgatherRing{start.call.input, start.call.output, start.call.bytes,
                                    partition_for<AllgatherRing>(start), start.team});
}
template <class Program>
BroadcastCall broadcast_of(const Start& start) {
  const Call& call = start.call;
  return {call.input, call.output, call.bytes, call.root, partition_for<Program>(start)};
}
template <int kFanOut, bool kKnomial = false>
Status start_tree(const Start& start) {
  return start.launch(BroadcastTree{broadcast_of<BroadcastTree>(start), start.team, kFanOut, kKnomial});
}
Status start_scatter_allgather(const Start& start) {
  return start.launch(BroadcastScatterAllgather{broadcast_of<BroadcastScatterAllgather>(start), start.team});
}
template <class Program>
Status start_barrier(const Start& start) {
  return start.launch(Program{start.team});
}

/// One line an algorithm of an operation.
struct Entry {
  Operation operation;
  Algorithm algorithm;
  std::uint64_t (*most_bytes)(const Team&, unsigned blocks);
  const device::Program& (*program)();
  Status (*start)(const Start&);
};
template <class Program>
constexpr auto of = &device::program_of<Program>;

// `way`: for programs that have one, where it is not their default.
template <class Program, Way... way>
constexpr Entry reduction(Operation operation, Algorithm algorithm,
                          std::uint64_t (*most)(const Team&, unsigned) = &unlimited) {
  return {operation, algorithm, most, of<Program>, &start_reduction<Program, way...>};
}
template <class Program, Way... way>
constexpr Entry exchange(Operation operation, Algorithm algorithm,
                         std::uint64_t (*most)(const Team&, unsigned) = &unlimited) {
  return {operation, algorithm, most, of<Program>, &start_exchange<Program, way...>};
}

// The first entry of each operation is without limits.
constexpr auto kEntries = [] {
  using enum Operation;
  using enum Algorithm;
  return std::array{
      reduction<AllreduceTwoShot>(allreduce, two_shot),
      reduction<AllreduceTwoShot, Way::pull>(allreduce, two_shot_loads),
      reduction<AllreduceTwoShotWhole>(allreduce, two_shot_whole, &one_slot_of_slices),
      Entry{allreduce, two_shot_windows, &unlimited, of<AllreduceTwoShotWindows>, &start_two_shot_windows},
      Entry{allreduce, one_shot, &unlimited, of<ReduceScatterDirect>, &start_reduce_direct<>},
      Entry{allreduce, one_shot_loads, &unlimited, of<ReduceScatterDirect>, &start_reduce_direct<Way::pull>},
      Entry{allreduce, one_shot_whole, &one_slot, of<ReduceScatterWhole>, &start_reduce_whole},
      reduction<AllreduceOneShotPackets>(allreduce, one_shot_packets, &packets_of_all),
      reduction<AllreduceTwoShotPackets>(allreduce, two_shot_packets, &packets_of_slices),
      reduction<AllreduceLinear>(allreduce, linear),
      reduction<AllreduceRecursiveDoubling>(allreduce, recursive_doubling),
      reduction<AllreduceRing>(allreduce, ring, &one_segment),
      reduction<AllreduceRing>(allreduce, segmented_ring),
      reduction<AllreduceReduceScatterAllgather>(allreduce, reduce_scatter_allgather),
      reduction<AllreduceHierarchical>(allreduce, hierarchical),
      Entry{allreduce, copy_engines, &CopyEngines::most_bytes, of<EngineReduce>, &start_copy_engines},
      Entry{allreduce, copy_engines_windows, &unlimited, of<WindowsEnd>, &start_allreduce_engines_windows},

      Entry{reduce_scatter, direct, &unlimited, of<ReduceScatterDirect>, &start_reduce_direct<>},
      Entry{reduce_scatter, direct_loads, &unlimited, of<ReduceScatterDirect>, &start_reduce_direct<Way::pull>},
      Entry{reduce_scatter, direct_whole, &one_slot, of<ReduceScatterWhole>, &start_reduce_whole},
      reduction<ReduceScatterPackets>(reduce_scatter, packets, &packets_of_all),
      reduction<ReduceScatterRing>(reduce_scatter, ring),

      exchange<ExchangeDirect>(allgather, direct),
      exchange<ExchangeDirect, Way::pull>(allgather, direct_loads),
      exchange<ExchangeWhole>(allgather, direct_whole, &one_slot),
      exchange<ExchangePackets>(allgather, packets, &packets_of_all),
      Entry{allgather, ring, &unlimited, of<AllgatherRing>, &start_allgather_ring},
      Entry{allgather, direct_windows, &unlimited, of<ExchangeWindows>, &start_exchange_windows},
      Entry{allgather, copy_engines_windows, &unlimited, of<WindowsEnd>, &start_exchange_engines_windows},

      reduction<AllreduceTwoShot>(reduce, two_shot),
      reduction<AllreduceOneShotPackets>(reduce, packets, &packets_of_all),
      reduction<AllreduceLinear>(reduce, linear),
      reduction<ReduceChain>(reduce, chain),

      exchange<ExchangeDirect>(broadcast, direct),
      exchange<ExchangePackets>(broadcast, packets, &packets_of_all),
      Entry{broadcast, chain, &unlimited, of<BroadcastTree>, &start_tree<1>},
      Entry{broadcast, tree, &unlimited, of<BroadcastTree>, &start_tree<2>},
      Entry{broadcast, knomial_2, &unlimited, of<BroadcastTree>, &start_tree<2, true>},
      Entry{broadcast, knomial_4, &unlimited, of<BroadcastTree>, &start_tree<4, true>},
      Entry{broadcast, knomial_8, &unlimited, of<BroadcastTree>, &start_tree<8, true>},
      Entry{broadcast, scatter_allgather, &unlimited, of<BroadcastScatterAllgather>, &start_scatter_allgather},

      exchange<ExchangeDirect>(gather, direct),
      exchange<ExchangePackets>(gather, packets, &packets_of_all),
      exchange<ExchangeDirect>(scatter, direct),
      exchange<ExchangePackets>(scatter, packets, &packets_of_all),
      exchange<ExchangeDirect>(all_to_all, direct),
      exchange<ExchangeWhole>(all_to_all, direct_whole, &one_slot),
      exchange<ExchangePackets>(all_to_all, packets, &packets_of_all),
      Entry{all_to_all, direct_windows, &unlimited, of<ExchangeWindows>, &start_exchange_windows},
      Entry{all_to_all, copy_engines_windows, &unlimited, of<WindowsEnd>, &start_exchange_engines_windows},
      Entry{all_to_all_v, direct, &unlimited, of<ExchangeDirect>, &start_all_to_all_v<>},
      Entry{all_to_all_v, direct_loads, &unlimited, of<ExchangeDirect>, &start_all_to_all_v<Way::pull>},

      Entry{sendrecv, direct, &unlimited, of<FewMessages>, &start_sendrecv},

      Entry{barrier, direct, &unlimited, of<BarrierDirect>, &start_barrier<BarrierDirect>},
      Entry{barrier, dissemination, &unlimited, of<BarrierDissemination>, &start_barrier<BarrierDissemination>},
  };
}();

/// Returns the team with slots laid out for the plan's launch.
Team of_launch(const Team& team, const Plan& plan) {
  Team launched = team;
  launched.shape = team.shape.of_launch(plan.blocks, team.size);
  return launched;
}

/// Finds the entry; null: there is no such algorithm.
const Entry* find(Operation operation, Algorithm algorithm) {
  for (const Entry& entry : kEntries)
    if (entry.operation == operation && entry.algorithm == algorithm) return &entry;
  return nullptr;
}

Status unknown(Operation operation, std::string_view algorithm) {
  std::vector<std::string_view> names;
  for (const Algorithm each : algorithms_of(operation)) names.push_back(name(each));
  return Status(Code::invalid_argument, fmt::format("there is no {} algorithm \"{}\"", name(operation), algorithm),
                {}, fmt::format("Use one of {}", fmt::join(names, ", ")));
}

}  // namespace

std::vector<Algorithm> algorithms_of(Operation operation) {
  std::vector<Algorithm> algorithms;
  for (const Entry& entry : kEntries)
    if (entry.operation == operation) algorithms.push_back(entry.algorithm);
  return algorithms;
}

Result<Algorithm> parse_algorithm(Operation operation, std::string_view text) {
  for (const Algorithm algorithm : algorithms_of(operation))
    if (name(algorithm) == text) return algorithm;
  return unknown(operation, text);
}

std::string name(const Plan& plan) {
  return fmt::format("{} {}x{}", name(plan.algorithm), plan.blocks, plan.threads);
}

Result<Plan> parse_plan(Operation operation, std::string_view text) {
  const auto space = text.find(' '), cross = text.find('x', space);
  Plan plan;
  const auto read = [&](std::size_t from, std::size_t to, unsigned& into) {
    const char* const end = text.data() + to;
    const auto [at, error] = std::from_chars(text.data() + from, end, into);
    return error == std::errc() && at == end;
  };
  if (space == std::string_view::npos || cross == std::string_view::npos || !read(space + 1, cross, plan.blocks) ||
      !read(cross + 1, text.size(), plan.threads))
    return Status(Code::invalid_argument, fmt::format("'{}' is no plan", text), {}, "Write it as two_shot 64x256");
  auto algorithm = parse_algorithm(operation, text.substr(0, space));
  if (!algorithm) return algorithm.status();
  plan.algorithm = *algorithm;
  return plan;
}

std::uint64_t most_bytes(Operation operation, const Plan& plan, const Team& team) {
  const Entry* const entry = find(operation, plan.algorithm);
  return entry == nullptr ? 0 : entry->most_bytes(of_launch(team, plan), plan.blocks);
}

Status launch(const Plan& plan, const Call& call, const Team& team, CopyEngines* engines, device::Lane& lane) {
  const Entry* const entry = find(call.operation, plan.algorithm);
  if (entry == nullptr) return unknown(call.operation, name(plan.algorithm));
  if (plan.blocks == 0 || plan.blocks > team.shape.blocks)
    return Status(Code::invalid_argument, fmt::format("{} blocks", plan.blocks), {},
                  fmt::format("Use 1 to {}", team.shape.blocks));
  const Team launched = of_launch(team, plan);
  if (const auto most = entry->most_bytes(launched, plan.blocks); call.bytes > most)
    return Status(Code::invalid_argument,
                  fmt::format("{} takes at most {} at a time with {} blocks, not {}", name(plan.algorithm),
                              format_bytes(most), plan.blocks, format_bytes(call.bytes)),
                  {}, "Use more blocks, or another algorithm");
  if (needs_windows(plan.algorithm) && !call.reach)
    return Status(Code::invalid_argument, fmt::format("{} needs buffers in symmetric windows", name(plan.algorithm)),
                  {}, "Register them with sennit_register_symmetric(), or use another algorithm");
  // Messages divide the slots in a way of their own.
  return entry->start({plan, call, call.operation == Operation::sendrecv ? team : launched, engines, lane});
}

Status load_algorithms(device::Executor& executor, int device) {
  for (const Entry& entry : kEntries)
    if (auto status = executor.load(entry.program(), device); !status) return status;
  return executor.load(device::program_of<ManyMessages>(), device);
}

}  // namespace sennit::coll
