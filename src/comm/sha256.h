// Computes SHA-256 (FIPS 180-4) and HMAC (RFC 2104), by which ranks prove to each other that they belong to one job.
// It is ours rather than a library's, so that a drop-in brings no cryptography library into the programs it enters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sennit::comm {

using Digest = std::array<std::byte, 32>;

class Sha256 {
 public:
  Sha256& add(std::span<const std::byte> data);
  Sha256& add(std::string_view text) { return add(std::as_bytes(std::span(text))); }
  /// Ends the message; the object must not be used afterwards.
  Digest finish();

 private:
  void block(const std::byte* data);
  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> buffer_{};
  std::size_t buffered_ = 0;
  std::uint64_t total_ = 0;
};

Digest sha256(std::string_view text);
Digest hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message);

/// Compares in time that does not depend on where they differ.
bool same_digest(const Digest& a, const Digest& b);

}  // namespace sennit::comm
