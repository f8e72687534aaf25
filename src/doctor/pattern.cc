#include "doctor/pattern.h"

#include <cstring>

#include <fmt/format.h>

namespace sennit::doctor {

std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> made(bytes);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  for (std::byte& byte : made) {  // a linear congruential generator; its high bits are the good ones
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    byte = std::byte(state >> 56);
  }
  return made;
}

Status put_bytes(device::Lane& lane, void* to, const std::vector<std::byte>& bytes, const device::Memory& pinned) {
  std::memcpy(pinned.data(), bytes.data(), bytes.size());
  if (Status status = lane.copy(to, pinned.data(), bytes.size()); !status) return status;
  return lane.synchronize();
}

Status expect_bytes(device::Lane& lane, const void* from, const std::vector<std::byte>& wanted,
                    const device::Memory& pinned) {
  // Poison: the complement differs from what is wanted in every byte, so that a copy that does nothing is noticed.
  for (std::size_t i = 0; i < wanted.size(); ++i) pinned.data()[i] = ~wanted[i];
  if (Status status = lane.copy(pinned.data(), from, wanted.size()); !status) return status;
  if (Status status = lane.synchronize(); !status) return status;
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (pinned.data()[i] != wanted[i] && wrong++ == 0) first = i;
  if (wrong == 0) return {};
  return Status(Code::corrupt, fmt::format("{} of {} bytes are wrong, the first at {}", wrong, wanted.size(), first));
}

}  // namespace sennit::doctor
