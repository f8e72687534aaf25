#include "plan/figures.h"

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "path/split.h"

namespace sennit::plan {

namespace {

/// The rate of a copy between the GPUs on which the default figures were measured.
constexpr double kReferenceGbps = 395;

int socket(const machine::Machine& machine, const std::string& device) {
  const machine::Device* const found = machine.find(device);
  return found != nullptr ? found->numa : -1;
}

}  // namespace

double best_gbps(const machine::Machine& machine, const std::string& from, const std::string& to) {
  const auto ways = path::candidates(machine, from, to, 64 * MiB);
  double best = 0;
  if (ways.ok())
    for (const path::Candidate& way : *ways) best = std::max(best, way.rate_gbps);
  return best;
}

coll::Figures figures_of(const machine::Machine& machine, const Layout& layout) {
  double slowest = 0;
  for (const std::string& from : layout)
    for (const std::string& to : layout) {
      const double gbps = from == to ? 0 : best_gbps(machine, from, to);
      if (gbps > 0) slowest = slowest == 0 ? gbps : std::min(slowest, gbps);
    }
  coll::Figures figures;
  if (slowest == 0) return figures;  // nothing is known
  const double factor = slowest / kReferenceGbps;
  figures.link_gbps *= factor;
  figures.pull_gbps *= factor;
  figures.packet_gbps *= factor;
  figures.engine_gbps *= factor;
  const machine::Device* const first = machine.find(layout.front());
  if (first != nullptr && first->sm_count > 0) figures.sms = first->sm_count;
  return figures;
}

double exchange_gbps(const machine::Machine& machine, const Layout& layout) {
  const auto gpus =
      static_cast<double>(std::ranges::count(machine.devices, machine::DeviceKind::gpu, &machine::Device::kind));
  // Only the two move bytes between them, where there are two; of more, all GPUs of the machine sent to all others.
  const bool two = layout.size() == 2;
  double slowest = 0;
  for (const std::string& from : layout)
    for (const std::string& to : layout) {
      if (from == to) continue;
      const machine::Curve* const curve = machine.curve(
          from, to, machine::Method::engine, two ? machine::Traffic::both_ways : machine::Traffic::all_at_once);
      if (curve == nullptr) return 0;
      double best = 0;
      for (const auto& point : curve->points)
        if (point.us > 0) best = std::max(best, static_cast<double>(point.bytes) / point.us / 1e3);
      const double rank = two ? best : best * (gpus - 1);
      slowest = slowest == 0 ? rank : std::min(slowest, rank);
    }
  return slowest;
}

bool alike(const machine::Machine& machine, const Layout& layout, const Layout& other) {
  if (layout.size() != other.size()) return false;
  for (std::size_t i = 0; i < layout.size(); ++i)
    for (std::size_t j = 0; j < layout.size(); ++j) {
      if (i == j) continue;
      const bool together = socket(machine, layout[i]) == socket(machine, layout[j]);
      if (together != (socket(machine, other[i]) == socket(machine, other[j]))) return false;
      const double a = best_gbps(machine, layout[i], layout[j]), b = best_gbps(machine, other[i], other[j]);
      if (a <= 0 || std::abs(a - b) > 0.05 * a) return false;
    }
  return true;
}

}  // namespace sennit::plan
