// How ranks that are about to make a communicator find out whether all of them run with sennit on one machine, and
// meet beside NCCL.
//
// A rank announces itself before NCCL makes the communicator, which no rank has before all have come. So whoever is
// not there afterwards will never be: without waiting, and on every rank alike, it is known who takes part. What
// ranks announce are sockets in Unix's abstract namespace: no file is left behind, whatever happens.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "comm/exchange.h"

namespace sennit::shim::nccl {

class Meeting {
 public:
  /// `key`: what these ranks know and no others, such as NCCL's unique id. `index`: which of `most` this one is. An
  /// announcement that fails is none: all ranks will see that.
  Meeting(std::string key, int index, int most);

  /// ok where this one announced itself. Errors: those of comm::listen_unix.
  const Status& announced() const { return announced_; }
  /// Which of them are there, ascending. Once NCCL has made the communicator.
  std::vector<int> present() const;
  int index() const { return index_; }
  int most() const { return most_; }

  /// Collective among `size` ranks, all that are present, of which this is number `rank`. Errors: those of
  /// comm::host_exchange and comm::guest_exchange.
  Result<std::unique_ptr<comm::Exchange>> meet(int rank, int size) const;

 private:
  std::string name(std::string_view who) const;

  std::string key_, node_;
  int index_, most_;
  Status announced_;
  UniqueFd there_;  // listens as long as others may look
};

/// This build, as all its ranks name it.
std::string own_build();
/// Of what ranks share already, and strangers do not. Another build may meet otherwise, and lays its memory out in
/// another way: its ranks are as if they were not there.
std::string key_of(std::string_view shared, std::string_view build = own_build());

}  // namespace sennit::shim::nccl
