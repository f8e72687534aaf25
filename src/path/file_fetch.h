// Fetches files that a peer offers without waiting for it: for threads that serve others too.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "comm/group.h"

namespace sennit::path {

class FileFetch {
 public:
  /// `numbers`: as `peer`, of this node, offers them; it may be this rank.
  FileFetch(comm::Group& group, int peer, std::vector<std::uint64_t> numbers);

  /// Returns the files, once, in the order of their numbers; no value while some have not come. Errors: those of
  /// Group::fetch.
  std::optional<Result<std::vector<UniqueFd>>> poll();

 private:
  /// Returns one file, or no value while it has not come.
  std::optional<Result<UniqueFd>> next();

  comm::Group& group_;
  const int peer_;
  std::deque<std::uint64_t> numbers_;  // that are still to be fetched
  std::optional<std::uint64_t> request_;
  std::vector<UniqueFd> files_;
};

}  // namespace sennit::path
