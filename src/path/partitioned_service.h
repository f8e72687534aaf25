// Makes the ends of partitioned messages, matches them with their peers', and serves them on the proxy thread.
//
// 1. Who makes an end tells the peer, by a control message that nobody waits for.
// 2. Control messages are lost where the peer has no service yet. So a service that begins greets all ranks of the
//    node, and who is greeted tells again.
// 3. The proxy thread hears them, and takes each end on towards the one that was told of (partitioned.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "path/partitioned.h"

namespace sennit::path {

/// Thread-safe.
class PartitionedService final : public Proxy::Client {
 public:
  /// `node` outlives it, and all ends. Errors: those of Proxy::of_this_process.
  static Result<std::unique_ptr<PartitionedService>> create(node::Node& node);
  ~PartitionedService() override;

  /// Makes an end, without waiting: [data, data + cut.bytes()) goes to, or comes from, `peer`. Errors:
  /// invalid_argument (no such rank, a cut or memory that cannot be), unsupported (another node; memory that peers
  /// cannot map), out_of_memory.
  Result<std::shared_ptr<PartitionedSend>> send(const void* data, PartitionCut cut, int peer, int tag);
  Result<std::shared_ptr<PartitionedReceive>> receive(void* data, PartitionCut cut, int peer, int tag);
  /// Ends it; see PartitionedEnd::close().
  void close(const std::shared_ptr<PartitionedEnd>& end);
  /// Ends all, and waits for what they have enqueued on lanes of their own. Nothing moves from now on.
  void stop();

 private:
  explicit PartitionedService(node::Node& node) : node_(node), mappings_(node.executor()) {}

  Found serve() override;
  void prepare_thread() override { node_.executor().prepare_thread(node_.device()); }
  Status check(const PartitionCut& cut, int peer) const;
  /// Gives the end its number, and tells the peer.
  void introduce(std::shared_ptr<PartitionedEnd> end);
  void tell(const PartitionedEnd& end);
  void hear(int from, const comm::Bytes& told);
  Result<device::Lane*> lane_to(int peer);
  std::vector<std::shared_ptr<PartitionedEnd>> ends();

  node::Node& node_;
  Mappings mappings_;
  std::shared_ptr<Proxy> proxy_;
  std::uint64_t client_ = 0;  // of the proxy
  std::mutex inbox_mutex_;    // held for moments: the agent's thread takes it
  std::vector<std::pair<int, comm::Bytes>> inbox_;
  std::mutex mutex_;                                    // guards what follows
  std::map<int, std::unique_ptr<device::Lane>> lanes_;  // by peer
  std::map<PartitionedName, std::uint64_t> made_;       // by name, number 0: how many
  std::map<PartitionedName, std::shared_ptr<PartitionedEnd>> ends_;
  std::map<PartitionedName, OtherEnd> early_;  // told of before this rank has made its end
};

}  // namespace sennit::path
