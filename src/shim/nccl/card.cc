#include "shim/nccl/card.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "device/memory.h"
#include "plan/table.h"

namespace sennit::shim::nccl {

namespace {

/// What all ranks say where rank `rank` differs from rank 0 in `what`.
Status differs(std::size_t rank, std::string_view what) {
  return Status(Code::mismatch, fmt::format("rank {} has another {} than rank 0", rank, what), {},
                "Give all ranks the same");
}

}  // namespace

plan::Room room_on(unsigned concurrent_blocks, unsigned allowed) {
  const unsigned quarter = std::max(concurrent_blocks / 2, 1U);  // of two an SM
  const unsigned blocks = std::min(quarter, plan::Entry::kBesideKernels);
  return {allowed > 0 ? std::min(blocks, allowed) : blocks, quarter};
}

std::string told_of(const Switches& switches) {
  return fmt::format("{} {}", switches.take == Take::all ? "all" : "measured",
                     switches.operations ? fmt::format("{}", fmt::join(*switches.operations, ",")) : "all");
}

Card Card::of(const Switches& switches, const Config& config, const plan::Room& room, std::uint64_t scratch_bytes) {
  return {room,          device::this_process(),  told_of(switches), switches.nccl,
          scratch_bytes, wants_no_blocks(config), config.blocking,   plan::has_table()};
}

Result<Card> Card::read(std::span<const std::byte> bytes) {
  comm::Reader reader(bytes);
  Card card;
  card.room.blocks = static_cast<unsigned>(reader.number());
  card.room.of_messages = static_cast<unsigned>(reader.number());
  card.process = reader.number();
  card.told = reader.text();
  card.nccl = reader.text();
  card.scratch_bytes = reader.number();
  card.no_blocks = reader.number() != 0;
  card.blocking = reader.number() != 0;
  card.has_table = reader.number() != 0;
  if (auto status = reader.finish(); !status) return status;
  return card;
}

comm::Bytes Card::write() const {
  return comm::Writer()
      .number(room.blocks)
      .number(room.of_messages)
      .number(process)
      .text(told)
      .text(nccl)
      .number(scratch_bytes)
      .number(no_blocks ? 1 : 0)
      .number(blocking ? 1 : 0)
      .number(has_table ? 1 : 0)
      .take();
}

Result<Agreed> compare(const std::vector<comm::Bytes>& cards, int rank) {
  std::vector<Card> read;
  for (const comm::Bytes& each : cards) {
    auto card = Card::read(each);
    if (!card) return card.status();
    read.push_back(*std::move(card));
    const Card &first = read.front(), &latest = read.back();
    if (latest.told != first.told) return differs(read.size() - 1, "SENNIT_TAKE or SENNIT_OPS");
    if (latest.nccl != first.nccl) return differs(read.size() - 1, "NCCL or NCCL_NVLS_ENABLE");
  }
  Agreed agreed;
  agreed.scratch_bytes = read.front().scratch_bytes;
  std::map<std::uint64_t, int> ranks;  // of each process
  for (const Card& card : read) {
    agreed.room.blocks = std::min(agreed.room.blocks, card.room.blocks);
    agreed.room.of_messages = std::min(agreed.room.of_messages, card.room.of_messages);
    agreed.no_blocks = agreed.no_blocks || card.no_blocks;
    agreed.blocking = agreed.blocking && card.blocking;
    agreed.any_table = agreed.any_table || card.has_table;
    agreed.any_siblings = ++ranks[card.process] > 1 || agreed.any_siblings;
  }
  agreed.siblings = ranks[read[static_cast<std::size_t>(rank)].process] > 1;
  return agreed;
}

}  // namespace sennit::shim::nccl
