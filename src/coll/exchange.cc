#include "coll/exchange.h"

#include <algorithm>

namespace sennit::coll {

void Exchange::cut(unsigned blocks, std::uint64_t least) {
  const auto each_of = [&](std::uint64_t bytes) {
    return std::max(device::part_of(bytes, 0, blocks).end, std::min(bytes, least));
  };
  for (Message& message : with) {
    message.block_sent = each_of(message.sent);
    message.block_received = each_of(message.received);
  }
}

Exchange exchange_of(Operation operation, const std::byte* input, std::byte* output, std::uint64_t bytes, int root,
                     int rank, int size) {
  Exchange exchange;
  const auto place = [bytes](auto* base, int of) { return base + static_cast<unsigned>(of) * bytes; };
  const auto send = [&](int to, const std::byte* from) {
    exchange.with[to].from = from;
    exchange.with[to].sent = bytes;
  };
  const auto receive = [&](int from, std::byte* to) {
    exchange.with[from].to = to;
    exchange.with[from].received = bytes;
  };
  const bool is_root = rank == root;
  for (int peer = 0; peer < size; ++peer) switch (operation) {
      case Operation::allgather:
        send(peer, input);
        receive(peer, place(output, peer));
        break;
      case Operation::broadcast:
        if (is_root) send(peer, input);
        if (peer == root) receive(peer, output);
        break;
      case Operation::gather:
        if (peer == root) send(peer, input);
        if (is_root) receive(peer, place(output, peer));
        break;
      case Operation::scatter:
        if (is_root) send(peer, place(input, peer));
        if (peer == root) receive(peer, output);
        break;
      case Operation::all_to_all:
        send(peer, place(input, peer));
        receive(peer, place(output, peer));
        break;
      default: break;  // not of this kind: nothing is sent
    }
  return exchange;
}

}  // namespace sennit::coll
