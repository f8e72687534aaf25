// ProxyChannel is the host-staged path between two processes. A GPU shared by processes runs their kernels in turns,
// so a kernel of the sending process on the receiving GPU would make both wait for time slices (measured on 4 × H200:
// a 64 MiB exchange takes 1 to 2 ms instead of 0.18). Each process therefore launches only on its own GPU: the one
// that puts asks the other, through shared memory, to run the receiving end.
//
// 1. The asking side makes a memfd with the ring and a queue of requests, pins it, and offers it to the peer.
// 2. The peer's service, which its proxy thread runs, fetches, maps and pins it, and says that it is ready; until
//    then messages take other paths.
// 3. For a message the asking side posts the request, rings the peer's doorbell, and enqueues its own end on its
//    lane; the end first, where the message cannot start yet.
// 4. The service launches the other end as soon as the asking side's blocks have begun (their first count moves), so
//    that no processor is held while the asking lane still does other work; at once, when the message can start.
// 5. A service that cannot launch in time (the process frees memory, or loads code, behind a kernel that runs) comes
//    too late: the asking blocks have done without it, and what it launches then only brings the counts up to date.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "comm/group.h"
#include "path/engine_channel.h"
#include "path/proxy.h"
#include "path/ring_end.h"
#include "path/stream_owner.h"

namespace sennit::path {

/// Says which end the asking process runs itself.
enum class Direction : std::uint32_t { put = 0, get = 1 };

/// Holds what the service must know to run its end: plain words in shared memory.
struct Request {
  std::uint32_t window = 0;
  std::uint32_t blocks = 0;
  std::uint64_t offset = 0;  ///< in the window
  std::uint64_t bytes = 0;
  std::uint64_t chunk = 0;
  std::uint32_t begun = 0;      ///< block 0's name of the message, which the asking side publishes first: in produced
                                ///< (put) or in begun (get)
  std::uint32_t immediate = 0;  ///< 1: the message can start, launch at once
};

/// The memfd's layout: this header, then the ring at kRingOffset.
struct ProxyChannelHeader {
  static constexpr std::uint32_t kQueue = 64;  ///< requests in flight: a limit
  static constexpr std::uint32_t kReady = 1, kFailed = 2;
  std::uint64_t version;
  RingShape shape;
  std::uint32_t direction;
  alignas(64) std::atomic<std::uint32_t> posted;  ///< written by the asking side
  alignas(64) std::atomic<std::uint32_t> taken;   ///< written by the service
  alignas(64) std::atomic<std::uint32_t> ready;   ///< kReady: the service runs this ring; kFailed: it could not
  alignas(64) Request queue[kQueue];
};
inline constexpr std::uint64_t kRingOffset = 8192;
static_assert(sizeof(ProxyChannelHeader) <= kRingOffset);

/// The asking side for one peer and direction.
class ProxyChannel {
 public:
  static Result<std::unique_ptr<ProxyChannel>> create(device::Executor& executor, comm::Group& group, int device,
                                                      int peer, Direction direction, RingShape shape);
  ~ProxyChannel();

  /// One message, from `local` to `there` in the peer's window or back, as the direction says.
  struct Message {
    End there;
    std::byte* local = nullptr;
    std::uint64_t bytes = 0;
    int blocks = 0;  ///< this and `chunk` are cut to what the ring can carry
    std::uint64_t chunk = 0;
    device::Lane* lane = nullptr;  ///< the caller's, whose stream the message is part of
    SharedEvent fork;              ///< where in it the message starts
  };
  /// Enqueues this side's end. Where `there` is mapped, blocks whose helpers do not come move their parts over the
  /// direct path. Returns what is passed when the message has arrived; null, and nothing is done, where the message
  /// would wait for what need not be over when it starts: for the peer's service to open the path, for a place in the
  /// queue, or for a message of another stream (StreamOwner).
  Result<SharedEvent> try_send(const Message& message);
  /// Sends like try_send(), but waits for the peer, and in order behind other streams. Errors: unsupported when the
  /// peer cannot open the path; those of a bounded wait.
  Result<SharedEvent> send(const Message& message);
  const RingShape& shape() const { return end_->shape(); }

 private:
  ProxyChannel(device::Executor& executor, comm::Group& group, int peer, Direction direction)
      : executor_(executor), group_(group), peer_(peer), direction_(direction) {}

  device::Executor& executor_;
  comm::Group& group_;
  const int peer_;
  const Direction direction_;
  Status wait_until_ready();
  Result<SharedEvent> enqueue(const Message& message);  // with the mutex held, and room in the queue
  void post(std::uint32_t number);
  bool has_room() const;

  std::mutex mutex_;  // a message holds it while it is enqueued: both ends must see messages in the same order
  std::uint64_t offered_ = 0;
  device::Memory memory_, pinned_;  // memory_: the mapping; pinned_: its registration, ends first
  ProxyChannelHeader* header_ = nullptr;
  std::optional<RingEnd> end_;
  device::Word first_block_count_ = 0;
  StreamOwner stream_owner_;
  EventPool events_;
  // The counts are for the log: a helper that often comes too late makes the path slower than it is.
  void count_the_latest();
  device::Word latest_ = 0;  // block 0's name of the latest message; 0: none yet
  std::uint64_t messages_ = 0, without_help_ = 0;
};

/// Runs the other ends for all peers of the node, on the process's proxy thread.
class ProxyService final : public Proxy::Client {
 public:
  /// Returns where a window's bytes lie here. Errors: not_found for windows that were closed.
  using Resolve = std::function<Result<std::byte*>(std::uint32_t window, std::uint64_t offset, std::uint64_t bytes)>;

  /// Errors: those of Proxy::of_this_process.
  static Result<std::unique_ptr<ProxyService>> create(device::Executor& executor, comm::Group& group, int device,
                                                      Resolve resolve);
  ~ProxyService() override;

 private:
  struct Incoming;
  ProxyService(device::Executor& executor, comm::Group& group, int device, Resolve resolve);
  Found serve() override;
  void prepare_thread() override { executor_.prepare_thread(device_); }
  Found serve(int peer, Direction direction);
  /// Begins to fetch the ring that a peer offers. Nothing here waits for that peer: it may be stopped, and other
  /// communicators are served by the same thread.
  Status begin_to_open(Incoming& incoming, int peer, std::uint64_t offered);
  Status open(Incoming& incoming, int peer, const Result<UniqueFd>& file);

  device::Executor& executor_;
  comm::Group& group_;
  const int device_;
  const Resolve resolve_;
  std::map<std::pair<int, Direction>, std::unique_ptr<Incoming>> incoming_;
  std::shared_ptr<Proxy> proxy_;
  std::uint64_t client_ = 0;  // of the proxy
};

}  // namespace sennit::path
