#include "shim/mpi/comm/several_nodes.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "net/leaders.h"

namespace sennit::shim::mpi {

namespace {

/// Smaller messages, of all ranks together, are staged: so few bytes are as soon through host memory, all at once.
/// Defaults; where nodes have one rank nothing is saved but by doing all stages at once.
constexpr std::uint64_t kLeast = 512 << 10, kLeastAlone = 4 << 20;

/// Smaller rounds of an all-to-all (net/all_to_all.h) are staged, too. A default: a message that takes longer on the
/// network than GPUs take to begin its copies.
constexpr std::uint64_t kLeastOfRound = 128 << 10;

/// Rows as long as the longest message are staged, too, where they would be so many times as long as all messages. A
/// default.
constexpr std::uint64_t kMostOfRow = 2;

constexpr WhyNot kOtherLengths = "ranks on several nodes, and messages of very different lengths";

constexpr int kNowhere = -1;  ///< a colour of no communicator

bool is_all_to_all(const Work& work) {
  return work.family == Family::Alltoall || work.family == Family::Alltoallv;
}

/// Returns whether ranks other than the root know only the length of their own message.
bool is_of_one_rank(const Work& work) {
  return work.family == Family::Gatherv || work.family == Family::Scatterv;
}

/// Returns the bytes of this rank's message in such a call; 0 in place.
std::uint64_t own_of(const Work& work) {
  const auto& all = work.family == Family::Gatherv ? work.sent : work.received;
  return all[static_cast<std::size_t>(work.request.root)];
}

/// Returns the bytes of the shortest message that this rank knows, if any; empty ones do not count.
std::uint64_t shortest_of(const Work& work) {
  std::uint64_t shortest = ~std::uint64_t{0};
  for (const auto* const all : {&work.sent, &work.received})
    for (const std::uint64_t bytes : *all)
      if (bytes != 0) shortest = std::min(shortest, bytes);
  return shortest;
}

/// Returns whether rows as long as the longest message would carry too little data.
bool are_uneven(std::uint64_t longest, std::uint64_t total, std::size_t ranks) {
  return longest * ranks > kMostOfRow * total;
}

/// Smaller messages, of all ranks together, are staged.
std::uint64_t least_of(const Nodes& nodes) {
  return nodes.places.size() == static_cast<std::size_t>(nodes.count) ? kLeastAlone : kLeast;
}

/// Returns the offsets of parts that lie one behind the other.
std::vector<std::uint64_t> begins_of(const std::vector<std::uint64_t>& parts) {
  std::vector<std::uint64_t> begins(parts.size());
  std::exclusive_scan(parts.begin(), parts.end(), begins.begin(), std::uint64_t{0});
  return begins;
}

/// Returns whether the message's bytes are those of one rank.
bool is_of_each(coll::Operation operation) {
  using enum coll::Operation;
  return operation == allgather || operation == reduce_scatter || operation == gather || operation == scatter ||
         operation == all_to_all;
}

}  // namespace

std::string_view SeveralNodes::why_not(const Mpi& mpi, const Work& work, const Nodes& nodes, net::Way way) {
  using coll::Operation;
  const coll::Request& request = work.request;
  const bool reduces = coll::reduces(request.operation), all_to_all = is_all_to_all(work);
  const bool of_parts = !work.parts.empty();
  if (work.scan) return "ranks on several nodes";
  // A reduce-scatter in place needs no scratch here: each rank's result takes the place of what it has given before.
  if (work.scratch_bytes != 0 && request.operation != Operation::reduce_scatter && !of_parts)
    return "ranks on several nodes";
  // A sum goes by the first rank of each node, and a broadcast by as many ranks as lead each.
  const bool is_led =
      (request.operation == Operation::allreduce && !of_parts) || request.operation == Operation::broadcast;
  if ((way == net::Way::leaders || !nodes.alike) && !is_led) return "nodes with different numbers of ranks";
  if (all_to_all && request.input == request.output) return "in place, over several nodes";
  const std::size_t ranks = nodes.places.size();
  const std::uint64_t least = least_of(nodes);
  const std::uint64_t least_of_rounds = all_to_all ? kLeastOfRound * static_cast<unsigned>(nodes.count) : 0;
  const std::uint64_t bytes = work.bytes * (is_of_each(request.operation) ? ranks : 1);
  // No rank but the root knows all bytes of a gather or scatter of different lengths: each judges by what it knows,
  // as the root does of it, so that for a small one no rank offers what another refuses, and waits to hear so.
  const bool small =
      is_of_one_rank(work) ? shortest_of(work) < least / ranks : bytes < std::max(least, least_of_rounds);
  if (small) return "ranks on several nodes, and small";
  if (of_parts && are_uneven(std::ranges::max(work.parts), bytes, ranks)) return kOtherLengths;
  if (work.family == Family::Allgatherv && are_uneven(std::ranges::max(work.received), bytes, ranks))
    return kOtherLengths;
  if (reduces && !MpiRail::knows(mpi, request.reduction)) return "numbers that the MPI does not reduce";
  return {};
}

Result<std::unique_ptr<SeveralNodes>> SeveralNodes::create(const Mpi& mpi, Handle comm, CommShape shape,
                                                           const Nodes& nodes, net::Way way,
                                                           Result<std::shared_ptr<device::Executor>> executor,
                                                           int device) {
  std::unique_ptr<SeveralNodes> made(new SeveralNodes(mpi, nodes));
  const net::Place own = made->own_ = nodes.place(shape.rank);
  net::Rails rails;
  rails.way = way;
  rails.alike = nodes.alike;
  const bool has_rail = rails.divide() || own.rank == 0;
  int code = mpi.split(comm, own.node, own.rank, made->node_comm_);
  if (code == 0) code = mpi.split(comm, has_rail ? own.rank : kNowhere, own.node, made->rail_comm_);
  Status status =
      code == 0 ? Status() : Status(Code::system_error, fmt::format("MPI_Comm_split returned error {}", code));
  if (status.ok()) {
    CommShape here;
    (void)mpi.shape(made->node_comm_, here);
    auto node = OneNode::create(exchange_over(mpi, made->node_comm_, here), std::move(executor), device);
    status = node.status();
    if (node) made->here_ = std::move(*node);
  }
  if (way == net::Way::adapters) {
    auto leaders = made->agree_on_leaders(comm, shape, status);
    if (leaders)
      rails.leaders = std::move(*leaders);
    else if (status.ok())
      status = leaders.status();
  }
  if (status.ok()) {
    if (has_rail) rails.rail = &made->rail_.emplace(mpi, made->rail_comm_, nodes.count, own.node);
    if (made->leader_comm_ != kNoHandle && made->leader_comm_ != mpi.comm_null())
      rails.leader_rail = &made->leader_rail_.emplace(mpi, made->leader_comm_, nodes.count, own.node);
    OneNode& here = *made->here_;
    auto all =
        net::Hierarchical::create(here.node(), here.collectives(), nodes.count, own.node, std::move(rails), {});
    status = all.status();
    if (all) made->all_ = std::move(*all);
  }
  // The ranks of a node agree; those of others hear of it here.
  const int mine = status.ok() ? 1 : 0;
  std::vector<int> all(static_cast<std::size_t>(shape.size));
  if (mpi.all_gather(comm, &mine, all.data(), sizeof mine) != 0) all.front() = 0;
  if (std::ranges::find(all, 0) != all.end()) {
    if (made->here_ != nullptr) (void)made->here_->close();
    return status.ok() ? Status(Code::unsupported, "another node cannot take part") : status;
  }
  return made;
}

Result<std::vector<int>> SeveralNodes::agree_on_leaders(Handle comm, const CommShape& shape, const Status& so_far) {
  std::vector<int> leaders;
  if (so_far.ok()) {
    node::Node& here = here_->node();
    const std::string& device = here.device_id();
    auto told = here.group().exchange().all_gather(std::as_bytes(std::span(device)));
    if (!told) return told.status();
    std::vector<std::string> devices;
    for (const comm::Bytes& each : *told)
      devices.emplace_back(reinterpret_cast<const char*>(each.data()), each.size());
    leaders = net::leaders_of(here.machine(), devices);
  }
  // Ranks that have failed take part in this, and say so by having no leader.
  const int mine = static_cast<int>(leaders.size());
  std::vector<int> all(static_cast<std::size_t>(shape.size));
  int code = mpi_.all_gather(comm, &mine, all.data(), sizeof mine);
  if (code == 0) {
    leaders.resize(static_cast<std::size_t>(std::ranges::min(all)));
    const auto own = std::ranges::find(leaders, own_.rank);
    const int lead = own == leaders.end() ? kNowhere : static_cast<int>(own - leaders.begin());
    code = mpi_.split(comm, lead, own_.node, leader_comm_);
  }
  if (code != 0)
    return Status(Code::system_error, fmt::format("the MPI returned error {}", code), "leaders of nodes");
  if (leaders.empty()) return Status(Code::unsupported, "another rank cannot take part");
  return leaders;
}

Status SeveralNodes::meet(const Work& work) {
  const std::size_t size = nodes_.places.size(), here = size / static_cast<std::size_t>(nodes_.count);
  const bool all_to_all = is_all_to_all(work);
  const auto mine = all_to_all ? work.sent : std::vector{own_of(work)};
  std::vector<std::uint64_t> all(here * mine.size());  // by rank of this node, and for each by rank
  int code =
      mpi_.all_gather(node_comm_, mine.data(), all.data(), static_cast<int>(mine.size() * sizeof mine.front()));
  struct Most {
    std::uint64_t longest = 0, total = 0;
  };
  const Most of_node{std::ranges::max(all), std::accumulate(all.begin(), all.end(), std::uint64_t{0})};
  std::vector<Most> most(static_cast<std::size_t>(nodes_.count));
  if (code == 0) code = mpi_.all_gather(rail_comm_, &of_node, most.data(), sizeof of_node);
  if (code != 0) return Status(Code::system_error, fmt::format("MPI_Allgather returned error {}", code));
  lengths_ = {};
  for (const Most& node : most) {
    lengths_.longest = std::max(lengths_.longest, node.longest);
    lengths_.total += node.total;
  }
  if (!all_to_all) return {};
  lengths_.passed.resize(size);
  for (std::size_t rank = 0; rank < size; ++rank)
    if (const net::Place& to = nodes_.places[rank]; to.rank == own_.rank)
      for (std::size_t from = 0; from < here; ++from)
        lengths_.passed[static_cast<std::size_t>(to.node) * here + from] = all[from * size + rank];
  return {};
}

Result<WhyNot> SeveralNodes::why_not(const Work& work) {
  const bool of_one_rank = is_of_one_rank(work);
  if (work.family != Family::Alltoallv && !of_one_rank) return WhyNot();
  if (auto status = meet(work); !status) return status;
  const std::size_t size = nodes_.places.size();
  if (of_one_rank) {
    if (lengths_.total < least_of(nodes_)) return WhyNot("ranks on several nodes, and small");
    return WhyNot(are_uneven(lengths_.longest, lengths_.total, size) ? kOtherLengths : "");
  }
  // All ranks go as many rounds as the longest message takes.
  const bool even = lengths_.total / size >= kLeastOfRound * all_->rounds(lengths_.longest);
  return WhyNot(even ? "" : kOtherLengths);
}

net::OfOneRank SeveralNodes::messages_of(const Work& work) const {
  const bool gathers = work.family == Family::Gatherv;
  return {own_of(work), lengths_.longest, gathers ? work.received : work.sent,
          gathers ? work.received_to : work.sent_from};
}

Status SeveralNodes::perform(Work& work) {
  const coll::Request& request = work.request;
  switch (request.operation) {
    case coll::Operation::allreduce:
      if (!work.parts.empty())
        return all_->reduce_scatter_v(request.input, work.result, work.parts, begins_of(work.parts),
                                      request.reduction, nodes_.places);
      return all_->all_reduce(request.input, request.output, work.bytes, request.reduction);
    case coll::Operation::reduce:
      return all_->reduce(request.input, request.output, work.bytes, request.reduction, nodes_.place(request.root));
    case coll::Operation::allgather:
      return all_->all_gather(request.input, request.output, work.bytes, nodes_.places);
    case coll::Operation::reduce_scatter:
      return all_->reduce_scatter(request.input, request.output, work.bytes, request.reduction, nodes_.places);
    case coll::Operation::all_to_all:
      return all_->all_to_all(request.input, request.output, work.bytes, nodes_.places);
    case coll::Operation::gather:
      return all_->gather(request.input, request.output, work.bytes, nodes_.place(request.root), nodes_.places);
    case coll::Operation::scatter:
      return all_->scatter(request.input, request.output, work.bytes, nodes_.place(request.root), nodes_.places);
    case coll::Operation::all_to_all_v:
      if (work.family == Family::Allgatherv)  // each rank sends the same to all
        return all_->all_gather_v(static_cast<const std::byte*>(request.input) + work.sent_from.front(),
                                  request.output, work.received, work.received_to, nodes_.places);
      if (work.family == Family::Gatherv)
        return all_->gather_v(request.input, request.output, messages_of(work), nodes_.place(request.root),
                              nodes_.places);
      if (work.family == Family::Scatterv)
        return all_->scatter_v(request.input, request.output, messages_of(work), nodes_.place(request.root),
                               nodes_.places);
      return all_->all_to_all_v(
          request.input, request.output,
          {work.sent, work.sent_from, work.received, work.received_to, lengths_.passed, lengths_.longest},
          nodes_.places);
    default: return all_->broadcast(request.output, work.bytes, nodes_.place(request.root));
  }
}

std::string SeveralNodes::plan_of(const Work& work) {
  switch (all_->way(work.request.operation)) {
    case net::Way::rails: return fmt::format("{} nodes by rails", nodes_.count);
    case net::Way::leaders: return fmt::format("{} nodes by leaders", nodes_.count);
    case net::Way::adapters: break;
  }
  return fmt::format("{} nodes by adapters, of each {}", nodes_.count, all_->leaders());
}

Status SeveralNodes::close() {
  return here_->close();
}

SeveralNodes::~SeveralNodes() {
  // Objects that were made over the communicators are destroyed before them.
  all_.reset();
  here_.reset();
  for (Handle* comm : {&node_comm_, &rail_comm_, &leader_comm_})
    if (*comm != kNoHandle && *comm != mpi_.comm_null()) (void)mpi_.free(*comm);
}

}  // namespace sennit::shim::mpi
