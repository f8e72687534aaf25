// How ranks of several nodes find out whether all of a communicator's run with sennit, and talk before they use NCCL
// for it. meeting.h has the ranks of one node, who need none of this.
//
// A rank that runs without sennit would never come to a call of NCCL's that the program did not make: who is there
// has to be known beforehand. So the process that makes a unique id listens, at the address where NCCL listens too,
// and its port goes with the id, behind what NCCL reads of it. A rank announces itself there before NCCL makes the
// communicator, which no rank has before all have come; afterwards each says that it is done, and who has not
// announced itself by the first such word never will.
#pragma once

#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "comm/exchange.h"
#include "shim/nccl/abi.h"

namespace sennit::shim::nccl {

/// Puts the port where a thread of this process listens from now on into an id that NCCL has just made. Where that
/// cannot be, the id stays as it is, and the communicator is NCCL's.
void invite(UniqueId& id);

class Rendezvous {
 public:
  /// Announces number `index` of `most`. `key`: of the id. Null where the id names no port, or nobody answers there.
  static std::unique_ptr<Rendezvous> announce(const UniqueId& id, std::string key, int index, int most);

  /// Once, when NCCL has made the communicator; collective among those who announced themselves. An exchange among
  /// all `most`, by their numbers. Errors: unsupported where some did not, at once; those of comm::guest_exchange.
  Result<std::unique_ptr<comm::Exchange>> meet();

 private:
  Rendezvous(std::string key, int index, int most, UniqueFd host)
      : key_(std::move(key)), index_(index), most_(most), host_(std::move(host)) {}

  const std::string key_;
  const int index_, most_;
  UniqueFd host_;
};

}  // namespace sennit::shim::nccl
