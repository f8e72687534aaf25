// That wrong bytes are found: one process with both ends, on the host executor.
#include "bench/put/checking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "bench/put/trial.h"

namespace sennit::bench::put {
namespace {

using testing::HasSubstr;

class Checking : public testing::Test {
 protected:
  void SetUp() override {
    auto executor = device::open_host_executor();
    ASSERT_TRUE(executor.ok());
    node::Node::Options options;
    options.device = 1;
    auto node = node::Node::create(comm::alone(), *executor, std::move(options));
    ASSERT_TRUE(node.ok()) << node.status().text();
    node_ = std::move(*node);
    job_.from = {"host0", path::kHost};
    job_.to = {"gpu1", 1};
    job_.cases = {{kRoom, false, 1}};
    job_.variants = {"sennit", "engine"};
    auto rig = Rig::open(*node_, job_, kRoom);
    ASSERT_TRUE(rig.ok()) << rig.status().text();
    rig_ = std::move(*rig);
    auto checker = Checker::create(*rig_);
    ASSERT_TRUE(checker.ok());
    checker_.emplace(std::move(*checker));
  }

  static constexpr std::uint64_t kRoom = 3 * MiB;
  std::unique_ptr<node::Node> node_;
  Job job_;
  std::unique_ptr<Rig> rig_;
  std::optional<Checker> checker_;
};

TEST(Pattern, DependsOnSideAndPositionAlone) {
  std::vector<std::byte> whole(3 * MiB), part(MiB + 77);
  pattern(0, 0, whole);
  pattern(0, MiB - 33, part);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + MiB - 33));
  pattern(1, MiB - 33, part);
  EXPECT_FALSE(std::equal(part.begin(), part.end(), whole.begin() + MiB - 33));
}

TEST_F(Checking, AcceptsWhatArrived) {
  const Message message{kMargin + 3, kMargin + 5, 2 * MiB + 1};
  ASSERT_TRUE(checker_->poison(1, message.destination, message.bytes).ok());
  pattern(0, message.source, {rig_->side(1).destination.data() + message.destination, message.bytes});
  EXPECT_TRUE(checker_->compare(1, message).ok());
}

TEST_F(Checking, FindsWhatDidNotArrive) {
  const Message message{kMargin, kMargin, MiB};
  ASSERT_TRUE(checker_->poison(1, message.destination, message.bytes).ok());
  const Status status = checker_->compare(1, message);
  EXPECT_EQ(status.code(), Code::corrupt);
  EXPECT_THAT(status.what(), HasSubstr("of 1048576 is wrong"));
}

TEST_F(Checking, FindsOneWrongByteAnywhere) {
  const Message message{kMargin, kMargin, 2 * MiB + 9};
  for (const std::uint64_t at : {std::uint64_t(0), MiB - kMargin, message.bytes - 1}) {
    ASSERT_TRUE(checker_->poison(1, message.destination, message.bytes).ok());
    std::byte* arrived = rig_->side(1).destination.data() + message.destination;
    pattern(0, message.source, {arrived, message.bytes});
    arrived[at] ^= std::byte(1);
    EXPECT_THAT(checker_->compare(1, message).what(), HasSubstr("byte " + std::to_string(at) + " of"));
  }
}

TEST_F(Checking, FindsWhatWasWrittenBeside) {
  const Message message{kMargin, kMargin, MiB};
  for (const std::int64_t at : {std::int64_t(-1), std::int64_t(MiB)}) {
    ASSERT_TRUE(checker_->poison(1, message.destination, message.bytes).ok());
    std::byte* arrived = rig_->side(1).destination.data() + message.destination;
    pattern(0, message.source, {arrived, message.bytes});
    arrived[at] ^= std::byte(1);
    EXPECT_THAT(checker_->compare(1, message).what(), HasSubstr("beyond its destination"));
  }
}

/// Says that it has sent, and has not.
class Liar final : public Variant {
 public:
  std::string name() const override { return "liar"; }
  Status prepare(const Case&) override { return {}; }
  Status enqueue(int, bool, bool, const Message&) override { return {}; }
  Status finish(int) override { return {}; }
};

TEST_F(Checking, TrialsBelieveNobody) {
  Pairing pairing;
  Trial trial(*rig_, pairing, *checker_);
  Liar liar;
  const Status status = trial.verify(liar, {64 * KiB, false, 1});
  EXPECT_EQ(status.code(), Code::corrupt);
  EXPECT_THAT(status.where(), HasSubstr("liar, 64 KiB"));
}

TEST_F(Checking, TrialsAcceptAndTimeTheRealOnes) {
  Pairing pairing;
  Trial trial(*rig_, pairing, *checker_);
  const auto variants = make_variants(*rig_, job_);
  ASSERT_TRUE(variants.ok());
  ASSERT_EQ(variants->list.size(), 2u);
  const Case what{64 * KiB, true, 8};
  for (const auto& variant : variants->list) {
    EXPECT_TRUE(trial.verify(*variant, what).ok());
    EXPECT_TRUE(trial.verify_odd(*variant, true).ok());
  }
  const auto times = trial.time(variants->list, what, 0.001);
  ASSERT_TRUE(times.ok());
  for (const auto& each : *times) {
    ASSERT_TRUE(each);
    EXPECT_GE(each->repetitions, 5);
    EXPECT_GT(each->median_us, 0);
  }
}

TEST(Places, LieSideBySideWhileThereIsRoom) {
  EXPECT_EQ(places(MiB, {64 * KiB, false, 64}), 16u);
  EXPECT_EQ(places(MiB, {64 * KiB, false, 4}), 4u);
  EXPECT_EQ(places(MiB, {MiB, false, 64}), 1u);
}

}  // namespace
}  // namespace sennit::bench::put
