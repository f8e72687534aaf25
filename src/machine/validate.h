// Finds what makes a machine impossible to plan from.
#pragma once

#include <string_view>

#include "base/status.h"
#include "machine/machine.h"

namespace sennit::machine {

/// Most GB/s that a figure may claim. No bundle of links of one machine comes near (18 NVLink5: 950; HBM3e: 8000);
/// a figure beyond it is a slipped unit (bytes, bits or MB/s).
inline constexpr double kMostGbps = 10000;

/// Checks that names are distinct, that links, curves and staged paths join devices there are, and that every
/// figure is possible. Errors: corrupt; `where` is the path of the field, `remedy` says how to mend it.
Status validate(const Machine& machine);

/// `text` with bytes that are not printable UTF-8 replaced by '?': what drivers and kernels report is not always
/// text.
std::string printable(std::string_view text);

}  // namespace sennit::machine
