// Turns measured times into figures of the machine document, by pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/measure/timing.h"
#include "machine/machine.h"

namespace sennit::bench::measure {

/// Returns the GB/s of moving `bytes` in the summary's median; the note says the day, the median of how many, and
/// `what`.
machine::Figure rate_figure(std::uint64_t bytes, const Summary& summary, std::string_view what);
/// Returns the rate, or the time, of one point of a curve.
machine::Figure rate_figure(const machine::Curve::Point& point, std::string_view what, double times = 1);
machine::Figure time_figure(const machine::Curve::Point& point, std::string_view what, double part = 1);

/// Rounds to thousandths (of a µs, a GB/s): what lies beyond is no measurement.
double rounded(double value);
/// "2026-11-21, median of 7: WHAT".
std::string measured_note(int repetitions, std::string_view what);

/// Gives links the figures of copies over them. A link gets the best rate of the copies (engine, largest size) on
/// whose way it is the narrowest; the sum of both directions from both_ways curves; its latency from the smallest
/// copy, shared equally among the links of the way. Links that no measured copy was limited by keep what they had.
void apply_curves(machine::Machine& machine);

/// Curves whose largest copies vary by more than a tenth of their median, as "gpu0 → gpu1 (64 MiB, 24 %)".
std::vector<std::string> unsteady(const machine::Machine& machine);

}  // namespace sennit::bench::measure
