#include "shim/mpi/several_nodes.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace sennit::shim::mpi {

namespace {

/// Smaller messages, of all ranks together, are staged: so few bytes are as soon through host memory, all at once.
/// Defaults; where nodes have one rank nothing is saved but by doing all stages at once.
constexpr std::uint64_t kLeast = 512 << 10, kLeastAlone = 4 << 20;

/// And an all-to-all, which goes in rounds (net/all_to_all.h), where ranks have less than this for each round. A
/// default: a message that takes longer on the network than GPUs take to begin its copies.
constexpr std::uint64_t kLeastOfRound = 128 << 10;

/// And an allgather whose rows, as long as the longest message, would be so many times as long as all messages. A
/// default.
constexpr std::uint64_t kMostOfRow = 2;

constexpr int kNowhere = -1;  ///< a colour of no communicator

bool is_all_to_all(const Work& work) {
  return work.family == Family::Alltoall || work.family == Family::Alltoallv;
}

/// Whether the message's bytes are those of one rank.
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
  const bool all_lengths_known = work.family == Family::Allgatherv;
  if (work.scan || (request.operation == Operation::all_to_all_v && !all_to_all && !all_lengths_known))
    return "ranks on several nodes";
  // A reduce-scatter in place needs no scratch here: each rank's result takes the place of what it has given before.
  if (work.scratch_bytes != 0 && request.operation != Operation::reduce_scatter) return "ranks on several nodes";
  if (way == net::Way::leaders && request.operation != Operation::allreduce)
    return "nodes with different numbers of ranks";
  const bool alone = nodes.places.size() == static_cast<std::size_t>(nodes.count);
  if (all_to_all && request.input == request.output) return "in place, over several nodes";
  const std::uint64_t bytes = work.bytes * (is_of_each(request.operation) ? nodes.places.size() : 1);
  const std::uint64_t least_of_rounds = all_to_all ? kLeastOfRound * static_cast<unsigned>(nodes.count) : 0;
  if (bytes < std::max(alone ? kLeastAlone : kLeast, least_of_rounds)) return "ranks on several nodes, and small";
  if (all_lengths_known && bytes < std::ranges::max(work.received) * nodes.places.size() / kMostOfRow)
    return "ranks on several nodes, and messages of very different lengths";
  if (reduces && !MpiRail::knows(mpi, request.reduction)) return "numbers that the MPI does not reduce";
  return {};
}

Result<std::unique_ptr<SeveralNodes>> SeveralNodes::create(const Mpi& mpi, Handle comm, CommShape shape,
                                                           const Nodes& nodes, net::Way way,
                                                           Result<std::shared_ptr<device::Executor>> executor,
                                                           int device) {
  std::unique_ptr<SeveralNodes> made(new SeveralNodes(mpi, nodes));
  const net::Place own = made->own_ = nodes.place(shape.rank);
  const bool has_rail = way == net::Way::rails || own.rank == 0;
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
  if (status.ok()) {
    if (has_rail) made->rail_.emplace(mpi, made->rail_comm_, nodes.count, own.node);
    OneNode& here = *made->here_;
    auto all = net::Hierarchical::create(here.node(), here.collectives(), nodes.count, own.node,
                                         has_rail ? &*made->rail_ : nullptr, way, {});
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

Status SeveralNodes::meet(const Work& work) {
  const std::size_t size = nodes_.places.size(), here = size / static_cast<std::size_t>(nodes_.count);
  std::vector<std::uint64_t> all(here * size);  // by rank of this node, and for each by rank
  int code = mpi_.all_gather(node_comm_, work.sent.data(), all.data(), static_cast<int>(size * sizeof all[0]));
  struct Most {
    std::uint64_t longest = 0, total = 0;
  };
  const Most mine{std::ranges::max(all), std::accumulate(all.begin(), all.end(), std::uint64_t{0})};
  std::vector<Most> most(static_cast<std::size_t>(nodes_.count));
  if (code == 0) code = mpi_.all_gather(rail_comm_, &mine, most.data(), sizeof mine);
  if (code != 0) return Status(Code::system_error, fmt::format("MPI_Allgather returned error {}", code));
  lengths_ = {std::vector<std::uint64_t>(size), 0, 0};
  for (std::size_t rank = 0; rank < size; ++rank)
    if (const net::Place& to = nodes_.places[rank]; to.rank == own_.rank)
      for (std::size_t from = 0; from < here; ++from)
        lengths_.passed[static_cast<std::size_t>(to.node) * here + from] = all[from * size + rank];
  for (const Most& node : most) {
    lengths_.longest = std::max(lengths_.longest, node.longest);
    lengths_.mean += node.total / size;
  }
  return {};
}

Result<WhyNot> SeveralNodes::why_not(const Work& work) {
  if (work.family != Family::Alltoallv) return WhyNot();
  if (auto status = meet(work); !status) return status;
  // All ranks go as many rounds as the longest message takes.
  const bool even = lengths_.mean >= kLeastOfRound * all_->rounds(lengths_.longest);
  return WhyNot(even ? "" : "ranks on several nodes, and messages of very different lengths");
}

Status SeveralNodes::perform(Work& work) {
  const coll::Request& request = work.request;
  switch (request.operation) {
    case coll::Operation::allreduce:
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
      return all_->all_to_all_v(
          request.input, request.output,
          {work.sent, work.sent_from, work.received, work.received_to, lengths_.passed, lengths_.longest},
          nodes_.places);
    default: return all_->broadcast(request.output, work.bytes, nodes_.place(request.root));
  }
}

std::string SeveralNodes::plan_of(const Work&) {
  return fmt::format("{} nodes by {}", nodes_.count, all_->way() == net::Way::rails ? "rails" : "leaders");
}

Status SeveralNodes::close() {
  return here_->close();
}

SeveralNodes::~SeveralNodes() {
  // What is made over the communicators goes before them.
  all_.reset();
  here_.reset();
  for (Handle* comm : {&node_comm_, &rail_comm_})
    if (*comm != kNoHandle && *comm != mpi_.comm_null()) (void)mpi_.free(*comm);
}

}  // namespace sennit::shim::mpi
