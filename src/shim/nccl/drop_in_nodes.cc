// How a communicator over several nodes gets its counterpart. Each step is agreed on by all ranks of all nodes, so
// that NCCL is used for the next one only where every rank comes to it.
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shim/nccl/card.h"
#include "shim/nccl/drop_in.h"
#include "shim/nccl/translate.h"

namespace sennit::shim::nccl {

namespace {

/// What a rank says of itself.
struct NodeCard {
  bool own_thread = false;  ///< NCCL is at work on several communicators, or while the program goes on
  std::string told;         ///< switches
  std::vector<int> node;    ///< the ranks that it sees on its node

  comm::Bytes write() const {
    comm::Writer writer;
    writer.number(own_thread ? 1 : 0).text(told).number(node.size());
    for (const int rank : node) writer.number(static_cast<std::uint64_t>(rank));
    return writer.take();
  }
  static Result<NodeCard> read(std::span<const std::byte> bytes, std::size_t ranks) {
    comm::Reader reader(bytes);
    NodeCard card;
    card.own_thread = reader.number() != 0;
    card.told = reader.text();
    const std::uint64_t count = reader.number();
    for (std::uint64_t i = 0; i < count && i < ranks; ++i) card.node.push_back(static_cast<int>(reader.number()));
    if (auto status = reader.finish(); !status) return status;
    return card;
  }
};

/// The same on every rank.
Result<Layout> layout_by(const std::vector<comm::Bytes>& cards, int rank) {
  std::vector<std::vector<int>> seen;
  std::string told;
  for (const comm::Bytes& each : cards) {
    auto card = NodeCard::read(each, cards.size());
    if (!card) return card.status();
    if (seen.empty()) told = card->told;
    if (card->own_thread)
      return Status(Code::unsupported, "over several nodes, and not made alone by a call that blocks");
    if (card->told != told) return differs(seen.size(), kTold);
    seen.push_back(std::move(card->node));
  }
  auto layout = layout_of(seen, rank);
  if (layout.ok() && layout->ranks == 1)
    return Status(Code::unsupported, "over several nodes, with one rank on each");
  if (layout.ok() && layout->ranks > coll::kMostRanks)
    return Status(Code::unsupported, fmt::format("more than {} ranks on a node", coll::kMostRanks));
  return layout;
}

}  // namespace

Result<Counterpart::Made> DropIn::meet_across(const Known& known, Comm comm, const Meeting& meeting,
                                              std::span<const int> present, Rendezvous& rendezvous, bool own_thread) {
  auto all = rendezvous.meet();
  if (!all) return all.status();
  // 1. Who is where.
  const NodeCard card{own_thread, told_of(switches_), {present.begin(), present.end()}};
  const auto cards = comm::agree(**all, Status(), card.write());
  if (!cards) return cards.status();
  const auto layout = layout_by(*cards, known.shape.rank);
  if (!layout) return layout.status();
  // 2. A counterpart on every node.
  auto exchange = meeting.meet(layout->place, layout->ranks);
  Status status = exchange.status();
  Counterpart::Made made;
  if (status.ok()) {
    auto here = Counterpart::create(std::move(*exchange), {layout->place, layout->ranks, known.shape.device},
                                    known.config, *memories_, switches_, own_thread, true);
    status = here.status();
    if (here.ok()) made = *std::move(here);
  }
  auto agreed = comm::agree(**all, status, comm::Writer().text(made.why_none).take());
  status = agreed.status();
  // Where one node has none, none has.
  if (status.ok())
    for (const auto& text : *agreed)
      if (made.why_none.empty()) made.why_none = comm::Reader(text).text();
  // 3. Rails between them, and whether they pay.
  if (status.ok() && made.why_none.empty())
    status = make_rails(comm, *layout, known.shape.device, *made.counterpart, **all);
  if (made.counterpart != nullptr && !(status.ok() && made.why_none.empty())) {
    // What does not end still uses its memory, and other ranks have it mapped.
    made.counterpart->abort();
    made.counterpart->part_from_nccl(false);
    const auto left = std::make_shared<Known>();
    left->counterpart = std::move(made.counterpart);
    known_.retire(left);
  }
  if (!status) return status;
  return made;
}

Status DropIn::make_rails(Comm comm, const Layout& layout, int device, Counterpart& counterpart,
                          comm::Exchange& all) {
  path::Node& node = counterpart.node();
  Comm of_rail = nullptr;
  const int code = nccl_.comm_split(comm, layout.place, layout.node, &of_rail, nullptr);
  auto lane = node.executor().lane(device);
  Status status = lane.status();
  if (code != kSuccess || of_rail == nullptr)
    status = Status(Code::system_error, fmt::format("NCCL makes no rail: error {}", code), {},
                    "NCCL_DEBUG=INFO says more");
  std::unique_ptr<NcclRail> rail;
  if (of_rail != nullptr)
    rail = std::make_unique<NcclRail>(nccl_, of_rail, lane.ok() ? std::move(*lane) : nullptr, switches_.emulate);
  if (auto agreed = comm::agree(all, status, {}); !agreed) return agreed.status();
  auto made = Across::create(node, counterpart.collectives(), std::move(rail), layout);
  if (auto agreed = comm::agree(all, made.status(), {}); !agreed) return agreed.status();
  Across& across = **made;
  counterpart.go_across(std::move(*made));
  if (switches_.take == Take::all) return {};
  const Enqueued by_nccl = [&](const std::byte* input, std::byte* output, std::uint64_t bytes) {
    const int type = *number_of(device::Type::float32), op = *number_of(device::Operator::sum);
    const int done = nccl_.all_reduce(input, output, bytes / sizeof(float), type, op, comm,
                                      static_cast<Stream>(node.lane().native()));
    return done == kSuccess ? Status() : Status(Code::device_error, fmt::format("NCCL: error {}", done));
  };
  return across.try_out(all, by_nccl, switches_.emulate);
}

}  // namespace sennit::shim::nccl
