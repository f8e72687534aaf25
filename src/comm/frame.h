// Carries one message on a connection between ranks: a fixed header, a body of known length, at most one open file.
#pragma once

#include <cstdint>
#include <optional>

#include "base/unique_fd.h"
#include "comm/deadline.h"
#include "comm/wire.h"

namespace sennit::comm {

/// Names what a frame says. Numbers are the wire format; kWireVersion changes with any of them.
enum class Kind : std::uint16_t {
  // Handshake (handshake.h).
  challenge = 1,
  join = 2,
  welcome = 3,
  refused = 4,
  // Exchange over TCP (tcp_exchange.cc).
  all_met = 10,
  item = 11,
  failed = 12,
  // Group (agent.h).
  segment = 20,
  goodbye = 21,
  fetch = 22,
  file = 23,
  failure = 24,
  word = 25,
  nudge = 26,
};

struct Frame {
  Kind kind{};
  Bytes body;
  UniqueFd file;
};

inline constexpr std::uint32_t kWireVersion = 3;
inline constexpr std::size_t kHeaderBytes = 16;
/// Largest item of an all_gather: 64 MiB, a limit of sennit's own, so that no peer can make us allocate more.
inline constexpr std::uint64_t kLargestItem = 64ull << 20;
/// Largest body of every other frame.
inline constexpr std::uint64_t kSmallFrame = 16ull << 10;
/// Largest control message between ranks (agent.h): the rest of such a frame says whose it is, for whom, and how
/// long.
inline constexpr std::uint64_t kLargestWord = kSmallFrame - 24;

/// Returns the header that announces `frame`.
Bytes encode_header(const Frame& frame);

/// Reads frames off a non-blocking socket. Never reads past the current frame (so that an open file always
/// belongs to it), and never allocates more than 1 MiB ahead of the bytes that really came.
class FrameReader {
 public:
  explicit FrameReader(std::uint64_t limit = kSmallFrame) : limit_(limit) {}

  /// Returns a whole frame, or no value while it has not come. Errors: peer_lost when the connection ended; corrupt
  /// when what came is no frame of this version, or larger than the limit. After an error the connection is of no
  /// use.
  Result<std::optional<Frame>> next(int fd);

 private:
  Status accept_header();
  std::uint64_t limit_;
  std::uint64_t length_ = 0;  ///< of the body, once the header is whole
  bool in_body_ = false;
  bool carries_file_ = false;
  std::size_t filled_ = 0;
  Bytes buffer_ = Bytes(kHeaderBytes);
  Frame frame_;
};

/// Holds what is still to be sent of one frame.
class FrameWriter {
 public:
  explicit FrameWriter(Frame frame);
  /// Sends what the socket takes. True when all is sent; errors: peer_lost.
  Result<bool> advance(int fd);

 private:
  Bytes bytes_;
  UniqueFd file_;
  std::size_t sent_ = 0;
};

/// Sends a whole frame. Errors: peer_lost; timed_out.
Status send_frame(int fd, Frame frame, Deadline deadline);
/// Waits for a whole frame. Errors: as FrameReader::next; timed_out.
Result<Frame> receive_frame(int fd, FrameReader& reader, Deadline deadline);
/// Waits for a whole frame. Errors: also corrupt, when it is not of the kind expected.
Result<Frame> receive_frame(int fd, Kind kind, Deadline deadline);

}  // namespace sennit::comm
