#include "comm/division.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "comm/bootstrap.h"

namespace sennit::comm {

Bytes write(const SplitRequest& request) {
  Writer writer;
  for (const int value : {request.color, request.key, request.node}) writer.number(static_cast<std::uint64_t>(value));
  return writer.take();
}

Result<SplitRequest> read_split_request(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  SplitRequest request;
  for (int* value : {&request.color, &request.key, &request.node}) *value = static_cast<int>(reader.number());
  if (auto status = reader.finish(); !status) return status;
  return request;
}

Result<Seat> seat_of(std::span<const SplitRequest> requests, int rank) {
  std::map<int, std::vector<int>> parts;
  for (int other = 0; other < static_cast<int>(requests.size()); ++other)
    if (const int color = requests[std::size_t(other)].color; color >= 0) parts[color].push_back(other);
  const auto request = [&](int of) -> const SplitRequest& { return requests[std::size_t(of)]; };
  for (const auto& [color, part] : parts)
    for (const int other : part)
      if (request(other).node != request(part.front()).node)
        return Status(
            Code::unsupported,
            fmt::format("ranks {} and {} give color {} and are on different nodes", part.front(), other, color), {},
            "Give each node a color of its own, or create a communicator with an exchange of your own");
  if (request(rank).color < 0) return Seat{};
  std::vector<int>& part = parts[request(rank).color];
  std::ranges::sort(part, {}, [&](int other) { return std::tuple(request(other).key, other); });
  return Seat{static_cast<int>(std::ranges::find(part, rank) - part.begin()), static_cast<int>(part.size()),
              part.front()};
}

Result<Part> divide(Exchange& whole, const SplitRequest& mine) {
  auto cards = agree(whole, {}, write(mine));
  if (!cards) return cards.status();
  std::vector<SplitRequest> requests;
  for (const Bytes& card : *cards) {
    auto request = read_split_request(card);
    if (!request) return request.status();
    requests.push_back(*request);
  }
  auto seat = seat_of(requests, whole.rank());
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
