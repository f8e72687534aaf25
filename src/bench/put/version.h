// Says which sennit a result was measured with. The definition is made at every build: cmake/revision.cmake.
#pragma once

namespace sennit::bench::put {

/// "0.1.0+56ccc34a1b"; the version alone where it was not built in a checkout.
const char* version();

}  // namespace sennit::bench::put
