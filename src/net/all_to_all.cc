#include "net/all_to_all.h"

#include <algorithm>

#include "net/relay.h"

namespace sennit::net {

namespace {

std::uint64_t whole_grains(std::uint64_t bytes) {
  return (bytes + kGrain - 1) / kGrain * kGrain;
}

}  // namespace

std::vector<Round> rounds_of(int nodes, std::uint64_t longest, std::uint64_t most) {
  std::vector<Round> rounds;
  if (longest == 0) return rounds;
  // Equal ones: a short one behind long ones would only add its start-up time.
  const std::uint64_t largest = std::max(most / kGrain * kGrain, kGrain);
  const std::uint64_t count = (longest + largest - 1) / largest, step = whole_grains((longest + count - 1) / count);
  for (std::uint64_t at = 0; at < longest; at += step)
    for (int distance = 1; distance < nodes; ++distance)
      rounds.push_back({distance, at, std::min(at + step, longest)});
  rounds.push_back({0, 0, longest});
  return rounds;
}

void Packed::add(std::uint64_t length) {
  lengths.push_back(length);
  places.push_back(bytes);
  bytes += whole_grains(length);
}

}  // namespace sennit::net
