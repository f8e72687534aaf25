#include "bench/partitioned/back_end.h"

#include <string>

#include <fmt/format.h>

namespace sennit::bench::partitioned {

std::string_view name(BackEnd back_end) {
  switch (back_end) {
    case BackEnd::single: return "single";
    case BackEnd::threads: return "threads";
    case BackEnd::persistent: return "persistent";
    case BackEnd::persistent_partitions: return "persistent_partitions";
    case BackEnd::mpi: return "mpi";
    case BackEnd::rma_flush: return "rma_flush";
    case BackEnd::rma_pscw: break;
  }
  return "rma_pscw";
}

Result<BackEnd> parse_back_end(std::string_view text) {
  std::string names;
  for (const BackEnd each : kBackEnds) {
    if (name(each) == text) return each;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name(each));
  }
  return Status(Code::invalid_argument, fmt::format("there is no back end '{}'", text), "--back-end",
                fmt::format("Use one of {}", names));
}

}  // namespace sennit::bench::partitioned
