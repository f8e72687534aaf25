// Lets a rank's peers in and keeps everyone else out: challenge and response over a secret, both ways.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/unique_fd.h"
#include "comm/deadline.h"

namespace sennit::comm {

/// Holds what both sides of a door agree on beforehand.
struct Door {
  std::string purpose;  ///< as in Talk
  std::string secret;
  int host = 0;  ///< rank that listens
  int size = 0;  ///< ranks in all
};

struct Admitted {
  std::map<int, UniqueFd> ranks;  ///< authenticated connections
  Status status;                  ///< ok when all expected came; timed_out or peer_lost names those who did not stay
};

/// Lets in each rank of `expected` once. Strangers, wrong secrets, duplicates and the silent are turned away
/// without holding up the others (a stranger has 5 s to speak, and 256 may be at the door at once). With
/// `same_user`, connections of other users are closed unheard. What came so far is returned also on failure,
/// so that those ranks can be told.
Admitted admit(int listener, const Door& door, const std::set<int>& expected, bool same_user, Deadline deadline);

/// Asks to be let in as `rank` on a fresh connection. Errors: permission_denied when either side does not know
/// the secret; mismatch when the ranks disagree about how many they are, or this rank is there already;
/// peer_lost and timed_out when there was no conversation (worth another try).
Status knock(int fd, const Door& door, int rank, Deadline deadline);

}  // namespace sennit::comm
