// Lets ranks that are about to make a communicator find out if all of them run with sennit on one machine, and meet
// beside NCCL.
//
// A rank publishes itself before NCCL makes the communicator, which no rank has before all have come. So whoever is
// not there afterwards will never be: without waiting, and on every rank alike, it is known who takes part. Ranks
// publish sockets in Unix's abstract namespace: no file is left behind, whatever happens.
//
// The ranks of a communicator that grows share no key. The old ranks know the communicator, the new ones an id of
// NCCL's, and one old rank, the bridge, both. So all publish themselves in two places: the old ranks by what they
// share already, the bridge and the new ranks by the id. The bridge sees both, and tells all if they are complete,
// and the old ranks the id's key.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "comm/exchange.h"
#include "shim/nccl/abi/abi.h"

namespace sennit::shim::nccl {

/// Returns this build, as all its ranks name it.
std::string own_build();
/// Returns a key of what ranks share already, and strangers do not. Another build may meet otherwise, and lays its
/// memory out in another way: its ranks are as if they were not there.
std::string key_of(std::string_view shared, std::string_view build = own_build());

class LocalRendezvous {
 public:
  /// Publishes number `index` of `most`. `key`: what these ranks know and no others, such as NCCL's unique id. Where
  /// that fails, all ranks will see that this one is not there.
  LocalRendezvous(std::string key, int index, int most);

  /// Ok if this rank published itself. Errors: those of comm::listen_unix.
  const Status& published() const { return published_; }
  /// Returns who is there, ascending. To be called once NCCL has made the communicator.
  std::vector<int> present() const;
  const std::string& key() const { return key_; }
  int index() const { return index_; }
  int most() const { return most_; }

  /// Collective among `size` ranks, all that are present, of which this is number `rank`. Errors: those of
  /// comm::host_exchange and comm::guest_exchange.
  Result<std::unique_ptr<comm::Exchange>> meet(int rank, int size) const;

 private:
  std::string name(std::string_view who) const;

  std::string key_, node_;
  int index_, most_;
  Status published_;
  UniqueFd there_;  // listens as long as others may look
};

/// The rendezvous of a communicator that grows.
class GrowRendezvous {
 public:
  /// The new key of all ranks, and an exchange among them by their new numbers.
  struct Met {
    std::string key;
    std::unique_ptr<comm::Exchange> exchange;
  };

  /// Publishes number `rank` of the `size` old ranks. `shared`: a key that these know and no others, another one
  /// whenever they grow. `id`: the bridge rank's, else null. `most`: of the communicator to come, by NCCL's argument.
  static GrowRendezvous of_old(std::string shared, int rank, int size, const UniqueId* id, int most);
  /// Publishes a new rank, that will have number `rank` of `most`.
  static GrowRendezvous of_new(const UniqueId& id, int rank, int most);

  /// Collective among those that published themselves; to be called once, when NCCL has made the communicator, in
  /// which this is number `rank` of `size`. Errors: unsupported where some did not, at once; those of
  /// LocalRendezvous::meet.
  Result<Met> meet(int rank, int size) const;

 private:
  GrowRendezvous() = default;
  /// Each returns the key by which all meet.
  Result<std::string> as_bridge(int size) const;
  Result<std::string> as_old() const;
  Result<std::string> as_new() const;

  int old_rank_ = 0, old_size_ = 0;
  std::string key_;                         // of the id; empty: an old rank that does not know it
  std::optional<LocalRendezvous> of_olds_;  // empty: this rank is new
  std::optional<LocalRendezvous>
      of_news_;  // of the new ranks and, behind them, the bridge; empty: this rank is neither
};

}  // namespace sennit::shim::nccl
