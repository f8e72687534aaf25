#include "machine/pci.h"

#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

namespace sennit::machine {

namespace {

constexpr std::array kTransfers = {2.5, 5.0, 8.0, 16.0, 32.0, 64.0};       ///< GT/s a lane, generations 1 to 6
constexpr std::array kSixteenLanes = {3.2, 6.3, 12.5, 26.0, 55.0, 110.0};  ///< GB/s of a copy, see pci.h
constexpr std::array kWidths = {16, 8, 4, 2, 1};

}  // namespace

std::string normal_pci(std::string_view text) {
  // At most 32 characters can be an address; longer text would only be cut by the scan below.
  if (text.size() > 32) return {};
  const std::string copy(text);
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  int used = 0;
  const auto whole = [&] { return used == int(copy.size()); };
  if (!(std::sscanf(copy.c_str(), "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &used) == 4 && whole())) {
    domain = 0;
    used = 0;
    if (!(std::sscanf(copy.c_str(), "%2x:%2x.%1x%n", &bus, &device, &function, &used) == 3 && whole())) return {};
  }
  if (bus > 0xff || device > 0x1f || function > 7) return {};
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, device, function);
}

int pcie_generation(std::string_view speed) {
  const double transfers = std::strtod(std::string(speed.substr(0, 16)).c_str(), nullptr);
  for (std::size_t i = 0; i < kTransfers.size(); ++i)
    if (std::abs(transfers - kTransfers[i]) < 0.01) return int(i) + 1;
  return 0;
}

std::string pcie_speed(int generation) {
  const bool known = generation >= 1 && generation <= int(kTransfers.size());
  return fmt::format("{:.1f} GT/s PCIe", kTransfers[std::size_t(known ? generation - 1 : 2)]);
}

Figure pcie_figure(int generation, int width) {
  const bool known_generation = generation >= 1 && generation <= int(kSixteenLanes.size());
  const bool known_width = width >= 1 && width <= 32;
  const int g = known_generation ? generation : 3;
  const int w = known_width ? width : 16;
  Figure figure;
  figure.value = kSixteenLanes[std::size_t(g - 1)] * w / 16;
  figure.source = known_generation && known_width ? Source::specification : Source::assumed;
  figure.note = fmt::format("PCIe gen{} x{}{}: {:g} GT/s a lane; a large pinned copy gets {:g} GB/s of x16", g, w,
                            figure.source == Source::assumed ? " (assumed, the link does not say)" : "",
                            kTransfers[std::size_t(g - 1)], kSixteenLanes[std::size_t(g - 1)]);
  return figure;
}

PcieShape pcie_shape(double gbps) {
  PcieShape best;
  double least = 0;
  for (const int width : kWidths)
    for (int generation = 1; generation <= int(kSixteenLanes.size()); ++generation) {
      const double off = std::abs(std::log(kSixteenLanes[std::size_t(generation - 1)] * width / 16 / gbps));
      if (best.width == 0 || off < least - 1e-9) {
        best = {generation, width};
        least = off;
      }
    }
  return best;
}

}  // namespace sennit::machine
