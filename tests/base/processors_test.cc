#include "base/processors.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace sennit {
namespace {

TEST(Processors, AreReadAsTheKernelWritesThem) {
  EXPECT_EQ(parse_processors("0-3,8\n"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_processors("5"), std::vector<int>{5});
  EXPECT_TRUE(parse_processors("").empty());
}

TEST(Processors, OfABrokenListAreThoseThatAreNumbers) {
  EXPECT_EQ(parse_processors("x,2,-,-1,3-x,99999999999"), std::vector<int>{2});
  EXPECT_EQ(parse_processors("7-5,1"), std::vector<int>{1});
  EXPECT_EQ(parse_processors("0-2147483647").size(), std::size_t{65536});
}

TEST(Processors, AProcessMayRunSomewhere) {
  EXPECT_FALSE(allowed_processors().empty());
}

TEST(Processors, AProcessIsBoundToNodesIfItMayNotRunOnOthers) {
  const std::filesystem::path root = std::filesystem::path(testing::TempDir()) / "processors";
  const auto node = [&](const char* name, const char* processors) {
    const auto folder = root / "sys/devices/system/node" / name;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "cpulist") << processors << '\n';
  };
  EXPECT_TRUE(bound_nodes(std::vector{0}, root / "none").empty());
  node("node0", "0-3");
  EXPECT_TRUE(bound_nodes(std::vector{0}, root).empty()) << "there is no other node";
  node("node1", "4-7");
  node("node2", "");  // memory alone
  EXPECT_EQ(bound_nodes(std::vector{2, 3}, root), std::vector<int>{0});
  EXPECT_EQ(bound_nodes(std::vector{6}, root), std::vector<int>{1});
  EXPECT_TRUE(bound_nodes(std::vector{3, 4}, root).empty()) << "it may run on all of them";
  node("node3", "8");
  EXPECT_EQ(bound_nodes(std::vector{3, 4}, root), (std::vector<int>{0, 1}));
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace sennit
