// Writes the document that rank 0 prints. schemas/result.schema.json states it for readers.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "bench/mpi/patterns.h"

namespace sennit::bench::mpi {

/// 10^9 bytes/s at the median: of all messages that travel at once, both ways and between all pairs; of a collective,
/// what one rank gives over time. 0 where there is no size.
double gbps(const Layout& layout, double median_us);

Json to_json(const Layout& layout, const Variant& variant, const Numbers& numbers, const Times& times);

/// One map of a pattern, as a row of the document. What it saves is of the rounds' ratios to the order as it is.
Json map_to_json(const Layout& layout, const PatternMap& mapped, const Numbers& numbers, const Times& times);

/// Warns of what may mislead, each sentence ending with what to do.
std::vector<std::string> unsteady(const Json& rows);

}  // namespace sennit::bench::mpi
