// Long messages from GPU memory to ranks of other nodes, by pieces: the copy from the GPU, the way between the nodes
// and the copy to the GPU go on at once, where a message that is staged does one after the other.
//
// 1. The sender sends a card in the message's place, with the same envelope, so that the MPI itself matches messages,
//    in its own order, with every wildcard. It does so only for a rank that looks at all it receives (peer_query.h).
// 2. Whoever receives the card knows it by a number that the job drew at its start, and answers by a
//    communicator that only the drop-in has: go, or that the message is not wanted, as it is longer than its
//    receive allows.
// 3. From then on pieces travel there, from pinned memory to pinned memory, each as soon as a buffer is free at both
//    ends (stages.h). Into host memory they are received where they belong.
// 4. A sender that cannot go on sends an empty piece.
//
// A card's length tells its slot (rts.h; each slot has a step of its own), and a slot's two tags are of that
// message alone. A receiver says go when it has buffers, to the messages of a sender in their order; who has
// heard it has buffers of its own. So no message waits for a buffer of one that waits for it.
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

#include "shim/mpi/abi/mpi.h"
#include "shim/mpi/comm/peer_query.h"
#include "shim/mpi/p2p/look_alikes.h"
#include "shim/mpi/p2p/rts.h"
#include "shim/mpi/p2p/transfer.h"
#include "stage/copy_queue.h"
#include "stage/gpus.h"
#include "stage/pinned_pool.h"

namespace sennit::shim::mpi {

class Pipeline {
 public:
  /// Shorter messages are staged. A default: four pieces, of which the first and the last overlap with nothing.
  static constexpr std::uint64_t kLeast = 4 << 20;
  /// Defaults: a piece takes far longer on any network than a copy takes to begin, and four keep all stages at work.
  static constexpr std::uint64_t kPiece = 1 << 20;
  static constexpr int kBuffers = 4;
  /// Messages of one sender that come at once: the next one's first pieces are under way while the last one's come.
  static constexpr int kAtOnce = 2;

  /// What is sent in the place of a message. Between processes of one build: plain memory.
  struct Card {
    std::uint64_t job[2];  ///< how it is known
    std::uint64_t number;  ///< of this sender's cards, from 1
    std::uint64_t bytes;   ///< of the message
    std::int32_t sender;   ///< in MPI_COMM_WORLD
    std::int32_t slot;     ///< of the sender's
  };
  static_assert(sizeof(Card) <= Rts::length_of(0));

  /// `comm`: of all ranks of MPI_COMM_WORLD, in their order, and of nobody else; `rank`: this one. `job`: drawn at
  /// random, the same on all of them. `look_alikes`: of all this process sends. All outlive it.
  Pipeline(const Mpi& mpi, Handle comm, int rank, std::array<std::uint64_t, 2> job, PeerQuery& peer_query,
           stage::Gpus& gpus, stage::PinnedPool& host, LookAlikes& look_alikes)
      : mpi_(mpi),
        comm_(comm),
        rank_(rank),
        job_(job),
        peer_query_(peer_query),
        gpus_(gpus),
        host_(host),
        look_alikes_(look_alikes) {}

  /// A message of memory of `device`, without gaps, to `to.dest` on another node; none where too many are on their
  /// way. The card is to be sent then.
  std::unique_ptr<SendTransfer> announce(const void* data, std::uint64_t bytes, int device, const Envelope& to);

  /// Whether what was received is a card.
  bool is_card(const void* data, std::uint64_t bytes) const {
    std::uint64_t first[2];
    if (bytes < sizeof(Card)) return false;
    std::memcpy(first, data, sizeof first);
    return first[0] == job_[1] && first[1] == job_[0];  // of an RTS the other way round
  }
  /// Begins to bring the message to memory of a GPU, or of the host (`device`: -1). `matched`: as Messages::fetch();
  /// of no matter, since no two cards are alike.
  std::unique_ptr<RecvTransfer> fetch(const Card& card, bool matched, void* to, int device);
  /// The message is not wanted.
  void refuse(const Card& card, bool matched);

  /// As Messages::announced(), of a sender on another node, which it asks.
  std::optional<std::uint64_t> announced(int sender, int tag, std::uint64_t members, std::uint64_t bytes, bool taken);

 private:
  class Moving;
  class PipelinedSend;
  class PipelinedRecv;
  static constexpr std::uint64_t kGo = 1, kNotWanted = 2;
  static constexpr int answer_tag(int slot) { return 2 * slot; }
  static constexpr int piece_tag(int slot) { return 2 * slot + 1; }

  Result<stage::CopyQueue*> line(int device, bool up);
  /// Whether this message of a sender's may come now, which is asked again and again; then it is one that comes.
  bool admit(const PipelinedRecv& arriving);
  void leave(const PipelinedRecv& arriving);
  void looked_at(const Card& card);
  /// Sends an answer that nobody waits for.
  void answer(const Card& card, std::uint64_t what);

  const Mpi& mpi_;
  const Handle comm_;
  const int rank_;
  const std::array<std::uint64_t, 2> job_;
  PeerQuery& peer_query_;
  stage::Gpus& gpus_;
  stage::PinnedPool& host_;
  LookAlikes& look_alikes_;

  std::mutex mutex_;
  std::bitset<Rts::kSlots> slots_;  // in use
  std::uint64_t numbers_ = 0;
  std::map<std::pair<int, int>, std::uint64_t> looked_;                      // by sender and slot: the latest number
  std::map<std::pair<int, bool>, std::unique_ptr<stage::CopyQueue>> lines_;  // by device, and whether to it
  struct Queue {
    std::deque<const PipelinedRecv*> waiting;
    std::vector<const PipelinedRecv*> coming;
  };
  std::map<int, Queue> queues_;  // by sender
  struct Answer {
    std::uint64_t what;
    Handle request;
  };
  std::deque<std::unique_ptr<Answer>> answers_;  // on their way
};

}  // namespace sennit::shim::mpi
