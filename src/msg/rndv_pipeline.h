// Moves long messages from GPU memory to ranks of other nodes (rndv_pipeline), in chunks: the copy from the GPU, the
// way between the nodes and the copy to the GPU go on at once, where a message that is staged does one after the
// other.
//
// 1. The sender sends an RTS in the message's place, with the same envelope, so that the program's library matches
//    messages, in its own order, with every wildcard. It does so only for a rank that looks at all it receives.
// 2. Whoever receives the RTS knows it by a number that the job drew at its start, and answers by the carrier: an
//    RTR, or that the message is not wanted, as it is longer than its receive allows.
// 3. From then on chunks travel there, from pinned memory to pinned memory, each as soon as a buffer is free at both
//    ends (chunk_stages.h). Into host memory they are received where they belong.
// 4. A sender that cannot go on sends an empty chunk.
//
// An RTS's length tells its slot (rts.h; each slot has a step of its own), and a slot's two tags are of that message
// alone. A receiver sends an RTR when it has buffers, to the messages of a sender in their order; a sender that
// receives it has buffers of its own. So no message waits for a buffer of one that waits for it.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "msg/carrier.h"
#include "msg/look_alikes.h"
#include "msg/rts.h"
#include "msg/transfer.h"
#include "stage/copy_queue.h"
#include "stage/gpus.h"
#include "stage/pinned_pool.h"

namespace sennit::msg {

class Pipeline {
 public:
  /// Defaults: a chunk takes far longer on any network than a copy takes to begin, and four keep all stages at work.
  static constexpr std::uint64_t kChunk = 1 << 20;
  static constexpr int kBuffers = 4;
  /// Messages of one sender that come at once: the next one's first chunks are under way while the last one's come.
  static constexpr int kAtOnce = 2;

  /// Describes what is sent in the place of a message. It travels between processes of one build: plain memory.
  struct Rts {
    std::uint64_t job[2];  ///< how it is known
    std::uint64_t number;  ///< of this sender's RTSs, from 1
    std::uint64_t bytes;   ///< of the message
    std::int32_t sender;   ///< in the group
    std::int32_t slot;     ///< of the sender's
  };
  static_assert(sizeof(Rts) <= msg::Rts::length_of(0));

  /// `rank`: this one. `job`: drawn at random, the same on all ranks. `look_alikes`: of all this process sends. All
  /// outlive it.
  Pipeline(Carrier& carrier, int rank, std::array<std::uint64_t, 2> job, stage::Gpus& gpus, stage::PinnedPool& host,
           LookAlikes& look_alikes)
      : carrier_(carrier), rank_(rank), job_(job), gpus_(gpus), host_(host), look_alikes_(look_alikes) {}

  /// Makes a message of memory of `device`, without gaps, to `to.dest` on another node; null where too many are on
  /// their way. Its RTS is to be sent then.
  std::unique_ptr<SendTransfer> announce(const void* data, std::uint64_t bytes, int device, const Envelope& to);

  /// Returns whether what was received is an RTS.
  bool is_rts(const void* data, std::uint64_t bytes) const {
    std::uint64_t first[2];
    if (bytes < sizeof(Rts)) return false;
    std::memcpy(first, data, sizeof first);
    return first[0] == job_[1] && first[1] == job_[0];  // of a message of the same node the other way round
  }
  /// Begins to bring the message to memory of a GPU, or of the host (`device`: -1).
  std::unique_ptr<RecvTransfer> fetch(const Rts& rts, void* to, int device);
  /// Says that the message is not wanted.
  void refuse(const Rts& rts);

  /// Answers as Messages::announced() does, for a sender on another node, which it asks.
  std::optional<std::uint64_t> announced(int sender, int tag, std::uint64_t members, std::uint64_t bytes, bool taken);

 private:
  class End;
  class Send;
  class Recv;
  static constexpr std::uint64_t kRtr = 1, kNotWanted = 2;
  static constexpr int answer_tag(int slot) { return 2 * slot; }
  static constexpr int chunk_tag(int slot) { return 2 * slot + 1; }

  Result<stage::CopyQueue*> queue(int device, bool up);
  /// Returns whether this message of a sender's may come now, which is asked again and again; then it is one that
  /// comes.
  bool admit(const Recv& message);
  void leave(const Recv& message);
  void note_received(const Rts& rts);
  /// Sends an answer whose end is not waited for.
  void answer(const Rts& rts, std::uint64_t what);

  Carrier& carrier_;
  const int rank_;
  const std::array<std::uint64_t, 2> job_;
  stage::Gpus& gpus_;
  stage::PinnedPool& host_;
  LookAlikes& look_alikes_;

  std::mutex mutex_;
  std::bitset<msg::Rts::kSlots> slots_;  // in use
  std::uint64_t numbers_ = 0;
  std::map<std::pair<int, int>, std::uint64_t> received_;                     // by sender and slot: the latest number
  std::map<std::pair<int, bool>, std::unique_ptr<stage::CopyQueue>> queues_;  // by device, and whether to it
  struct Incoming {
    std::deque<const Recv*> waiting;
    std::vector<const Recv*> coming;
  };
  std::map<int, Incoming> incoming_;  // by sender
  struct Answer {
    std::uint64_t what;
    Carrier::Request request;
  };
  std::deque<std::unique_ptr<Answer>> answers_;  // on their way
};

}  // namespace sennit::msg
