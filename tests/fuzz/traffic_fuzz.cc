// libFuzzer target for the readers of traffic: matrices, Open MPI's monitoring, profiles and patterns. Built as
// machine_fuzz.cc is:
//   build/fuzz/bin/traffic_fuzz CORPUS
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "place/pattern.h"
#include "place/read_traffic.h"

namespace {

void check(const sennit::Status& status, const sennit::place::Traffic* traffic) {
  if (traffic == nullptr) {
    if (status.text().empty()) std::abort();
    return;
  }
  if (traffic->ranks() < 1 || traffic->ranks() > sennit::place::kMostRanks) std::abort();
  for (const sennit::place::Talk& talk : traffic->talks()) {
    if (talk.from < 0 || talk.from >= traffic->ranks() || talk.to < 0 || talk.to >= traffic->ranks()) std::abort();
    if (!(talk.bytes > 0) || !(talk.messages >= 0)) std::abort();
  }
}

void check(const sennit::Result<sennit::place::Traffic>& traffic) {
  check(traffic.status(), traffic.ok() ? &*traffic : nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(sennit::place::is_monitoring(text) ? sennit::place::parse_monitoring(text, "fuzz")
                                           : sennit::place::parse_matrix(text, "fuzz"));
  check(sennit::place::parse_pattern(text, 1));
  if (const auto json = sennit::parse_json(text, "fuzz"); json.ok()) {
    const auto found = sennit::place::traffic_of(*json, "fuzz");
    check(found.status(), found.ok() ? &found->traffic : nullptr);
  }
  return 0;
}
