#include "comm/secret.h"

#include <sys/random.h>

#include <cerrno>

#include "comm/socket.h"

namespace sennit::comm {

std::string hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte b : bytes) {
    text += kDigits[std::size_t(b >> 4)];
    text += kDigits[std::size_t(b & std::byte{15})];
  }
  return text;
}

Result<std::string> random_hex(std::size_t count) {
  Bytes bytes(count);
  for (std::size_t filled = 0; filled < count;) {
    const ssize_t got = ::getrandom(bytes.data() + filled, count - filled, 0);
    if (got > 0)
      filled += std::size_t(got);
    else if (errno != EINTR)
      return system_status("get random bytes", errno, "Check that the sandbox allows getrandom(2)");
  }
  return hex(bytes);
}

Digest prove(std::string_view secret, std::string_view who, const Talk& talk) {
  const Bytes said = Writer()
                         .text("sennit")
                         .text(who)
                         .text(talk.purpose)
                         .number(std::uint64_t(talk.host))
                         .number(std::uint64_t(talk.guest))
                         .number(std::uint64_t(talk.size))
                         .text(talk.host_nonce)
                         .text(talk.guest_nonce)
                         .take();
  return hmac_sha256(std::as_bytes(std::span(secret)), said);
}

}  // namespace sennit::comm
