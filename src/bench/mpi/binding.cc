#include "bench/mpi/binding.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json.h"
#include "base/processors.h"
#include "comm/membership.h"

namespace sennit::bench::mpi {

namespace {

std::string line_of(const std::string& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

bool among(const std::vector<int>& list, int one) {
  return std::ranges::count(list, one) != 0;
}

}  // namespace

bool bound(const std::vector<Cores>& ranks) {
  std::map<std::string, std::set<int>> taken;
  for (const Cores& one : ranks)
    for (const int each : one.allowed)
      if (!taken[one.host].insert(each).second) return false;
  return true;
}

std::vector<int> assign(const std::vector<Cores>& ranks) {
  if (bound(ranks)) return {};
  std::map<std::string, std::set<int>> taken, cores;
  std::vector<int> assigned;
  for (const Cores& one : ranks) {
    int best = -1, best_worth = -1;
    for (std::size_t i = 0; i < one.allowed.size(); ++i) {
      const int each = one.allowed[i];
      const int core = i < one.core.size() ? one.core[i] : each;
      if (taken[one.host].contains(each)) continue;
      const int worth =
          (one.near.empty() || among(one.near, each) ? 2 : 0) + (cores[one.host].contains(core) ? 0 : 1);
      if (worth <= best_worth) continue;
      best = each;
      best_worth = worth;
    }
    if (best < 0) return {};
    taken[one.host].insert(best);
    const auto place = std::ranges::find(one.allowed, best) - one.allowed.begin();
    cores[one.host].insert(std::size_t(place) < one.core.size() ? one.core[std::size_t(place)] : best);
    assigned.push_back(best);
  }
  return assigned;
}

Cores own_cores(const std::string& pci) {
  Cores cores;
  // One kernel's cores are the same ones under every name of its host: those of containers and namespaces differ.
  if (const auto self = comm::describe_self(0)) cores.host = fmt::format("{:x}", self->host);
  cores.allowed = allowed_processors();
  for (const int each : cores.allowed) {
    const auto siblings =
        parse_processors(line_of(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", each)));
    cores.core.push_back(siblings.empty() ? each : siblings.front());
  }
  if (!pci.empty()) cores.near = parse_processors(line_of(fmt::format("/sys/bus/pci/devices/{}/local_cpulist", pci)));
  return cores;
}

Status bind_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof set, &set) == 0) return {};
  return Status(Code::system_error, fmt::format("core {} is not to be had: {}", core, strerror(errno)), "--bind",
                "Use --bind none");
}

std::string to_text(const Cores& cores) {
  return Json{{"host", cores.host}, {"allowed", cores.allowed}, {"near", cores.near}, {"core", cores.core}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

Cores cores_from(std::string_view text) {
  const auto json = parse_json(text, "the cores of a rank");
  Cores cores;
  if (!json) return cores;
  cores.host = json->value("host", "");
  cores.allowed = json->value("allowed", std::vector<int>{});
  cores.near = json->value("near", std::vector<int>{});
  cores.core = json->value("core", std::vector<int>{});
  return cores;
}

}  // namespace sennit::bench::mpi
