#include "path/partition_cut.h"

#include <limits>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::path {

std::string text(const PartitionCut& cut) {
  return fmt::format("{} × {}", cut.partitions, format_bytes(cut.bytes_each));
}

Status check(const PartitionCut& cut) {
  if (cut.partitions == 0)
    return Status(Code::invalid_argument, "a message of 0 partitions", {}, "Use 1 partition or more");
  if (cut.bytes_each > std::numeric_limits<std::uint64_t>::max() / cut.partitions)
    return Status(Code::invalid_argument, fmt::format("{} are more bytes than an address can count", text(cut)), {},
                  "Check the size of a partition, which is in bytes");
  return {};
}

PartitionRange covering(PartitionRange range, const PartitionCut& of, const PartitionCut& by) {
  if (of.bytes_each == 0 || by.bytes_each == 0) return {0, by.partitions};
  const std::uint64_t first = range.begin * of.bytes_each, last = range.end * of.bytes_each - 1;
  return {static_cast<std::uint32_t>(first / by.bytes_each), static_cast<std::uint32_t>(last / by.bytes_each + 1)};
}

std::vector<PartitionRange> runs_of(std::span<const std::uint32_t> partitions) {
  std::vector<PartitionRange> runs;
  for (const std::uint32_t partition : partitions) {
    if (!runs.empty() && runs.back().end == partition)
      ++runs.back().end;
    else
      runs.push_back({partition, partition + 1});
  }
  return runs;
}

}  // namespace sennit::path
