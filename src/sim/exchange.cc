#include "sim/exchange.h"

#include <algorithm>

#include "path/timing.h"

namespace sennit::sim {

Result<Played> exchange(const Fabric& fabric, std::span<const place::Talk> talks, std::span<const int> places,
                        const ExchangeCosts& costs) {
  const path::Network& network = fabric.network();
  Graph graph;
  // Of each rank: its streams, or one queue of the calls for messages, whose bytes follow each call.
  const std::size_t streams = std::size_t(std::max(1, costs.streams));
  std::vector<std::uint32_t> out, in;
  std::vector<std::size_t> sent(places.size(), 0);
  for (std::size_t i = 0; i < places.size() * streams; ++i)
    out.push_back(graph.add_queue()), in.push_back(graph.add_queue());
  double most_gbps = Graph::kUncapped;
  const auto copy = [&](int from, int to, double bytes, std::uint32_t queue, double us, Graph::Id need) {
    Graph::Task task;
    task.us = us;
    task.queue = queue;
    if (costs.streams == 0) {
      need = graph.add(task, {need});
      task = {};
    }
    task.from = from;
    task.to = to;
    task.bytes = bytes;
    task.gbps = most_gbps;
    task.method = machine::Method::sm;
    return graph.add(task, {need});
  };
  for (const place::Talk& talk : talks) {
    const int from = places[std::size_t(talk.from)], to = places[std::size_t(talk.to)];
    const std::size_t stream = sent[std::size_t(talk.from)]++ % streams;
    const std::uint32_t sender = out[std::size_t(talk.from) * streams + stream],
                        receiver = in[std::size_t(talk.to) * streams + stream];
    const bool is_short = talk.bytes / talk.messages <= costs.short_bytes;
    const bool same_node = fabric.node_of(from) == fabric.node_of(to);
    double us = talk.messages * (!same_node ? costs.network_us : is_short ? costs.short_us : costs.message_us);
    const bool reaches =
        !same_node || from == to || network.find_hop(fabric.device_of(from), fabric.device_of(to)).exists();
    most_gbps = !same_node        ? Graph::kUncapped
                : from == to      ? path::kLocalGpuGbps
                : costs.most_gbps ? costs.most_gbps(fabric.device_of(from), fabric.device_of(to))
                                  : Graph::kUncapped;
    if (!reaches && talk.bytes / talk.messages > costs.alike_bytes) us += talk.messages * costs.staged_us;
    if (reaches && !(is_short && same_node && from != to)) {
      copy(from, to, talk.bytes, sender, us, Graph::kNone);
      continue;
    }
    const int host = fabric.host_of(from);
    if (host < 0)
      return Status(Code::unsupported, "GPUs do not reach each other, and there is no host memory",
                    "machine '" + network.machine().name + "'", "Add the missing links to its file");
    const int chunks = is_short ? 1 : std::max(1, costs.chunks);
    for (int chunk = 0; chunk < chunks; ++chunk)
      copy(host, to, talk.bytes / chunks, receiver, us / chunks,
           copy(from, host, talk.bytes / chunks, sender, us / chunks, Graph::kNone));
  }
  return play(graph, fabric);
}

}  // namespace sennit::sim
