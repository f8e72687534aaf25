#include "stage/copy_queue.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <gtest/gtest.h>

namespace sennit::stage {
namespace {

/// Copies at once, and says of each what the test says.
struct MadeUp {
  std::uint64_t recorded = 0, passed = 0;  // copies
  std::uint64_t fails_at = 0;
  int made = 0, asked = 0;
};

class MadeUpEvent final : public device::Event {
 public:
  explicit MadeUpEvent(MadeUp& here) : here_(here) { ++here.made; }
  Result<bool> done() override {
    ++here_.asked;
    if (number_ == here_.fails_at) return Status(Code::device_error, "made up");
    return number_ <= here_.passed;
  }
  Result<double> since(Event&) override { return Status(Code::unsupported, "no timing"); }
  std::uint64_t number_ = 0;

 private:
  MadeUp& here_;
};

class MadeUpLane final : public device::Lane {
 public:
  explicit MadeUpLane(MadeUp& here) : here_(here) {}
  int device() const override { return 0; }
  device::Queue queue() override { return {0, 1, 1}; }
  Status copy(void* dst, const void* src, std::uint64_t bytes) override {
    std::memcpy(dst, src, bytes);
    return {};
  }
  Status record(device::Event& event) override {
    static_cast<MadeUpEvent&>(event).number_ = ++here_.recorded;
    return {};
  }
  Status post(device::Word*, const device::Word*) override { return {}; }
  Status signal(device::Word*, device::Word) override { return {}; }
  Status launch(const device::Program&, const void*, unsigned, unsigned) override { return {}; }
  Status wait(device::Event&) override { return {}; }
  Status synchronize() override { return {}; }
  Result<bool> idle() override { return true; }

 private:
  MadeUp& here_;
};

class CopyLineTest : public testing::Test {
 protected:
  CopyLineTest() : line_(std::make_unique<MadeUpLane>(here_), [this] { return event(); }) {}
  Result<std::unique_ptr<device::Event>> event() { return std::unique_ptr<device::Event>(new MadeUpEvent(here_)); }
  void copy(int copies) {
    for (int i = 0; i < copies; ++i) numbers_.push_back(*line_.copy(&to_, &from_, sizeof to_));
  }
  bool done(std::uint64_t number) { return *line_.done(number); }

  MadeUp here_;
  CopyQueue line_;
  int from_ = 5, to_ = 0;
  std::vector<std::uint64_t> numbers_;
};

TEST_F(CopyLineTest, CopiesAreNumberedAndDoneInTheirOrder) {
  copy(3);
  EXPECT_EQ(to_, 5);
  EXPECT_EQ(numbers_, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_FALSE(done(1));
  here_.passed = 2;
  EXPECT_TRUE(done(2));
  EXPECT_TRUE(done(1));
  EXPECT_FALSE(done(3));
  copy(1);
  here_.passed = 4;
  EXPECT_TRUE(done(4));
  EXPECT_TRUE(done(3));
}

TEST_F(CopyLineTest, ManyThatAreDoneAreNotAskedForOneByOne) {
  copy(64);
  here_.passed = 64;
  for (const std::uint64_t number : numbers_) EXPECT_TRUE(done(number));
  EXPECT_LE(here_.asked, 12);
}

TEST_F(CopyLineTest, NoneIsSaidToBeDoneThatIsNot) {
  copy(64);
  for (here_.passed = 0; here_.passed <= 64; here_.passed += 3)
    for (const std::uint64_t number : numbers_) EXPECT_EQ(done(number), number <= here_.passed) << here_.passed;
}

TEST_F(CopyLineTest, EventsServeAgain) {
  for (int i = 0; i < 10; ++i) {
    copy(2);
    here_.passed = here_.recorded;
    EXPECT_TRUE(done(numbers_.back()));
  }
  EXPECT_EQ(here_.made, 2);
}

TEST_F(CopyLineTest, AnErrorIsToldToWhoAsksForThatCopy) {
  copy(3);
  here_.passed = 1;
  here_.fails_at = 2;
  EXPECT_TRUE(done(1));
  const auto second = line_.done(2);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), Code::device_error);
}

TEST(CopyQueue, MovesBytesOnAnExecutor) {
  const auto executor = *device::open_host_executor();
  const auto line = CopyQueue::create(*executor, 0);
  ASSERT_TRUE(line.ok()) << line.status().text();
  std::array<int, 100> from{}, to{};
  from.fill(7);
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < from.size(); ++i) last = *(*line)->copy(&to[i], &from[i], sizeof(int));
  while (!*(*line)->done(last)) {
  }
  EXPECT_EQ(to, from);
}

}  // namespace
}  // namespace sennit::stage
