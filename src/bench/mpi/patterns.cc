#include "bench/mpi/patterns.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/mpi/options.h"
#include "place/pattern.h"

namespace sennit::bench::mpi {

namespace {

constexpr const char* kAgain = "Give what `sennit-map variants` printed";

Status wrong(std::string what) {
  return Status(Code::invalid_argument, std::move(what), "--patterns", kAgain);
}

const Json* member(const Json& object, const char* name, bool (Json::*is)() const noexcept) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() && ((*found).*is)() ? &*found : nullptr;
}

double number_in(const Json& object, const char* name) {
  const Json* const found = member(object, name, &Json::is_number);
  return found != nullptr ? std::max(0.0, found->get<double>()) : 0;
}

bool is_permutation(const Json& map, int ranks) {
  std::vector<bool> taken(std::size_t(ranks), false);
  if (map.size() != taken.size()) return false;
  for (const Json& each : map) {
    if (!each.is_number_integer()) return false;
    const auto rank = each.get<std::int64_t>();
    if (rank < 0 || rank >= ranks || taken[std::size_t(rank)]) return false;
    taken[std::size_t(rank)] = true;
  }
  return true;
}

}  // namespace

Result<std::vector<PatternCase>> patterns_in(const Json& document, const std::vector<Buffers>& buffers,
                                             const std::vector<Over>& over, unsigned element_bytes, int ranks) {
  const Json* const cases = member(document, "cases", &Json::is_array);
  if (cases == nullptr || !document.contains("kind") || document["kind"] != "map variants")
    return wrong("it is no document of kind \"map variants\"");
  std::vector<PatternCase> found;
  for (const Json& each : *cases) {
    const Json* const name = member(each, "pattern", &Json::is_string);
    const Json* const variants = member(each, "variants", &Json::is_array);
    const double bytes = number_in(each, "bytes");
    if (name == nullptr || variants == nullptr || variants->empty() || bytes < 1)
      return wrong("a case has no pattern, no bytes or no variants");
    const std::string text = name->get<std::string>();
    auto traffic = place::parse_pattern(text, bytes);
    if (!traffic) return std::move(traffic).status().in("--patterns");
    if (traffic->ranks() != ranks)
      return Status(Code::invalid_argument,
                    fmt::format("pattern '{}' has {} ranks, and the job {}", text, traffic->ranks(), ranks),
                    "--patterns", fmt::format("Start {} ranks, or name a pattern of {}", traffic->ranks(), ranks));
    PatternCase one;
    one.what.operation = Operation::exchange;
    one.what.bytes = static_cast<std::uint64_t>(bytes);
    one.what.pattern = std::make_shared<const Pattern>(Pattern{text, std::move(*traffic), element_bytes});
    if (most_bytes(*one.what.pattern) > kMostBytes)
      return Status(Code::invalid_argument, fmt::format("a rank needs more than 1 GiB for pattern '{}'", text),
                    "--patterns", "Use smaller --sizes");
    for (const Json& variant : *variants) {
      const Json* const called = member(variant, "name", &Json::is_string);
      const Json* const map = member(variant, "map", &Json::is_array);
      if (called == nullptr || map == nullptr || !is_permutation(*map, ranks))
        return wrong(fmt::format("a map of pattern '{}' is no permutation of {} ranks", text, ranks));
      PatternMap mapped;
      mapped.variant.name = called->get<std::string>();
      mapped.variant.map = map->get<std::vector<int>>();
      mapped.predicted_us = number_in(variant, "exchange_us");
      mapped.links_us = number_in(variant, "heaviest_us");
      mapped.found_ms = number_in(variant, "found_ms");
      one.maps.push_back(std::move(mapped));
    }
    for (const Buffers where : buffers)
      for (const Over carrier : over) {
        if (carrier == Over::nccl && where != Buffers::gpu) continue;
        found.push_back(one);
        found.back().what.buffers = where;
        found.back().what.over = carrier;
      }
  }
  if (found.empty()) return wrong("it has no cases");
  return found;
}

Result<std::vector<PatternCase>> read_patterns(const std::string& file, const std::vector<Buffers>& buffers,
                                               const std::vector<Over>& over, unsigned element_bytes, int ranks) {
  const auto document = read_json(file);
  if (!document) return of_arguments(document.status());
  return patterns_in(*document, buffers, over, element_bytes, ranks);
}

}  // namespace sennit::bench::mpi
