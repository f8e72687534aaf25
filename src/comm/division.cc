#include "comm/division.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "comm/bootstrap.h"

namespace sennit::comm {

Bytes write(const Wish& wish) {
  Writer writer;
  for (const int value : {wish.color, wish.key, wish.node}) writer.number(static_cast<std::uint64_t>(value));
  return writer.take();
}

Result<Wish> read_wish(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  Wish wish;
  for (int* value : {&wish.color, &wish.key, &wish.node}) *value = static_cast<int>(reader.number());
  if (auto status = reader.finish(); !status) return status;
  return wish;
}

Result<Seat> seat_of(std::span<const Wish> wishes, int rank) {
  std::map<int, std::vector<int>> parts;
  for (int other = 0; other < static_cast<int>(wishes.size()); ++other)
    if (const int color = wishes[std::size_t(other)].color; color >= 0) parts[color].push_back(other);
  const auto wish = [&](int of) -> const Wish& { return wishes[std::size_t(of)]; };
  for (const auto& [color, part] : parts)
    for (const int other : part)
      if (wish(other).node != wish(part.front()).node)
        return Status(
            Code::unsupported,
            fmt::format("ranks {} and {} give color {} and are on different nodes", part.front(), other, color), {},
            "Give each node a color of its own, or create a communicator with an exchange of your own");
  if (wish(rank).color < 0) return Seat{};
  std::vector<int>& part = parts[wish(rank).color];
  std::ranges::sort(part, {}, [&](int other) { return std::tuple(wish(other).key, other); });
  return Seat{static_cast<int>(std::ranges::find(part, rank) - part.begin()), static_cast<int>(part.size()),
              part.front()};
}

Result<Part> divide(Exchange& whole, const Wish& mine) {
  auto cards = agree(whole, {}, write(mine));
  if (!cards) return cards.status();
  std::vector<Wish> wishes;
  for (const Bytes& card : *cards) {
    auto wish = read_wish(card);
    if (!wish) return wish.status();
    wishes.push_back(*wish);
  }
  auto seat = seat_of(wishes, whole.rank());
  if (!seat) return seat.status();

  Part part;
  part.place.rank = seat->rank;
  part.place.size = part.place.local_size = seat->size;
  part.place.launcher = "sennit_comm_split";
  Rendezvous own;
  Status status;
  if (seat->size > 1 && seat->rank == 0) {
    auto opened = open_rendezvous();
    status = opened.status();
    if (opened.ok()) own = std::move(*opened);
  }
  auto told = agree(whole, status, Writer().text(own.address).text(own.secret).take());
  if (!told) return told.status();
  Reader first((*told)[std::size_t(seat->first)]);
  part.place.rendezvous = first.text();
  part.place.secret = first.text();
  if (status = first.finish(); !status.ok()) return status;
  part.listener = std::move(own.listener);
  return part;
}

}  // namespace sennit::comm
