#include "msg/select.h"

namespace sennit::msg {

std::string_view name(Protocol protocol) {
  switch (protocol) {
    case Protocol::staged: return "staged";
    case Protocol::kernel_get: return "kernel_get";
    case Protocol::rndv_put: return "rndv_put";
    case Protocol::rndv_get: return "rndv_get";
    case Protocol::rndv_buffered: return "rndv_buffered";
    case Protocol::host_bounce: return "host_bounce";
    case Protocol::rndv_pipeline: return "rndv_pipeline";
  }
  return "";
}

Selection select(const Facts& facts) {
  // Reasons of what is staged are the report's.
  if (!facts.same_node) {
    if (facts.bytes < kLeastPipelined) return {Protocol::staged, "to another node, and short"};
    if (!facts.may_pipeline) return {Protocol::staged, "to another node"};
    if (!facts.listens) return {Protocol::staged, "to a process of another node that uses no GPU yet"};
    return {Protocol::rndv_pipeline, "copies and the way between the nodes go on at once"};
  }
  if (facts.bytes < kLeastAnnounced) return {Protocol::staged, "small"};
  if (!facts.listens) return {Protocol::staged, "to a process that uses no GPU yet"};
  if (!facts.shareable) return {Protocol::staged, "memory that cannot be shared, or too many on their way"};
  if (facts.long_waited && facts.bytes <= kMostBuffered)
    return {Protocol::rndv_buffered, "its sender need not wait for a receiver that comes late"};
  const bool small = facts.bytes <= kMostKernelGet;
  if (facts.to_gpu && facts.at_once && facts.sync_memops && facts.block_free && small)
    return {Protocol::kernel_get, "no launch, and nobody has to hear"};
  if (facts.to_gpu && facts.accepts) return {Protocol::rndv_put, "a GPU writes to another one sooner than it reads"};
  if (!facts.reachable) return {Protocol::host_bounce, "the receiver cannot map the sender's memory"};
  if (!facts.to_gpu) return {Protocol::rndv_get, "host memory is the receiver's to copy to"};
  return {Protocol::rndv_get, "a sender that computes finds no RTR"};
}

std::vector<Range> ranges(Facts facts) {
  std::vector<Range> found;
  constexpr std::uint64_t kMost = kMostKernelGet < kMostBuffered ? kMostBuffered : kMostKernelGet;
  static_assert(kLeastAnnounced < kMostKernelGet && kMost < kLeastPipelined);
  for (const std::uint64_t from :
       {std::uint64_t{0}, kLeastAnnounced, kMostKernelGet + 1, kMost + 1, kLeastPipelined}) {
    facts.bytes = from;
    const Protocol protocol = select(facts).protocol;
    if (found.empty() || found.back().protocol != protocol) found.push_back({from, protocol});
  }
  return found;
}

std::vector<Situation> situations() {
  return {
      {"GPU to GPU, the receiver waits for it alone", {}},
      {"GPU to GPU, the receiver waits for several", {.at_once = false}},
      {"GPU to GPU, the sender computes", {.at_once = false, .accepts = false}},
      {"GPU to GPU, the receiver comes late", {.at_once = false, .long_waited = true}},
      {"GPU to GPU, memory that the receiver cannot map", {.reachable = false, .at_once = false, .accepts = false}},
      {"GPU to host memory", {.to_gpu = false}},
      {"to a process that uses no GPU yet", {.listens = false}},
      {"to another node", {.same_node = false}},
  };
}

}  // namespace sennit::msg
