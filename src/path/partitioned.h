// Partitioned messages between two ranks of a node: each part travels when its sender says that it is ready. Two ends
// that were made once are started again and again (MPI-5.0, chapter 4); each start has a number, from 1, and nothing
// is ever reset.
//
// 1. Each end tells the other's rank how it cuts the message, the sender where its words are (partitioned_words.h),
//    the receiver where the bytes go. The proxy threads open the one and map the other (partitioned_service.h).
// 2. A receiver that starts writes the number of the start.
// 3. A sender that makes partitions ready copies them, and behind them their arrival words, at once or in a stream's
//    order. What is ready before the receiver has started waits; the receiver rings when it starts, and the sender's
//    proxy thread, or a call of the sender's that comes first, begins the copies. It is always the sender that
//    copies: so no two processes have to agree who moves a partition.
// 4. Both ends are done when all arrival words have the start's number.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "node/node.h"
#include "path/file_fetch.h"
#include "path/mappings.h"
#include "path/offer.h"
#include "path/partition_cut.h"
#include "path/partitioned_words.h"
#include "path/proxy.h"

namespace sennit::path {

/// Names an end, which is matched with the end at the peer that has the same tag and number.
struct PartitionedName {
  int peer = -1;
  bool sends = false;  ///< this end does
  int tag = 0;
  std::uint64_t number = 0;  ///< among this rank's with the same peer, direction and tag, in the order they were made

  // clang-tidy takes the zero that this compares with for a null pointer.
  auto operator<=>(const PartitionedName&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// Holds what the other end has told.
struct OtherEnd {
  PartitionCut cut;
  std::uint64_t words = 0;  ///< of a sender: the number of its words' file
  Offered memory;           ///< of a receiver, if it has bytes
};

/// Does what both ends have in common. Thread-safe, but for close().
class PartitionedEnd {
 public:
  virtual ~PartitionedEnd() = default;

  const PartitionedName& name() const { return name_; }

  /// Begins the next start. Waits for nothing. Errors: invalid_argument (active already), mismatch (the other end has
  /// another number of bytes, or was freed), unsupported (the memory cannot be mapped), what ended the group.
  Status start();
  /// Returns whether the start is over; true without one. Then the end can be started again. Errors: those of
  /// start(), and invalid_argument, once, where a partition was wrongly made ready; the start is over then.
  Result<bool> test();
  /// Waits for that. Errors: those of test(), and timed_out, which names what is missing; the start goes on then.
  Status wait();
  /// ok where close() may be called. Errors: invalid_argument, a start is not over.
  Status may_close() const;
  /// Ends it: no call follows. Lanes that await its partitions must be done. A receiver waits until the sender's
  /// process does not map its memory any more.
  void close();

  // For the service:
  /// Takes what the other end has told; what is told again is passed over.
  void hear(OtherEnd other);
  /// Does what the proxy thread has to do for this end.
  Proxy::Client::Found serve();
  /// Ends it where the communicator ends: from now on it begins no copies.
  void stop();
  /// Writes what the other end is to be told.
  virtual void tell(comm::Writer& writer) const = 0;

 protected:
  PartitionedEnd(node::Node& node, Proxy& proxy, PartitionedName name, PartitionCut cut)
      : node_(node), proxy_(proxy), name_(name), cut_(cut) {}

  // With the mutex held:
  /// Goes on towards the other end, without waiting.
  virtual Proxy::Client::Found connect(const OtherEnd& other) = 0;
  /// Does what there is to do once both ends are known.
  virtual Proxy::Client::Found move_on() = 0;
  virtual void begin() {}
  /// Returns whether the other end is there no more.
  virtual bool other_is_freed() const = 0;
  /// Returns why the start was not done well, once.
  virtual Status take_misuse() { return {}; }
  /// Says what is missing, for people.
  virtual std::string missing() const = 0;
  /// Moves on, and returns whether the start is over, or what ended the message.
  Result<bool> is_over();
  /// Returns how the sender cuts the message.
  virtual const PartitionCut& senders_cut() const = 0;
  /// Notes what ends the message for good, if nothing has before.
  void fail(Status why);
  /// ok, or what ended the message or the group.
  Status state() const;
  /// Returns whether the sender's partitions have all arrived in this start.
  bool have_arrived(PartitionRange range) const;
  Result<bool> end_start();
  std::string about() const;

  // Without it:
  /// Tells the other end that this one is gone.
  virtual void let_go() = 0;
  /// Wakes what serves the other end.
  void ring();

  node::Node& node_;
  Proxy& proxy_;
  PartitionedName name_;
  const PartitionCut cut_;
  mutable std::mutex mutex_;
  std::optional<OtherEnd> other_;
  std::optional<FileFetch> fetch_;
  PartitionedWords words_;
  bool connected_ = false, active_ = false, closed_ = false;
  device::Word start_ = 0;
  std::uint32_t arrived_ = 0;  // all partitions below have, in this start
  Status failure_;             // what ended the message

  friend class PartitionedService;
};

/// The end that sends.
class PartitionedSend final : public PartitionedEnd {
 public:
  ~PartitionedSend() override;

  /// Makes partitions ready: they are only read from now on, until the start is over. Null: now, the caller has
  /// written them; the copy begins on a lane of the message's own. Else in the order of `stream`, which then has the
  /// copy too. Errors: invalid_argument (not started, out of range, ready before: nothing of the call moves, and the
  /// end of the start names it again); those of start(); those of the lane, which end the group.
  Status ready(std::span<const PartitionRange> ranges, device::Lane* stream);

 private:
  friend class PartitionedService;
  PartitionedSend(node::Node& node, Proxy& proxy, PartitionedName name, PartitionCut cut, const std::byte* data,
                  Mappings& mappings, device::Lane& lane)
      : PartitionedEnd(node, proxy, name, cut),
        data_(data),
        mappings_(mappings),
        lane_(lane),
        claimed_(cut.partitions) {}
  void tell(comm::Writer& writer) const override;
  Proxy::Client::Found connect(const OtherEnd& other) override;
  Proxy::Client::Found move_on() override;
  void begin() override { unclaimed_ = cut_.partitions; }
  bool other_is_freed() const override;
  void let_go() override;
  Status take_misuse() override { return std::exchange(misuse_, {}); }
  std::string missing() const override;
  const PartitionCut& senders_cut() const override { return cut_; }

  Status claim(std::span<const PartitionRange> ranges);
  /// Returns whether the receiver has begun this start, and its memory is mapped.
  bool may_move() const;
  void move(PartitionRange range, device::Lane& lane);

  /// Partitions that were made ready and have not begun to travel.
  struct Waiting {
    PartitionRange range;
    bool by_stream;  // their first one's ready word says when
  };

  const std::byte* const data_;
  Mappings& mappings_;
  device::Lane& lane_;
  std::uint64_t file_ = 0;  // of the words, as the group offers it
  std::shared_ptr<const Mapping> mapping_;
  std::byte* to_ = nullptr;
  std::vector<device::Word> claimed_;  // by partition: the start in which it was made ready
  std::uint32_t unclaimed_ = 0;        // partitions of this start
  std::vector<Waiting> waiting_;
  Status misuse_;  // the first of this start
};

/// The end that receives.
class PartitionedReceive final : public PartitionedEnd {
 public:
  /// Returns whether partitions of this end's cut have arrived in the latest start; true before the first. Errors:
  /// invalid_argument (out of range), those of start().
  Result<bool> arrived(PartitionRange range);
  /// Makes what follows in `lane` begin once they have arrived; it sees them. Waits on the host until both ends know
  /// each other. Errors: those of arrived(), of a bounded wait, and of the lane.
  Status enqueue_await(PartitionRange range, device::Lane& lane);

 private:
  friend class PartitionedService;
  PartitionedReceive(node::Node& node, Proxy& proxy, PartitionedName name, PartitionCut cut)
      : PartitionedEnd(node, proxy, name, cut) {}

  void tell(comm::Writer& writer) const override;
  Proxy::Client::Found connect(const OtherEnd& other) override;
  Proxy::Client::Found move_on() override;
  void begin() override;
  bool other_is_freed() const override;
  void let_go() override;
  std::string missing() const override;
  const PartitionCut& senders_cut() const override { return other_->cut; }
  Status check(PartitionRange range) const;

  Offer offer_;  // of the memory, if it has bytes
};

}  // namespace sennit::path
