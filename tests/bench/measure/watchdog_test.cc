#include "bench/measure/watchdog.h"

#include <gtest/gtest.h>

#include <future>

namespace sennit::bench::measure {
namespace {

using std::chrono::milliseconds;

TEST(Watchdog, NamesThePartThatTookTooLong) {
  std::promise<std::string> named;
  auto name = named.get_future();
  Watchdog watchdog(milliseconds(20), [&](const std::string& what) { named.set_value(what); });
  watchdog.begin("gpu0 → gpu1");
  ASSERT_EQ(name.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(name.get(), "gpu0 → gpu1");
}

TEST(Watchdog, RestsBetweenParts) {
  int expired = 0;
  {
    Watchdog watchdog(milliseconds(30), [&](const std::string&) { ++expired; });
    watchdog.begin("short");
    watchdog.rest();
    std::this_thread::sleep_for(milliseconds(90));
  }
  EXPECT_EQ(expired, 0);
}

TEST(Watchdog, EveryPartGetsTheWholeLimit) {
  int expired = 0;
  {
    Watchdog watchdog(milliseconds(500), [&](const std::string&) { ++expired; });
    for (int part = 0; part < 8; ++part) {
      watchdog.begin("part");
      std::this_thread::sleep_for(milliseconds(100));
    }
  }
  EXPECT_EQ(expired, 0);
}

}  // namespace
}  // namespace sennit::bench::measure
