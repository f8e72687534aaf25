// Implements the exchange over a function that the caller passes.
#pragma once

#include <memory>

#include "comm/exchange.h"
#include "sennit/sennit.h"

namespace sennit::capi {

/// Items of different lengths are sent as their lengths first, then padded to the longest. Errors: invalid_argument
/// (no function, impossible rank or size).
Result<std::unique_ptr<comm::Exchange>> over(const sennit_exchange& exchange);

}  // namespace sennit::capi
