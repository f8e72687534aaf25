// Numbers, names and texts of failures.
#include "sennit/sennit.h"

#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"

namespace sennit::capi {
namespace {

static_assert(noexcept(sennit_put(nullptr, 0, 0, nullptr, 0, nullptr)) && noexcept(sennit_comm_create(nullptr,
                                                                                                      nullptr)),
              "no exception may cross");

TEST(Errors, HaveTheNamesOfCode) {
  for (int number = 0; number <= 12; ++number)
    EXPECT_EQ(sennit_result_name(sennit_result(number)), name(Code(number)));
  EXPECT_STREQ(sennit_result_name(sennit_result(13)), "unknown");
}

TEST(Errors, SayWhatWhereAndTheRemedy) {
  sennit_machine* machine = nullptr;
  EXPECT_EQ(sennit_machine_load("atlantis", &machine), SENNIT_NOT_FOUND);
  EXPECT_EQ(machine, nullptr);
  EXPECT_THAT(sennit_last_error(), testing::AllOf(testing::StartsWith("not_found: no machine is called 'atlantis'"),
                                                  testing::HasSubstr("(load machine)"), testing::HasSubstr("mist")));
}

TEST(Errors, StayThroughSuccessAndAreOfTheirThread) {
  sennit_machine* machine = nullptr;
  EXPECT_EQ(sennit_machine_load("atlantis", &machine), SENNIT_NOT_FOUND);
  const std::string text = sennit_last_error();
  EXPECT_EQ(sennit_machine_load("mist", &machine), SENNIT_OK);
  EXPECT_EQ(sennit_machine_free(machine), SENNIT_OK);
  EXPECT_EQ(sennit_last_error(), text);
  std::string elsewhere = "?";
  std::thread([&] { elsewhere = sennit_last_error(); }).join();
  EXPECT_EQ(elsewhere, "");
}

}  // namespace
}  // namespace sennit::capi
