#include "machine/prior.h"

#include <cmath>
#include <string>

#include <fmt/format.h>

namespace sennit::machine {

namespace {

struct Generation {
  double raw_gbps;  ///< as NVML reports the speed of a link
  double factor;    ///< of it that a large copy gets
  const char* name;
};
constexpr Generation kGenerations[] = {
    {20.0, 0.90, "NVLink1"},   {25.781, 0.93, "NVLink2"}, {25.0, 0.92, "NVLink3"},
    {26.562, 0.83, "NVLink4"}, {53.125, 0.83, "NVLink5"}, {14.062, 0.90, "NVLink3 bridge"},
};

const Generation& nearest(double raw_gbps) {
  const Generation* best = &kGenerations[0];
  for (const Generation& one : kGenerations)
    if (std::abs(one.raw_gbps - raw_gbps) < std::abs(best->raw_gbps - raw_gbps)) best = &one;
  return *best;
}

struct Model {
  const char* part;  ///< of the model name; the first match counts
  int capability;
};
constexpr Model kModels[] = {
    {"GB300", 103}, {"B300", 103}, {"GB200", 100}, {"B200", 100}, {"B100", 100}, {"GH200", 90},
    {"H200", 90},   {"H100", 90},  {"H800", 90},   {"H20", 90},   {"A100", 80},  {"A800", 80},
    {"A30", 80},    {"A40", 86},   {"A10", 86},    {"A6000", 86}, {"L40", 89},   {"L4", 89},
    {"V100", 70},   {"T4", 75},    {"P100", 60},   {"K80", 37},   {"K40", 35},
};

}  // namespace

Figure nvlink_figure(double raw_gbps, int count) {
  const bool known = std::isfinite(raw_gbps) && raw_gbps > 0;
  const double raw = known ? raw_gbps : 25.0;
  const Generation& generation = nearest(known ? raw : 25.781);
  Figure figure;
  figure.value = std::round(raw * count * generation.factor * 100) / 100;
  figure.source = known ? Source::specification : Source::assumed;
  figure.note =
      fmt::format("{} × {:g} GB/s {}, times {:g} that a large copy gets of it ({})", count, raw,
                  known ? "signalling" : "(assumed, no speed reported)", generation.factor, generation.name);
  return figure;
}

double nvlink_raw_gbps(int compute_capability) {
  switch (compute_capability) {
    case 60: return 20.0;
    case 70:
    case 72: return 25.781;
    case 75:
    case 80: return 25.0;
    case 86: return 14.062;
    case 90: return 26.562;
    default: return compute_capability >= 100 && compute_capability < 120 ? 53.125 : 0;
  }
}

int compute_capability(std::string_view model) {
  for (const Model& one : kModels)
    if (model.find(one.part) != std::string_view::npos) return one.capability;
  return 0;
}

Figure socket_figure(const Processor& processor, bool same_package) {
  Figure figure;
  figure.source = Source::assumed;
  if (same_package) {
    figure.value = 60;
    figure.note = "between NUMA nodes of one socket: no figure is announced";
    return figure;
  }
  figure.value = 6;
  const char* what = "processors it does not know";
  if (processor.vendor == "IBM") {
    figure.value = 32;
    what = "POWER9";
  } else if (processor.vendor == "AuthenticAMD") {
    figure.value = 16;
    what = "AMD";
  } else if (processor.vendor == "GenuineIntel" && processor.family == 6) {
    // Models ascend with generations among server parts: 0x55 Skylake, 0x8f Sapphire Rapids, 0xcf Emerald Rapids.
    const int model = processor.model;
    figure.value = model >= 0xcf ? 40 : model >= 0x8f ? 22 : model >= 0x55 ? 10 : 6;
    what = model >= 0xcf   ? "Intel since Emerald Rapids"
           : model >= 0x8f ? "Intel Sapphire Rapids"
           : model >= 0x55 ? "Intel since Skylake"
                           : "Intel before Skylake";
  }
  figure.note = fmt::format("between sockets: what NCCL takes for GPU traffic with {}", what);
  return figure;
}

Figure pcie_both_figure(const Figure& one_way) {
  Figure figure;
  figure.value = std::round(2 * 0.86 * one_way.value * 100) / 100;
  figure.source = Source::assumed;
  figure.note = "0.86 of twice one direction, the ratio measured on one H200 (PCIe gen5 x16)";
  return figure;
}

}  // namespace sennit::machine
