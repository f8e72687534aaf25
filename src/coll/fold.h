// Brings any number of ranks down to a power of two, for the algorithms that halve and double: of the first ranks,
// pairs (2i, 2i + 1) work as one.
#pragma once

#include "device/program.h"

namespace sennit::coll {

/// Says what a rank is while ranks are folded.
struct Folded {
  int core_size;  ///< the largest power of two that is not more than the ranks
  int core;       ///< number of this rank among those that go on; -1: its partner works for it
  int partner;    ///< the other rank of its pair; -1: it is in none

  SENNIT_DEVICE Folded(int rank, int size) : core_size(1), core(0), partner(-1) {
    while (core_size * 2 <= size) core_size *= 2;
    const int pairs = size - core_size;
    if (rank < 2 * pairs) {
      partner = rank ^ 1;
      core = rank % 2 == 0 ? rank / 2 : -1;
    } else {
      core = rank - pairs;
    }
  }
  /// Returns the rank that goes on as number `number`.
  SENNIT_DEVICE static int rank_of(int number, int size, int core_size) {
    const int pairs = size - core_size;
    return number < pairs ? 2 * number : number + pairs;
  }
};

}  // namespace sennit::coll
