// Declares what messages between nodes need of the library that the program uses.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"

namespace sennit::msg {

/// Holds what a rank announces in one of its slots, for ranks that probe for it.
struct Announced {
  std::uint64_t number = 0;   ///< of the sender's RTSs, from 1
  std::uint64_t bytes = 0;    ///< of the message
  std::uint64_t members = 0;  ///< as Envelope
  int dest = -1, tag = 0;
  bool operator==(const Announced&) const = default;
};

/// Carries bytes between ranks, beside the program's own messages and without meeting them. Any thread may call it.
class Carrier {
 public:
  /// A send or a receive that has begun.
  using Request = std::uint64_t;

  virtual ~Carrier() = default;
  /// Returns the name of the way that messages take by the carrier, for the report.
  virtual std::string_view plan() const = 0;
  /// The memory stays until sent() or received() has said that the request is over.
  virtual Result<Request> send(const void* data, std::uint64_t bytes, int rank, int tag) = 0;
  virtual Result<Request> receive(void* data, std::uint64_t bytes, int rank, int tag) = 0;
  /// Returns whether a send is over. With true and with an error the request is gone.
  virtual Result<bool> sent(Request request) = 0;
  /// Returns the bytes that have come, once they have. With these and with an error the request is gone.
  virtual Result<std::optional<std::uint64_t>> received(Request request) = 0;
  /// Gives up a receive; received() says that it is over, unless its bytes are on their way already. Returns whether
  /// that could be asked.
  virtual bool cancel(Request request) = 0;
  /// Says what this rank announces in a slot from now on; no value: nothing.
  virtual void publish(int slot, const std::optional<Announced>& what) = 0;
  /// Returns what a rank of another node announces in a slot now. Waits for the answer.
  virtual std::optional<Announced> published(int rank, int slot) = 0;
};

}  // namespace sennit::msg
