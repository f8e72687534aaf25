#include "shim/nccl/abi/config.h"

#include <gtest/gtest.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace sennit::shim::nccl {
namespace {

constexpr int kUnset = INT_MIN;

// As nccl.h of 2.19 has it.
struct OfVersion2_19 {
  std::size_t size = sizeof(OfVersion2_19);
  unsigned magic = 0xcafebeef, version = 21903;
  int blocking = kUnset, cga_cluster_size = kUnset, min_ctas = kUnset, max_ctas = kUnset;
  const char* net_name = nullptr;
  int split_share = kUnset;
};

// As nccl.h of 2.28 has it.
struct OfVersion2_28 {
  std::size_t size = sizeof(OfVersion2_28);
  unsigned magic = 0xcafebeef, version = 22809;
  int blocking = kUnset, cga_cluster_size = kUnset, min_ctas = kUnset, max_ctas = kUnset;
  const char* net_name = nullptr;
  int split_share = kUnset, traffic_class = kUnset;
  const char* comm_name = nullptr;
  int collnet_enable = kUnset, cta_policy = kUnset, shrink_share = kUnset, nvls_ctas = kUnset;
  int channels_per_peer = kUnset, nvlink_centric = kUnset;
};

// And of 2.14, which ends here.
struct OfVersion2_14 {
  std::size_t size = sizeof(OfVersion2_14);
  unsigned magic = 0xcafebeef, version = 21400;
  int blocking = kUnset;
};

class ConfigTest : public testing::Test {
 protected:
  void SetUp() override { forget(); }
  void TearDown() override { forget(); }

 private:
  static void forget() {
    unsetenv("NCCL_COMM_BLOCKING");
    unsetenv("NCCL_MAX_CTAS");
    unsetenv("NCCL_MAX_NCHANNELS");
    unsetenv("NCCL_CTA_POLICY");
  }
};

TEST_F(ConfigTest, WhatIsNotSaidIsNcclsDefault) {
  const OfVersion2_19 nothing;
  EXPECT_EQ(Config::read(nullptr), (Config{true, 0}));
  EXPECT_EQ(Config::read(&nothing), (Config{true, 0}));
}

TEST_F(ConfigTest, IsReadAsTheProgramHasIt) {
  OfVersion2_19 program;
  program.max_ctas = 4;
  EXPECT_EQ(Config::read(&program), (Config{true, 4}));
  program.blocking = 0;
  EXPECT_EQ(Config::read(&program), (Config{false, 4}));
  program.blocking = 1;
  program.min_ctas = 2;
  program.max_ctas = kUnset;
  EXPECT_EQ(Config::read(&program), (Config{true, 0}));
}

TEST_F(ConfigTest, WhatIsNoNumberOfCtasIsNone) {
  OfVersion2_19 program;
  for (const int max_ctas : {0, -3}) {
    program.max_ctas = max_ctas;
    EXPECT_EQ(Config::read(&program).max_ctas, 0U) << max_ctas;
  }
}

TEST_F(ConfigTest, WhatLiesBehindAnOlderOneIsNotRead) {
  OfVersion2_14 program;
  program.blocking = 0;
  // What a sanitizer would find, and what would be taken for a number of CTAs.
  std::vector<std::byte> only(sizeof program);
  std::memcpy(only.data(), &program, sizeof program);
  EXPECT_EQ(Config::read(only.data()), (Config{false, 0}));
  OfVersion2_19 longer;
  longer.max_ctas = 4;
  std::memcpy(static_cast<void*>(&longer), &program, sizeof program);
  EXPECT_EQ(Config::read(&longer), (Config{false, 0}));
}

TEST_F(ConfigTest, TheEnvironmentCountsForMore) {
  OfVersion2_19 program;
  program.blocking = 0;
  program.max_ctas = 4;
  setenv("NCCL_COMM_BLOCKING", "1", 1);
  EXPECT_TRUE(Config::read(&program).blocking);
  setenv("NCCL_COMM_BLOCKING", "0", 1);
  EXPECT_FALSE(Config::read(nullptr).blocking);
  setenv("NCCL_COMM_BLOCKING", "maybe", 1);
  EXPECT_FALSE(Config::read(&program).blocking);

  const Config config = Config::read(&program);
  EXPECT_EQ(allowed_blocks(config), 4U);
  EXPECT_EQ(allowed_blocks({}), 0U);
  struct Said {
    const char* text;
    unsigned of_config, of_none;
  };
  for (const Said& each : {Said{"16", 16, 16},
                           {"2", 2, 2},
                           {"0x10", 16, 16},
                           {"0", 4, 0},
                           {"-2", 4, 0},
                           {"few", 4, 0},
                           {"8589934592", UINT_MAX, UINT_MAX}}) {
    setenv("NCCL_MAX_CTAS", each.text, 1);
    EXPECT_EQ(allowed_blocks(config), each.of_config) << each.text;
    EXPECT_EQ(allowed_blocks({}), each.of_none) << each.text;
  }
}

TEST_F(ConfigTest, ChannelsAreALimitBesideCtas) {
  const Config of_four{true, 4};
  setenv("NCCL_MAX_NCHANNELS", "2", 1);
  EXPECT_EQ(allowed_blocks(of_four), 2U);
  EXPECT_EQ(allowed_blocks({}), 2U);
  setenv("NCCL_MAX_NCHANNELS", "16", 1);
  EXPECT_EQ(allowed_blocks(of_four), 4U);
  EXPECT_EQ(allowed_blocks({}), 16U);
  setenv("NCCL_MAX_CTAS", "8", 1);
  EXPECT_EQ(allowed_blocks(of_four), 8U);
  EXPECT_EQ(allowed_blocks({}), 8U);
  for (const char* none : {"0", "-1", "few"}) {
    setenv("NCCL_MAX_NCHANNELS", none, 1);
    EXPECT_EQ(allowed_blocks({}), 1U) << none;
  }
  setenv("NCCL_MAX_NCHANNELS", "-2", 1);
  EXPECT_EQ(allowed_blocks({}), 8U);
}

TEST_F(ConfigTest, ZeroCtasAreNoBlocks) {
  OfVersion2_28 program;
  EXPECT_FALSE(wants_no_blocks(Config::read(&program)));
  for (const int policy : {0, 1, 2, 3, 4, -1}) {
    program.cta_policy = policy;
    EXPECT_EQ(wants_no_blocks(Config::read(&program)), policy == 2 || policy == 3) << policy;
  }
  program.cta_policy = 2;
  program.size = 60;
  EXPECT_FALSE(wants_no_blocks(Config::read(&program))) << "it ends before";
}

TEST_F(ConfigTest, ThePolicyOfTheEnvironmentCountsForMore) {
  Config zero;
  zero.no_ctas = true;
  for (const char* text : {"2", "ZERO", "zero", "EFFICIENCY|ZERO", "what|Zero|"}) {
    setenv("NCCL_CTA_POLICY", text, 1);
    EXPECT_TRUE(wants_no_blocks({})) << text;
  }
  for (const char* text : {"0", "1", "DEFAULT", "efficiency", "DEFAULT|EFFICIENCY"}) {
    setenv("NCCL_CTA_POLICY", text, 1);
    EXPECT_FALSE(wants_no_blocks(zero)) << text;
  }
  for (const char* text : {"", "3", "none", "|"}) {
    setenv("NCCL_CTA_POLICY", text, 1);
    EXPECT_TRUE(wants_no_blocks(zero)) << text;
    EXPECT_FALSE(wants_no_blocks({})) << text;
  }
}

}  // namespace
}  // namespace sennit::shim::nccl
