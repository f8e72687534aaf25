// sennit-tune collectives starts the ranks that find the fastest plans; sennit-tune kept prints the table they left.
#pragma once

#include "bench/program.h"

namespace sennit::bench {

/// Adds both subcommands. `arguments`: those of this process, which its ranks get too.
void add_collectives(Program& program, std::vector<std::string> arguments);

}  // namespace sennit::bench
