#include "shim/nccl/card.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "device/memory.h"

namespace sennit::shim::nccl {

plan::Room room_on(unsigned concurrent_blocks, unsigned allowed) {
  const unsigned quarter = std::max(concurrent_blocks / 2, 1U);
  const unsigned blocks = std::min(quarter, plan::Entry::kBesideKernels);
  return {allowed > 0 ? std::min(blocks, allowed) : blocks, quarter};
}

std::string operations_of(const Switches& switches) {
  return switches.operations ? fmt::format("{}", fmt::join(*switches.operations, ",")) : "all";
}

Status differs(std::size_t rank, std::string_view what) {
  return Status(Code::mismatch, fmt::format("rank {} has another {} than rank 0", rank, what), {},
                "Give all ranks the same");
}

Card Card::of(const Switches& switches, const plan::Room& room, std::uint64_t scratch_bytes, bool no_blocks) {
  return {room,          device::this_process(), switches.take, operations_of(switches),
          switches.nccl, scratch_bytes,          no_blocks};
}

Result<Card> Card::read(std::span<const std::byte> bytes) {
  comm::Reader reader(bytes);
  Card card;
  card.room.blocks = static_cast<unsigned>(reader.number());
  card.room.of_messages = static_cast<unsigned>(reader.number());
  card.process = reader.number();
  card.take = static_cast<Take>(reader.number());
  card.operations = reader.text();
  card.nccl = reader.text();
  card.scratch_bytes = reader.number();
  card.no_blocks = reader.number() != 0;
  if (auto status = reader.finish(); !status) return status;
  return card;
}

comm::Bytes Card::write() const {
  return comm::Writer()
      .number(room.blocks)
      .number(room.of_messages)
      .number(process)
      .number(std::uint64_t(take))
      .text(operations)
      .text(nccl)
      .number(scratch_bytes)
      .number(no_blocks ? 1 : 0)
      .take();
}

Result<Agreed> compare(const std::vector<comm::Bytes>& cards, int rank) {
  std::vector<Card> read;
  for (const comm::Bytes& each : cards) {
    auto card = Card::read(each);
    if (!card) return card.status();
    read.push_back(*std::move(card));
    const Card &first = read.front(), &latest = read.back();
    if (latest.take != first.take || latest.operations != first.operations)
      return differs(read.size() - 1, "SENNIT_TAKE or SENNIT_OPS");
    if (latest.nccl != first.nccl) return differs(read.size() - 1, "NCCL or NCCL_NVLS_ENABLE");
  }
  Agreed agreed;
  agreed.scratch_bytes = read.front().scratch_bytes;
  std::map<std::uint64_t, int> ranks;  // of each process
  for (const Card& card : read) {
    agreed.room.blocks = std::min(agreed.room.blocks, card.room.blocks);
    agreed.room.of_messages = std::min(agreed.room.of_messages, card.room.of_messages);
    agreed.no_blocks = agreed.no_blocks || card.no_blocks;
    agreed.any_siblings = ++ranks[card.process] > 1 || agreed.any_siblings;
  }
  agreed.siblings = ranks[read[static_cast<std::size_t>(rank)].process] > 1;
  return agreed;
}

}  // namespace sennit::shim::nccl
