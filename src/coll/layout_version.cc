#include "coll/layout_version.h"

#include <fmt/format.h>

namespace sennit::coll {

std::string build_of(std::string_view version, unsigned layout) {
  return fmt::format("{} (layout {})", version, layout);
}

}  // namespace sennit::coll
