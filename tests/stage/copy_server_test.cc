// The protocol of a block that attends, with the two sides meeting at chosen moments.
#include "stage/copy_server.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "device/host/block.h"

namespace sennit::stage {
namespace {

const device::Limits kLimits{5'000'000'000, nullptr, nullptr, 0};

/// A block that does something before it says that it is about to leave.
class HeldBlock : public device::HostBlock {
 public:
  explicit HeldBlock(std::function<void()> before_leaving)
      : HostBlock(0, 1, kLimits), before_leaving_(std::move(before_leaving)) {}
  bool meet(device::Word* mine, device::Word value, device::Word* theirs) {
    if (before_leaving_) std::exchange(before_leaving_, nullptr)();
    return HostBlock::meet(mine, value, theirs);
  }

 private:
  std::function<void()> before_leaving_;
};

/// The host's half, one step at a time.
struct Host {
  std::vector<std::byte> memory = std::vector<std::byte>(CopyServer::Mailbox::kBytes + 64);
  CopyServer::Mailbox mailbox = CopyServer::Mailbox::at(
      reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64));
  device::HostBlock block{0, 1, kLimits};
  std::uint64_t at_gpu = 0;

  /// Asks for a copy of `value` to the GPU; whether the block may leave without.
  bool ask(device::Word number, std::uint64_t value) {
    CopyServer::Command command;
    command.at = reinterpret_cast<std::byte*>(&at_gpu);
    command.bytes = sizeof value;
    command.way = CopyServer::Way::to_gpu;
    std::memcpy(command.few, &value, sizeof value);
    block.send_packets(1,
                       [&](unsigned) {
                         return device::PacketSend{&command, mailbox.command, sizeof command};
                       },
                       {number, 0});
    return block.meet(mailbox.asked, number, mailbox.leaving);
  }
  bool has_done(device::Word number) { return block.await(mailbox.done, number, 0); }
  std::jthread attend(device::Word first, std::chrono::nanoseconds patience, std::function<void()> before_leaving) {
    return std::jthread([=, this, before = std::move(before_leaving)] {
      HeldBlock held(before);
      CopyServer{mailbox, first, static_cast<std::uint64_t>(patience.count())}(held);
    });
  }
};

TEST(CopyServer, LeavesAfterItsPatienceAndSaysWhatItDid) {
  Host host;
  auto thread = host.attend(7, std::chrono::milliseconds(50), nullptr);
  ASSERT_TRUE(host.block.await(host.mailbox.here, 7, 0));
  EXPECT_FALSE(host.ask(7, 111));
  ASSERT_TRUE(host.has_done(7));
  EXPECT_EQ(host.at_gpu, 111u);
  ASSERT_TRUE(host.block.await(host.mailbox.gone, 7, 0));
  EXPECT_EQ(*host.mailbox.last, 7u);
  EXPECT_TRUE(host.ask(8, 222));  // told that nobody may do it
}

TEST(CopyServer, SaysWhenItDidNothing) {
  Host host;
  auto thread = host.attend(3, std::chrono::nanoseconds(0), nullptr);
  ASSERT_TRUE(host.block.await(host.mailbox.gone, 3, 0));
  EXPECT_EQ(*host.mailbox.last, 2u);
}

// The host asks when the block has given up waiting and has not said so: it stays, for later copies too. (It once
// left after this one, of which the host knew nothing.)
TEST(CopyServer, StaysWhenACopyIsAskedForBeforeItSaysThatItLeaves) {
  Host host;
  bool may_leave = true;
  auto thread = host.attend(1, std::chrono::milliseconds(50), [&] { may_leave = host.ask(1, 111); });
  ASSERT_TRUE(host.has_done(1));
  EXPECT_FALSE(may_leave);
  if (!host.ask(2, 222)) {
    ASSERT_TRUE(host.has_done(2));
    EXPECT_EQ(host.at_gpu, 222u);
  }
}

}  // namespace
}  // namespace sennit::stage
