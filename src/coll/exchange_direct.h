// Exchange, direct, through scratch: every message goes straight to its receiver, all at the same time; each byte
// crosses one link once.
//
// 1. Each block takes its part of every message, in chunks of at most a slot; sender and receiver cut it alike. The
//    steps of two chunks overlap:
// 2. send: the chunk for every peer for which there is one;
// 3. keep: the chunk of every peer that sends one, and of the message to oneself.
//
// A chunk is sent before the one of the same number is kept, so that an all-to-all may work in place.
#pragma once

#include "coll/exchange.h"
#include "coll/links.h"

namespace sennit::coll {

struct ExchangeDirect {
  static constexpr const char* kName = "exchange_direct";
  Exchange exchange;
  Team team;
  Way way = Way::push;

  template <class Block>
  SENNIT_DEVICE void operator()(Block& block) const {
    Links<Block> links(block, team, Layout::direct, way);
    const std::uint64_t most = links.room();
    std::uint64_t longest = 0;
    for (int rank = 0; rank < team.size; ++rank) {
      const std::uint64_t sent = to(rank, block).bytes(), received = from(rank, block).bytes();
      if (longest < sent) longest = sent;
      if (longest < received) longest = received;
    }
    for (std::uint64_t at = 0; at < longest + most && longest != 0; at += most) {
      if (at < longest && !send(block, links, at)) return;
      if (at != 0 && !keep(block, links, at - most)) return;
    }
    links.finish();
  }

 private:
  // 1. The part of the messages to and from a rank.
  template <class Block>
  SENNIT_DEVICE device::Part to(int rank, const Block& block) const {
    return device::part_at(exchange.with[rank].sent, exchange.with[rank].block_sent, block.index());
  }
  template <class Block>
  SENNIT_DEVICE device::Part from(int rank, const Block& block) const {
    return device::part_at(exchange.with[rank].received, exchange.with[rank].block_received, block.index());
  }
  /// Returns the part's chunk that begins `at` bytes into it; empty beyond the end.
  SENNIT_DEVICE device::Part chunk(device::Part part, std::uint64_t at) const {
    const std::uint64_t begin = part.begin + at, end = begin + team.shape.slot(Layout::direct);
    return {begin < part.end ? begin : part.end, end < part.end ? end : part.end};
  }

  template <class Block>
  SENNIT_DEVICE bool send(Block& block, Links<Block>& links, std::uint64_t at) const {  // 2.
    Peers takers = Peers::none();
    for (int turn = 1; turn < team.size; ++turn)
      if (const int peer = team.after(turn); at < to(peer, block).bytes()) takers = takers | Peers::one(peer);
    if (!links.await_room(takers)) return false;
    block.copy_each(team.peers(), [&](unsigned k) -> device::Copy {
      const int peer = team.peer(k);
      const auto part = chunk(to(peer, block), at);  // empty where there is nothing to send
      return {links.outgoing(peer), exchange.with[peer].from + part.begin, part.bytes()};
    });
    links.advance(takers, Peers::none());
    return true;
  }

  template <class Block>
  SENNIT_DEVICE bool keep(Block& block, Links<Block>& links, std::uint64_t at) const {  // 3.
    if (const Exchange::Message& own = exchange.with[team.rank]; own.from != own.to) {
      const auto part = chunk(to(team.rank, block), at);
      block.copy(own.to + part.begin, own.from + part.begin, part.bytes());
    }
    Peers givers = Peers::none();
    for (int turn = 1; turn < team.size; ++turn)
      if (const int peer = team.after(turn); at < from(peer, block).bytes()) givers = givers | Peers::one(peer);
    if (!links.await_arrival(givers)) return false;
    block.copy_each(team.peers(), [&](unsigned k) -> device::Copy {
      const int peer = team.peer(k);
      const auto part = chunk(from(peer, block), at);
      return {exchange.with[peer].to + part.begin, links.incoming(peer), part.bytes()};
    });
    links.advance(Peers::none(), givers);
    return true;
  }
};

}  // namespace sennit::coll
