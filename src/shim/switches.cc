#include "shim/switches.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/environment.h"
#include "base/spelling.h"

namespace sennit::shim {

namespace {

/// Lists what the drop-ins do, by the names of MPI's functions. Each collective has its forms that end in a request
/// too, as iallreduce and allreduce_init.
constexpr std::string_view kCollectives[] = {"allreduce", "reduce",    "reduce_scatter", "reduce_scatter_block",
                                             "bcast",     "allgather", "allgatherv",     "gather",
                                             "gatherv",   "scatter",   "scatterv",       "scan",
                                             "exscan",    "alltoall",  "alltoallv"};
/// Lists the sends, which have forms as isend and send_init.
constexpr std::string_view kSends[] = {"send", "ssend", "rsend"};
constexpr std::string_view kNone = "none";

/// Returns the name of an operation that is given in any case and with any separators.
std::optional<std::string> known_as(std::string given) {
  std::ranges::transform(given, given.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::vector<std::string> names{std::string(kNone), std::string(Switches::kMessages)};
  const auto add = [&](std::string_view name) {
    for (const char* form : {"{}", "i{}", "{}_init"}) names.push_back(fmt::format(fmt::runtime(form), name));
  };
  std::ranges::for_each(kCollectives, add);
  std::ranges::for_each(kSends, add);
  const auto found =
      std::ranges::find_if(names, [&](const std::string& name) { return same_but_for_separators(name, given); });
  return found != names.end() ? std::optional(*found) : std::nullopt;
}

}  // namespace

Result<std::vector<std::string>> parse_operations(std::string_view text) {
  std::vector<std::string> names;
  while (true) {
    const auto comma = text.find(',');
    auto name = known_as(std::string(text.substr(0, comma)));
    if (!name)
      return Status(Code::invalid_argument, fmt::format("'{}' is no operation", text.substr(0, comma)), {},
                    fmt::format("List some, as allreduce,bcast: {}, each also as iallreduce and allreduce_init; {}, "
                                "each also as isend and send_init; {} for all messages; {}",
                                fmt::join(kCollectives, ", "), fmt::join(kSends, ", "), Switches::kMessages, kNone));
    names.push_back(std::move(*name));
    if (comma == std::string_view::npos) return names;
    text.remove_prefix(comma + 1);
  }
}

Result<Switches> Switches::from_environment() {
  Switches switches;
  for (const auto& [name, where] :
       {std::pair("SENNIT_REPORT", &switches.report), std::pair("SENNIT_EXPLAIN", &switches.explain),
        std::pair("SENNIT_EMULATE", &switches.emulate), std::pair("SENNIT_REORDER", &switches.reorder)}) {
    auto value = environment_switch(name);
    if (!value) return value.status();
    *where = *value;
  }
  if (const std::string text = environment("SENNIT_OPS"); !text.empty()) {
    auto operations = parse_operations(text);
    if (!operations) return std::move(operations).status().in("SENNIT_OPS");
    switches.operations = std::move(*operations);
  }
  const std::string between = environment("SENNIT_BETWEEN");
  if (between == "adapters")
    switches.between = Between::adapters;
  else if (between == "leaders")
    switches.between = Between::leaders;
  else if (between == "staged")
    switches.between = Between::staged;
  else if (!between.empty() && between != "rails")
    return Status(Code::invalid_argument, fmt::format("SENNIT_BETWEEN={} is no way between nodes", between), {},
                  "Use rails, adapters, leaders or staged");
  const std::string take = environment("SENNIT_TAKE");
  if (take == "all")
    switches.take = Take::all;
  else if (!take.empty() && take != "measured")
    return Status(Code::invalid_argument, fmt::format("SENNIT_TAKE={} is no choice of calls", take), {},
                  "Use measured or all");
  auto linger = environment_integer("SENNIT_LINGER");
  if (!linger) return linger.status();
  constexpr long long kMostLinger = 1000;  // a limit: whoever waits for the whole GPU waits so long
  if (*linger < 0 || *linger > kMostLinger)
    return Status(Code::invalid_argument, fmt::format("SENNIT_LINGER={} is out of range", *linger), {},
                  fmt::format("Give it 0 to {} microseconds", kMostLinger));
  const auto from = parse_bytes(environment("SENNIT_ACCUMULATE"));
  if (!from) return Status(from.status()).in("SENNIT_ACCUMULATE");
  switches.accumulate_from = *from;
  const char* const blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  const bool launches_block = blocking != nullptr && std::string_view(blocking) != "0";
  switches.linger = std::chrono::microseconds(launches_block ? 0 : *linger);
  return switches;
}

bool Switches::takes(std::string_view operation) const {
  return !operations || std::ranges::find(*operations, operation) != operations->end();
}

}  // namespace sennit::shim
