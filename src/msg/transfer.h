// Declares a message that the program has sent, and that its library does not carry as it is: its sender and its
// receiver look at these objects until it has come, whatever the protocol.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sennit::msg {

/// Shorter ones are copied several at once where one look finds them, so they are better found late, all together,
/// than soon, one by one: 64 both ways took half as long again (2 × H100). Longer ones keep engines busy from the
/// first on. What BatchedCopy takes.
constexpr std::uint64_t kMostTogether = 1 << 20;

class SendTransfer {
 public:
  SendTransfer() = default;
  virtual ~SendTransfer() = default;
  SendTransfer(const SendTransfer&) = delete;
  SendTransfer& operator=(const SendTransfer&) = delete;

  /// Returns the bytes that are sent in the message's place; length() says how many.
  virtual const void* sent() const = 0;
  virtual int length() const = 0;
  /// Returns the bytes of the message.
  virtual std::uint64_t bytes() const = 0;
  /// Returns the name of the way that the message takes, for the report.
  virtual std::string_view plan() const = 0;
  /// Describes that way for people, once it is taken, with all that is known of it.
  virtual std::string how() const { return std::string(plan()); }
  /// Returns whether the receiver has all of it, or does not want it: the sender's buffer is free then. To be asked
  /// until it says so: it moves only while it is asked. Errors: the receiver cannot have it.
  virtual Result<bool> test() = 0;
  /// The program waits or asks for its end; to be said before each test() then.
  virtual void is_waited_for() {}
  /// Returns whether the receiver waits for what test() would begin, as far as a look can tell that takes some ns.
  virtual bool has_rtr() const { return true; }
  /// Returns whether there will be no RTR, as far as a look can tell: the receiver copies itself.
  virtual bool is_claimed() const { return false; }
  /// Returns whether the send is over without its receiver, which may come at any time: the RTS is still needed.
  virtual bool is_buffered() const { return false; }
  /// Returns the receiver, of the group.
  virtual int peer() const = 0;
};

class RecvTransfer {
 public:
  RecvTransfer() = default;
  virtual ~RecvTransfer() = default;
  RecvTransfer(const RecvTransfer&) = delete;
  RecvTransfer& operator=(const RecvTransfer&) = delete;

  virtual std::uint64_t bytes() const = 0;
  virtual std::string_view plan() const = 0;
  /// Describes the message's way as SendTransfer::how() does, once it has come.
  virtual std::string how() const { return std::string(plan()); }
  /// Returns whether the message has come. To be asked until it has, as SendTransfer::test(). Errors: it never will.
  virtual Result<bool> test() = 0;
  /// Returns the sender, of the group.
  virtual int peer() const = 0;
};

}  // namespace sennit::msg
