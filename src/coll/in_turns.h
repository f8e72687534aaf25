// Takes the steps of a ring, two chunks at a time.
#pragma once

#include "device/program.h"

namespace sennit::coll {

/// Calls step(chunk, number) for the numbers from 0 to `steps` - 1, in order, of every chunk: those of an even and of
/// an odd chunk in turn, so that a block works on one of them while the other is on its way. Blocks start together
/// and share a link, so without it they would all send at the same time, and then all wait. False: a step was, and
/// the rest has been left out.
///
/// All ranks that take the same chunks and steps take them in the same order, hence what one sends with step s the
/// next can take with step s + 1.
template <class Step>
SENNIT_DEVICE bool in_turns(unsigned chunks, int steps, Step step) {
  for (unsigned even = 0; even < chunks; even += 2)
    for (int number = 0; number < steps; ++number)
      for (unsigned chunk = even; chunk < chunks && chunk <= even + 1; ++chunk)
        if (!step(chunk, number)) return false;
  return true;
}

}  // namespace sennit::coll
