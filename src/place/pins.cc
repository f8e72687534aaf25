#include "place/pins.h"

#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sennit::place {

using machine::DeviceKind;

namespace {

constexpr int kMostRank = 65'536;  // limit: what is larger is no rank

bool read_number(std::string_view digits, int& value) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc{} && end == digits.data() + digits.size() && value >= 0 && value < kMostRank;
}

/// Slots of a node's GPUs for which `wanted` holds.
template <class Wanted>
std::vector<int> slots_where(const Slots& slots, int node, const Wanted& wanted) {
  std::vector<int> found;
  for (int slot = node * slots.a_node(); slot < (node + 1) * slots.a_node(); ++slot)
    if (wanted(slots.gpu(slot))) found.push_back(slot);
  return found;
}

}  // namespace

Result<std::vector<Pin>> pins_of(const std::vector<std::string>& texts, const DeviceGraph& graph,
                                 const Slots& slots) {
  const path::Network& network = graph.network();
  std::vector<Pin> pins;
  for (const std::string& text : texts) {
    const auto wrong = [&](std::string_view why) {
      return Status(
          Code::invalid_argument, fmt::format("'{}' pins no rank: {}", text, why), "--pin",
          "Write RANK=GPU, RANK=NODE/GPU or RANK-RANK=HOST, such as 3=gpu1, 3=2/gpu1 or 0-7=host0, with the "
          "ids that `sennit topo` shows");
    };
    const std::string_view all = text;
    const auto equals = all.find('=');
    if (equals == std::string_view::npos) return wrong("there is no '='");
    const std::string_view ranks = all.substr(0, equals);
    std::string_view where = all.substr(equals + 1);
    int first = -1, last = -1, node = 0;
    const auto dash = ranks.find('-');
    if (!read_number(ranks.substr(0, dash), first) ||
        !read_number(dash == std::string_view::npos ? ranks : ranks.substr(dash + 1), last) || last < first)
      return wrong(fmt::format("'{}' is no rank", ranks));
    if (const auto slash = where.find('/'); slash != std::string_view::npos) {
      if (!read_number(where.substr(0, slash), node) || node >= slots.nodes)
        return wrong(
            fmt::format("'{}' is none of {} nodes, which are numbered from 0", where.substr(0, slash), slots.nodes));
      where = where.substr(slash + 1);
    }
    const machine::Device* const device = network.machine().find(std::string(where));
    const auto is_there = [&](int gpu) {
      const machine::Device& own = network.device(graph.device(gpu));
      return &own == device || (device->kind == DeviceKind::host && own.numa == device->numa);
    };
    std::vector<int> free = device == nullptr ? std::vector<int>() : slots_where(slots, node, is_there);
    if (free.empty())
      return wrong(fmt::format("machine '{}' has no GPU '{}' that ranks may use, nor a host with such GPUs",
                               network.machine().name, where));
    for (int rank = first; rank <= last; ++rank) pins.push_back({rank, free});
  }
  return pins;
}

Result<SocketPins> pins_to_sockets(std::span<const Bound> bound, const DeviceGraph& graph, const Slots& slots,
                                   std::span<const Pin> pinned) {
  if (bound.empty())
    return Status(Code::invalid_argument, "what ranks were bound to is known from a profile, and none says it here",
                  {}, "Give a folder of `sennit profile`, or say it: --pin 0-7=host0,8-15=host1");
  SocketPins found;
  std::map<std::string, int> nodes;
  std::map<std::vector<int>, int> taken;  // of places: how many ranks have to stay there
  for (int rank = 0; rank < int(bound.size()); ++rank) {
    const Bound& own = bound[std::size_t(rank)];
    const int node = nodes.try_emplace(own.host, int(nodes.size())).first->second;
    if (node >= slots.nodes)
      return Status(
          Code::invalid_argument,
          fmt::format("rank {} ran on {}, which is host number {} of the profile, and the map is of {} node{}", rank,
                      own.host, node + 1, slots.nodes, slots.nodes == 1 ? "" : "s"),
          {}, "Say as many nodes as there were: --nodes N");
    if (own.numa_nodes.empty() || std::ranges::find(pinned, rank, &Pin::rank) != pinned.end()) continue;
    const path::Network& network = graph.network();
    const auto is_near = [&](int gpu) {
      return std::ranges::find(own.numa_nodes, network.device(graph.device(gpu)).numa) != own.numa_nodes.end();
    };
    std::vector<int> there = slots_where(slots, node, is_near);
    const std::string numa = fmt::format("NUMA node{} {} of {}", own.numa_nodes.size() == 1 ? "" : "s",
                                         fmt::join(own.numa_nodes, ", "), own.host);
    if (there.empty())
      return Status(Code::invalid_argument,
                    fmt::format("rank {} was bound to {}, and machine '{}' has no GPU there that ranks may use", rank,
                                numa, network.machine().name),
                    {}, "Bind the rank to a socket that has GPUs, or leave --keep-sockets out");
    if (++taken[there] > int(there.size()))
      return Status(
          Code::invalid_argument,
          fmt::format("rank {} was bound to {}, whose GPUs have room for {} ranks, and as many before it were "
                      "bound there",
                      rank, numa, there.size()),
          {},
          "Bind as many ranks to a socket as it has GPUs, make room for more on each (--ranks-per-gpu), or "
          "leave --keep-sockets out");
    found.pins.push_back({rank, std::move(there)});
  }
  found.words = found.pins.empty()
                    ? "no rank was bound to a socket: each may go anywhere"
                    : fmt::format("{} of {} ranks stay on the socket that their launcher bound them to",
                                  found.pins.size(), bound.size());
  return found;
}

}  // namespace sennit::place
