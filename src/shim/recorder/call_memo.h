// What a call of MPI came to, remembered for the next one with the same arguments: to describe a call takes a dozen
// questions to the MPI, and programs make the same calls again and again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "profile/recorder.h"
#include "shim/mpi/call/description.h"
#include "shim/mpi/call/frame.h"
#include "shim/recorder/communicators.h"
#include "shim/recorder/ending_call.h"

namespace sennit::shim::recorder {

/// A record of a call, but for what is new each time: times, memory, tag, number.
struct DescribedCall {
  profile::Call call{};
  KnownCommunicator* communicator = nullptr;
  mpi::Argument input = mpi::kAbsent, output = mpi::kAbsent;  ///< the buffers whose memory the record names
  int to = -1;                                                ///< whom a message goes to, in the job
  profile::Recorder::Found<profile::Sum> sum;
  profile::Recorder::Found<profile::Peer> sent, received;
};

/// The arguments that decide what a function's call comes to: all but those that are new each time.
class DecidingArguments {
 public:
  static constexpr std::size_t kMost = 10;

  constexpr DecidingArguments() = default;
  explicit DecidingArguments(const mpi::Description& of) {
    for (const mpi::Argument one : {of.comm, of.op, of.root, of.dest, of.source, of.target_rank, of.partitions})
      add(one);
    for (std::size_t i = 0; i < of.buffers; ++i) {
      add(of.buffer[i].elements);
      if (of.buffer[i].differs_in_place) add(of.buffer[i].in_place);
    }
  }
  /// Whether there are no arrays among them, whose content would have to be remembered too.
  bool are_few() const { return are_few_; }

  struct Key {
    std::array<mpi::Bits, kMost> bits;
    std::uint64_t hash;
  };
  /// `is_special(address)`: 1 or 2 for a buffer that is none, or in place; else 0.
  template <class Special>
  void read(const mpi::Frame& frame, const Special& is_special, Key& key) const {
    std::uint64_t hash = 0, special = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      key.bits[i] = frame.bits[static_cast<std::size_t>(at_[i])];
      hash += key.bits[i] * kOdd[i];
    }
    for (std::size_t i = 0; i < frame.of->buffers; ++i)
      special = 4 * special + is_special(frame.pointer(frame.of->buffer[i].address));
    key.bits[count_] = special;
    key.hash = hash + special;
  }
  bool are_equal(const Key& one, const Key& other) const {
    for (std::size_t i = 0; i <= count_; ++i)
      if (one.bits[i] != other.bits[i]) return false;
    return true;
  }

 private:
  static constexpr std::array<std::uint64_t, kMost> kOdd = {
      0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu, 0xd6e8feb86659fd93u, 0xa0761d6478bd642fu,
      0xe7037ed1a0b428dbu, 0x8ebc6af09c88c6e3u, 0x589965cc75374cc3u, 0x1d8e4e27c47d124fu, 0xeb44accab455d165u};

  void add(const mpi::ElementsOf& elements) {
    using mpi::Layout;
    are_few_ = are_few_ && (elements.layout == Layout::one || elements.layout == Layout::bytes ||
                            elements.layout == Layout::equal);
    add(elements.count);
    add(elements.type);
  }
  void add(mpi::Argument argument) {
    if (argument == mpi::kAbsent || !are_few_) return;
    for (std::size_t i = 0; i < count_; ++i)
      if (at_[i] == argument) return;
    if (std::size_t{count_} + 1 < kMost)
      at_[count_++] = argument;
    else
      are_few_ = false;
  }

  std::array<mpi::Argument, kMost> at_{};
  std::uint8_t count_ = 0;
  bool are_few_ = true;
};

/// A thread's. What was described before something was freed may be of another thing with the same handle: it counts
/// no more once the epoch is another one.
class CallMemos {
 public:
  struct Memo {
    std::uint64_t epoch = 0;  ///< 0: it is not to be kept
    std::size_t entry = 0;
    DecidingArguments::Key key{};
    DescribedCall described;
  };
  /// The call's place: it has what the call came to, or `is_new`.
  Memo& find(const DecidingArguments& of, std::size_t entry, std::uint64_t epoch, const DecidingArguments::Key& key,
             bool& is_new) {
    Memo& memo = memos_[((key.hash + entry) * 0x9e3779b97f4a7c15u) >> (64 - kBits)];
    is_new = memo.epoch != epoch || memo.entry != entry || !of.are_equal(memo.key, key);
    if (is_new) memo = {epoch, entry, key, {}};
    return memo;
  }
  /// The place of one that is not kept.
  Memo& unkept() { return memos_.back() = Memo(); }
  RoomForRequests& room() { return room_; }

 private:
  static constexpr unsigned kBits = 7;
  std::array<Memo, (std::size_t{1} << kBits) + 1> memos_{};
  RoomForRequests room_;
};

}  // namespace sennit::shim::recorder
