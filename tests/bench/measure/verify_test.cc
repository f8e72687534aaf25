#include "bench/measure/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "faulty_executor.h"
#include "small_machine.h"

namespace sennit::bench::measure {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(Pattern, IsFoundAgainAndDependsOnSeedAndPlace) {
  std::vector<std::byte> bytes(1003);
  fill_pattern(bytes, 7);
  EXPECT_FALSE(first_difference(bytes, 7));
  EXPECT_TRUE(first_difference(bytes, 8));
  EXPECT_TRUE(first_difference(std::span(bytes).subspan(8), 7));
  bytes[1002] ^= std::byte{1};
  EXPECT_EQ(first_difference(bytes, 7), 1002u);
  bytes[13] ^= std::byte{0x80};
  EXPECT_EQ(first_difference(bytes, 7), 13u);
}

TEST(Pattern, OfNothingIsRight) {
  EXPECT_FALSE(first_difference({}, 1));
}

/// Checks gpu FROM → TO of a machine with one broken path.
Status check(std::shared_ptr<device::Executor> executor, int from, int to, milliseconds limit = milliseconds(20000)) {
  auto rig = Rig::open(std::move(executor), small_machine(), kLeastRoom);
  if (!rig) return rig.status();
  auto verifier = Verifier::create(**rig, limit);
  if (!verifier) return verifier.status();
  const Stop& source = from < 0 ? (*rig)->hosts()[0] : (*rig)->gpus()[std::size_t(from)];
  const Stop& target = to < 0 ? (*rig)->hosts()[0] : (*rig)->gpus()[std::size_t(to)];
  return verifier->check(source, target, [&](path::End dst, path::End src, std::uint64_t bytes) {
    auto lane = (*rig)->lane(driver_of(source, target), 3);
    if (lane)
      if (auto status = (*lane)->copy(dst.at_owner, src.at_owner, bytes); !status)
        return Result<device::Lane*>(std::move(status));
    return lane;
  });
}

class Verify : public testing::Test {
 protected:
  void SetUp() override { (void)small_machine(); }
};

TEST_F(Verify, BelievesPathsThatWork) {
  EXPECT_EQ(check(faulty(), 0, 1).text(), Status().text());
  EXPECT_TRUE(check(faulty(), -1, 2));
  EXPECT_TRUE(check(faulty(), 2, -1));
}

TEST_F(Verify, CatchesAWrongByteAndNamesBothEnds) {
  const Status status = check(faulty({{0, 1, Fault::wrong_byte}}), 0, 1);
  EXPECT_EQ(status.code(), Code::corrupt);
  EXPECT_THAT(status.text(), HasSubstr("gpu0 → gpu1"));
  EXPECT_THAT(status.text(), HasSubstr("byte"));
  EXPECT_FALSE(status.remedy().empty());
  EXPECT_TRUE(check(faulty({{0, 1, Fault::wrong_byte}}), 1, 0)) << "the other direction works";
}

TEST_F(Verify, CatchesACopyThatDoesNothing) {
  EXPECT_EQ(check(faulty({{0, 1, Fault::lost}}), 0, 1).code(), Code::corrupt);
  EXPECT_EQ(check(faulty({{-1, 1, Fault::lost}}), -1, 1).code(), Code::corrupt);
  EXPECT_EQ(check(faulty({{1, -1, Fault::lost}}), 1, -1).code(), Code::corrupt);
}

TEST_F(Verify, CatchesWritingBeyondTheEnd) {
  const Status status = check(faulty({{0, 1, Fault::beyond}}), 0, 1);
  EXPECT_EQ(status.code(), Code::corrupt);
  EXPECT_THAT(status.what(), HasSubstr("beyond"));
}

TEST_F(Verify, GivesUpOnACopyThatNeverEnds) {
  const auto begin = std::chrono::steady_clock::now();
  const Status status = check(faulty({{0, 1, Fault::never_ends}}), 0, 1, milliseconds(300));
  EXPECT_EQ(status.code(), Code::timed_out);
  EXPECT_THAT(status.text(), HasSubstr("gpu0 → gpu1"));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(300));
}

TEST_F(Verify, PassesOnWhatTheDeviceSays) {
  const Status status = check(faulty({{0, 1, Fault::device_error}}), 0, 1);
  EXPECT_EQ(status.code(), Code::device_error);
  EXPECT_THAT(status.text(), HasSubstr("on fire"));
}

}  // namespace
}  // namespace sennit::bench::measure
