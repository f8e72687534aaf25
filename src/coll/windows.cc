#include "coll/windows.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/units.h"

namespace sennit::coll {

Result<std::optional<Windows::One>> Windows::look_at(node::Node& node, path::Window& window) {
  const int size = node.size();
  One one{&window, window.data(), window.bytes(node.rank()), {}};
  for (int rank = 0; rank < size; ++rank)
    if (const std::uint64_t theirs = window.bytes(rank); theirs != one.bytes)
      return Status(Code::invalid_argument,
                    fmt::format("rank {} has registered {}, rank {} {}", node.rank(), format_bytes(one.bytes), rank,
                                format_bytes(theirs)),
                    {}, "Register as many bytes on every rank, or with sennit_register()");
  if (size > kMostRanks || one.bytes == 0) return std::optional<One>();
  std::string why_not;
  for (int rank = 0; rank < size; ++rank) {
    auto seen = window.seen_here(rank);
    if (seen.ok())
      one.at[rank] = *seen;
    else
      why_not = seen.status().what();
  }
  auto all = node.group().exchange().all_gather(comm::Writer().text(why_not).take());
  if (!all) return all.status();
  for (std::size_t rank = 0; rank < all->size(); ++rank) {
    comm::Reader reader((*all)[rank]);
    if (const std::string theirs = reader.text(); !theirs.empty()) {
      log(LogLevel::info,
          fmt::format("collectives do not use window {}: rank {}: {}", window.number(), rank, theirs));
      return std::optional<One>();
    }
  }
  return std::optional(one);
}

void Windows::remove(const path::Window& window) {
  std::erase_if(all_, [&](const One& one) { return one.window == &window; });
}

bool Windows::has(const path::Window& window) const {
  return std::ranges::any_of(all_, [&](const One& one) { return one.window == &window; });
}

bool Windows::find(const std::byte* data, std::uint64_t bytes, std::byte* (&at)[kMostRanks]) const {
  for (const One& one : all_) {
    if (data < one.data || data + bytes > one.data + one.bytes) continue;
    const auto offset = data - one.data;
    for (std::size_t rank = 0; rank < kMostRanks; ++rank)
      at[rank] = one.at[rank] != nullptr ? one.at[rank] + offset : nullptr;
    return true;
  }
  return false;
}

std::optional<PeerPointers> Windows::reach(const Call& call, int size) const {
  if (all_.empty()) return std::nullopt;
  const auto all = call.bytes * static_cast<unsigned>(size);
  PeerPointers reach;
  switch (call.operation) {
    case Operation::allreduce:
      if (find(call.input, call.bytes, reach.input) && find(call.output, call.bytes, reach.output)) return reach;
      break;
    case Operation::allgather:
      if (find(call.output, all, reach.output)) return reach;
      break;
    case Operation::all_to_all:
      // Peers would overwrite in place what is not sent yet.
      if (call.input != call.output && find(call.input, all, reach.input) && find(call.output, all, reach.output))
        return reach;
      break;
    default: break;
  }
  return std::nullopt;
}

}  // namespace sennit::coll
