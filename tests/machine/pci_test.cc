#include "machine/pci.h"

#include <gtest/gtest.h>

namespace sennit::machine {
namespace {

TEST(NormalPci, BringsAllSpellingsToTheKernels) {
  EXPECT_EQ(normal_pci("00000000:1B:00.0"), "0000:1b:00.0");
  EXPECT_EQ(normal_pci("0000:1b:00.0"), "0000:1b:00.0");
  EXPECT_EQ(normal_pci("1b:00.0"), "0000:1b:00.0");
  EXPECT_EQ(normal_pci("10000:01:1f.7"), "10000:01:1f.7");
}

TEST(NormalPci, TakesHiddenAndWrongAddressesForNone) {
  for (const char* text : {"", "gpu0", "FFFFFFFF:FF:FF.0", "fffffff:ff:ff.0", "0000:1b:20.0", "0000:1b:00.8",
                           "0000:1b:00.0 ", "0000:1b:00", "pci0000:00", "123456789:01:00.0"})
    EXPECT_EQ(normal_pci(text), "") << text;
}

TEST(PcieGeneration, ReadsWhatKernelAndNcclPrint) {
  EXPECT_EQ(pcie_generation("2.5 GT/s PCIe"), 1);
  EXPECT_EQ(pcie_generation("8 GT/s"), 3);
  EXPECT_EQ(pcie_generation("32.0 GT/s PCIe"), 5);
  EXPECT_EQ(pcie_generation("Unknown"), 0);
  EXPECT_EQ(pcie_generation(""), 0);
  for (int generation = 1; generation <= 6; ++generation)
    EXPECT_EQ(pcie_generation(pcie_speed(generation)), generation);
}

TEST(PcieFigure, ScalesWithWidthAndAdmitsWhatItAssumes) {
  EXPECT_EQ(pcie_figure(5, 16).value, 55);
  EXPECT_EQ(pcie_figure(4, 8).value, 13);
  EXPECT_EQ(pcie_figure(3, 16).value, 12.5);
  EXPECT_EQ(pcie_figure(5, 16).source, Source::specification);
  for (const Figure& unknown : {pcie_figure(0, 16), pcie_figure(3, 0), pcie_figure(9, 255)}) {
    EXPECT_EQ(unknown.value, 12.5);
    EXPECT_EQ(unknown.source, Source::assumed);
  }
}

TEST(PcieShape, FindsTheLinkThatAFigureCameFrom) {
  for (const int width : {16, 8, 4}) {
    for (int generation = 1; generation <= 6; ++generation) {
      const double gbps = pcie_figure(generation, width).value;
      const PcieShape shape = pcie_shape(gbps);
      EXPECT_EQ(pcie_figure(shape.generation, shape.width).value, gbps) << generation << " x" << width;
    }
  }
  EXPECT_EQ(pcie_shape(51).generation, 5);
  EXPECT_EQ(pcie_shape(51).width, 16);
}

}  // namespace
}  // namespace sennit::machine
