// Implements the exchange over connections that exist: a star through rank 0.
#pragma once

#include "comm/exchange.h"
#include "comm/handshake.h"

namespace sennit::comm {

/// Makes rank 0's side. Tells every admitted rank that all have met, or, when they have not, why; and returns that.
Result<std::unique_ptr<Exchange>> host_exchange(int size, std::string secret, Admitted admitted);

/// Makes the other ranks' side: waits until rank 0 says that all have met.
Result<std::unique_ptr<Exchange>> guest_exchange(int rank, int size, std::string secret, UniqueFd host);

}  // namespace sennit::comm
