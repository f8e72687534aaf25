#include "machine/cache.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "machine/document.h"
#include "machine/made_up.h"

namespace sennit::machine {
namespace {

class Cache : public testing::Test {
 protected:
  void SetUp() override { setenv("SENNIT_CACHE", scratch_folder().c_str(), 1); }
  void TearDown() override { unsetenv("SENNIT_CACHE"); }
};

TEST_F(Cache, KeepsAMachineUnderItsFingerprint) {
  const Machine machine = two_gpus();
  EXPECT_EQ(load_cached(machine.fingerprint).status().code(), Code::not_found);
  const auto file = store_cached(machine);
  ASSERT_TRUE(file.ok()) << file.status().text();
  EXPECT_EQ(file->filename(), machine.fingerprint + ".json");
  const auto kept = load_cached(machine.fingerprint);
  ASSERT_TRUE(kept.ok()) << kept.status().text();
  EXPECT_EQ(to_json(*kept), to_json(machine));
}

TEST_F(Cache, DoesNotTrustAFileThatHoldsAnotherMachine) {
  Machine machine = two_gpus();
  const auto file = *store_cached(machine);
  const auto other = *cache_file("fedcba9876543210");
  std::filesystem::rename(file, other);
  const Status status = load_cached("fedcba9876543210").status();
  EXPECT_EQ(status.code(), Code::corrupt);
  EXPECT_NE(status.remedy().find("Delete it"), std::string::npos);
  write_text(other, "{\"version\": 1,");
  EXPECT_EQ(load_cached("fedcba9876543210").status().code(), Code::corrupt);
}

TEST_F(Cache, RefusesToKeepWhatCouldNotBeRead) {
  Machine machine = two_gpus();
  machine.links[0].forward_gbps.value = -1;
  EXPECT_EQ(store_cached(machine).status().code(), Code::corrupt);
  EXPECT_EQ(load_cached(machine.fingerprint).status().code(), Code::not_found);
}

TEST_F(Cache, TakesNoPathForAFingerprint) {
  for (const char* text : {"", "../../../etc/pass", "0123456789ABCDEF", "0123456789abcdef0"})
    EXPECT_EQ(cache_file(text).status().code(), Code::invalid_argument) << text;
}

TEST_F(Cache, SaysBeforehandWhetherAnythingCanBeKept) {
  EXPECT_TRUE(check_cache().ok()) << check_cache().text();
  EXPECT_TRUE(std::filesystem::is_empty(*cache_folder()));
  for (const char* nowhere : {"/proc/nowhere", "/dev/null/nowhere"}) {
    setenv("SENNIT_CACHE", nowhere, 1);
    const Status status = check_cache();
    EXPECT_EQ(status.code(), Code::permission_denied);
    EXPECT_EQ(status.where(), nowhere);
    EXPECT_NE(status.remedy().find("SENNIT_CACHE"), std::string::npos);
  }
}

TEST(CacheFolder, FollowsTheEnvironment) {
  const char* home = std::getenv("HOME");
  const std::string kept_home = home != nullptr ? home : "";
  unsetenv("SENNIT_CACHE");
  setenv("HOME", "/home/somebody", 1);
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(*cache_folder(), "/home/somebody/.cache/sennit");
  setenv("XDG_CACHE_HOME", "/var/cache/mine", 1);
  EXPECT_EQ(*cache_folder(), "/var/cache/mine/sennit");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(*cache_folder(), "/home/somebody/.cache/sennit");
  setenv("SENNIT_CACHE", "/tmp/own", 1);
  EXPECT_EQ(*cache_folder(), "/tmp/own");
  unsetenv("SENNIT_CACHE");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(cache_folder().status().code(), Code::not_found);
  EXPECT_EQ(check_cache().code(), Code::permission_denied) << "nothing is lacking that could be measured";
  setenv("HOME", kept_home.c_str(), 1);
}

}  // namespace
}  // namespace sennit::machine
