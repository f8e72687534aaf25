#include "coll/message.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include <fmt/format.h>

#include "base/units.h"
#include "coll/messages.h"
#include "device/launch.h"

namespace sennit::coll {

namespace {

constexpr unsigned kLines = FewMessages::kLines;
using Lines = std::array<std::vector<Message>, kLines>;

/// Returns a message's line, as Messages numbers them.
std::size_t line_of(const Message& message, const Team& team) {
  const int step = (message.peer - team.rank + team.size) % team.size;
  return 2 * static_cast<std::size_t>(step) + (message.sends ? 0 : 1);
}

Status check(const Lines& lines, const MessageBlocks& blocks) {
  for (const auto& line : lines)
    for (const Message& one : line)
      if (one.blocks == 0 || one.blocks > blocks.count)
        return Status(Code::invalid_argument, fmt::format("a message by {} blocks", one.blocks), {},
                      fmt::format("Use 1 to {}", blocks.count));
  const auto &from = lines[0], &to = lines[1];
  if (!std::ranges::equal(to, from, {}, &Message::bytes, &Message::bytes))
    return Status(Code::invalid_argument,
                  fmt::format("{} messages from this rank to itself, and {} that it receives, or other lengths",
                              from.size(), to.size()),
                  {}, "Receive them in the same call or group");
  return {};
}

/// Copies the messages of a rank that is alone, and has no scratch.
Status copy_own(const Lines& lines, device::Lane& lane) {
  for (std::size_t i = 0; i < lines[0].size(); ++i) {
    const Message &from = lines[0][i], &to = lines[1][i];
    if (to.at == from.at) continue;
    if (auto status = lane.copy(to.at, from.at, to.bytes); !status) return status;
  }
  return {};
}

template <unsigned kMost>
Status launch_lines(const Lines& lines, const Team& team, const MessageBlocks& blocks, device::Lane& lane) {
  Messages<kMost> program{{}, {}, team, MessageSlots::of(team.shape), blocks.first, blocks.shared};
  unsigned number = 0, most_blocks = 1, most_threads = 32;
  for (std::size_t i = 0; i < kLines; ++i) {
    for (const Message& one : lines[i]) {
      program.messages[number++] = {one.at, one.bytes, device::part_of(one.bytes, 0, one.blocks).end};
      most_blocks = std::max(most_blocks, one.blocks);
      most_threads = std::max(most_threads, one.threads);
    }
    program.ends[i] = static_cast<std::uint8_t>(number);
  }
  return device::launch(lane, program, most_blocks, most_threads);
}

}  // namespace

MessageSlots MessageSlots::of(const Shape& shape) {
  constexpr std::uint64_t kSlot = 16 * KiB, kMostSlots = 8;
  const std::uint64_t all = depth_of(Layout::direct) * shape.slot(Layout::direct);
  const std::uint64_t depth = std::clamp<std::uint64_t>(std::bit_floor(all / kSlot), 2, kMostSlots);
  return {static_cast<device::Word>(depth), Shape::whole(all / depth)};
}

Status send_receive(std::span<const Message> messages, const Team& team, const MessageBlocks& blocks,
                    device::Lane& lane) {
  Lines lines;
  std::size_t longest = 0;
  for (const Message& one : messages) {
    auto& line = lines[line_of(one, team)];
    line.push_back(one);
    longest = std::max(longest, line.size());
  }
  if (auto status = check(lines, blocks); !status) return status;
  if (team.size == 1) return copy_own(lines, lane);
  if (messages.size() <= FewMessages::kMostMessages)
    return launch_lines<FewMessages::kMostMessages>(lines, team, blocks, lane);
  // A rank that is at the first messages of its peers does not wait for one that is at later ones.
  for (std::size_t first = 0; first < longest;) {
    Lines some;
    std::size_t held = 0, last = first;
    for (; last < longest; ++last) {
      const auto row = static_cast<std::size_t>(
          std::ranges::count_if(lines, [&](const auto& line) { return last < line.size(); }));
      if (held + row > ManyMessages::kMostMessages) break;
      held += row;
      for (std::size_t i = 0; i < kLines; ++i)
        if (last < lines[i].size()) some[i].push_back(lines[i][last]);
    }
    if (auto status = launch_lines<ManyMessages::kMostMessages>(some, team, blocks, lane); !status) return status;
    first = last;
  }
  return {};
}

}  // namespace sennit::coll
