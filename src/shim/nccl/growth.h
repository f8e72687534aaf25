// How the ranks of a communicator that grows find out whether all of them run with sennit on one machine, and meet
// beside NCCL. The old ranks know the communicator, the new ones an id of NCCL's, and one old rank, the elder, both.
//
// As in meeting.h, all announce themselves before NCCL makes the communicator, and whoever is not there afterwards
// will never be. Here they do so in two places: the old ranks by what they share already, the elder and the new ranks
// by the id. The elder sees both, and tells all whether they are complete, and the old ranks what they may meet the
// new ones by.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "comm/exchange.h"
#include "shim/nccl/abi.h"
#include "shim/nccl/meeting.h"

namespace sennit::shim::nccl {

class Growth {
 public:
  /// What all ranks share, and strangers do not, and an exchange among them by their new numbers.
  struct Met {
    std::string key;
    std::unique_ptr<comm::Exchange> exchange;
  };

  /// Announces number `rank` of the `size` old ranks. `shared`: a key that these know and no others, another one
  /// whenever they grow. `id`: the elder's, else null. `most`: of the communicator to come, by NCCL's argument.
  static Growth of_old(std::string shared, int rank, int size, const UniqueId* id, int most);
  /// Announces a new rank, that will have number `rank` of `most`.
  static Growth of_new(const UniqueId& id, int rank, int most);

  /// Once, when NCCL has made the communicator, in which this is number `rank` of `size`; collective among those that
  /// announced themselves. Errors: unsupported where some did not, at once; those of Meeting::meet.
  Result<Met> meet(int rank, int size) const;

 private:
  Growth() = default;
  /// Each of the three: the key by which all meet.
  Result<std::string> as_elder(int size) const;
  Result<std::string> as_old() const;
  Result<std::string> as_new() const;

  int old_rank_ = 0, old_size_ = 0;
  std::string key_;              // of the id; empty: an old rank that does not know it
  std::optional<Meeting> olds_;  // none: this one is new
  std::optional<Meeting> news_;  // of the new ranks and, behind them, the elder; none: this one is neither
};

}  // namespace sennit::shim::nccl
