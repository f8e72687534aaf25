// A bound of the heaviest load that no map goes below: what has to cross from some slots to all others.
#pragma once

#include "place/problem.h"

namespace sennit::place {

/// The least µs of the heaviest load that cuts of the machine allow: where a resource joins a part of the slots to
/// all others, or the NICs of a node together join its slots to other nodes, the ranks in that part send at least so
/// much across. Up to 16 slots; 0 beyond, and without resources.
double least_heaviest_us(const Problem& problem);

}  // namespace sennit::place
