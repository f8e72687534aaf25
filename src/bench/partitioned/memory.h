// Makes what a message holds, checks what came of it, and empties caches; none of it is timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sennit::bench::partitioned {

/// Writes the message of an iteration: the one after it has another byte at every place, and no message has the same
/// eight bytes at two places.
void fill(std::span<std::byte> message, int iteration);
/// Overwrites what a message is received into by what no message of this iteration has there.
void spoil(std::span<std::byte> message, int iteration);
/// Returns where a message is wrong first; every byte is compared.
std::optional<std::uint64_t> first_wrong(std::span<const std::byte> message, int iteration);

/// Returns the bytes of the largest cache that a core has to do with; 32 MiB where the kernel does not say.
std::uint64_t last_level_cache();

/// Writes so many bytes that nothing else is left in caches.
class Flush {
 public:
  /// `bytes`: twice the last cache's.
  explicit Flush(std::uint64_t bytes) : lines_(bytes) {}
  void operator()();

 private:
  std::vector<std::uint8_t> lines_;
};

}  // namespace sennit::bench::partitioned
