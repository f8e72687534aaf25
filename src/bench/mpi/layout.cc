#include "bench/mpi/layout.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::bench::mpi {

std::string_view name(Buffers buffers) {
  switch (buffers) {
    case Buffers::gpu: return "gpu";
    case Buffers::host: return "host";
    case Buffers::gpu_host: return "gpu_host";
    case Buffers::host_gpu: return "host_gpu";
    case Buffers::managed: return "managed";
  }
  return "host";
}

Result<Buffers> parse_buffers(std::string_view text) {
  for (const Buffers each : {Buffers::gpu, Buffers::host, Buffers::gpu_host, Buffers::host_gpu, Buffers::managed})
    if (name(each) == text) return each;
  return Status(Code::invalid_argument, fmt::format("there are no buffers '{}'", text), {},
                "Use any of gpu, host, gpu_host, host_gpu and managed");
}

std::string describe(const Case& what) {
  std::string text = what.pattern ? what.pattern->name : name(what.benchmark());
  if (has_size(what.operation)) text += fmt::format(" of {}", format_bytes(what.bytes));
  if (has_window(what.operation)) text += fmt::format(", window {}", what.window);
  if (what.in_place) text += ", in place";
  if (has_size(what.operation)) text += fmt::format(", {} buffers", name(what.buffers));
  if (what.over == Over::nccl) text += ", over NCCL";
  return text;
}

unsigned Layout::given() const {
  using enum Operation;
  if (part) return static_cast<unsigned>(part->sent.size());
  if (is_message(what.operation)) {
    if (peer() == kNobody) return 0;
    const bool answers = is_ping_pong(what.operation) || is_bidirectional(what.operation);
    return is_first() || answers ? static_cast<unsigned>(what.window) : 0;
  }
  if (what.operation == compare_and_swap) return is_caller() ? 2 : 0;  // the new value, and the one it is to replace
  if (is_one_sided(what.operation))
    return (is_get(what.operation) ? is_target() : is_caller()) ? static_cast<unsigned>(what.window) : 0;
  const bool root = rank == kRoot;
  const bool of_root = what.operation == bcast || what.operation == scatter || what.operation == scatterv;
  if (what.operation == barrier || (of_root && !root)) return 0;
  return scatters(what.operation) ? others() : 1;
}

unsigned Layout::taken() const {
  using enum Operation;
  if (part) return static_cast<unsigned>(part->received.size());
  if (is_message(what.operation)) {
    if (peer() == kNobody) return 0;
    const bool answers = is_ping_pong(what.operation) || is_bidirectional(what.operation);
    return !is_first() || answers ? static_cast<unsigned>(what.window) : 0;
  }
  if (is_one_sided(what.operation)) {
    const bool gets = is_get(what.operation) || fetches(what.operation);
    const bool takes = (gets && is_caller()) || (!is_get(what.operation) && is_target());
    return takes ? static_cast<unsigned>(what.window) : 0;
  }
  const bool root = rank == kRoot;
  if (what.operation == barrier || (what.operation == bcast && root)) return 0;
  const bool to_root = what.operation == reduce || what.operation == gather || what.operation == gatherv;
  if ((to_root && !root) || (what.operation == exscan && rank == 0)) return 0;
  return gathers(what.operation) ? others() : 1;
}

int Layout::contributors() const {
  using enum Operation;
  if (is_one_sided(what.operation)) return 2;
  if (what.operation == scan) return rank + 1;
  return what.operation == exscan ? rank : size;
}

std::uint64_t Layout::room(const Case& what, int ranks) {
  if (what.pattern) return most_bytes(*what.pattern);
  if (what.operation == Operation::compare_and_swap) return 2 * what.bytes;
  if (is_of_two(what.operation)) return what.bytes * static_cast<unsigned>(what.window);
  const bool many = gathers(what.operation) || scatters(what.operation);
  return what.bytes * (many ? static_cast<unsigned>(ranks) : 1);
}

unsigned Layout::number(int from, unsigned index) const {
  const unsigned most = is_of_two(what.operation) ? static_cast<unsigned>(what.window) : static_cast<unsigned>(size);
  return static_cast<unsigned>(from) * most + index;
}

unsigned Layout::number_taken(unsigned index, int from) const {
  if (part) return part->received[index].number;
  if (is_of_two(what.operation)) return number(from, index);
  if (is_of_neighbours(what.operation)) {
    // The rank on a rank's left has it on its right.
    const bool on_the_left = neighbours() == 2 && index == 0;
    return number(from, scatters(what.operation) && on_the_left ? 1 : 0);
  }
  return number(from, scatters(what.operation) ? static_cast<unsigned>(rank) : 0);
}

int Layout::source(unsigned index) const {
  if (part) return part->received[index].peer;
  if (is_of_two(what.operation)) return peer();
  if (is_of_neighbours(what.operation)) return neighbour(static_cast<int>(index));
  return gathers(what.operation) ? static_cast<int>(index) : kRoot;
}

}  // namespace sennit::bench::mpi
