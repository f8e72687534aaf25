// Ranks of one node as threads of this process: windows, puts and gets from end to end, without the C API.
#include "path/one_sided.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "comm/thread_exchange.h"
#include "machines.h"

namespace sennit::path {
namespace {

constexpr std::uint64_t kNodeBytes = 3 << 20;

/// Runs work(node, messages) on two ranks, each with a device of its own.
void on_nodes(const std::function<void(node::Node&, OneSided&)>& work) {
  comm::Table table(2);
  comm::on_ranks(2, [&](int rank) {
    auto node = node::Node::create(std::make_unique<comm::ThreadExchange>(table, rank), *device::open_host_executor(),
                                   {rank, machine_of_the_host_executor(), std::chrono::seconds(20)});
    ASSERT_TRUE(node.ok()) << node.status().text();
    OneSided messages(**node);
    work(**node, messages);
  });
}

void fill(device::Memory& memory, int number) {
  for (std::uint64_t i = 0; i < memory.bytes(); ++i) memory.data()[i] = std::byte((i * 7 + i / 509 + number) & 0xFF);
}

TEST(OneSided, PutsAndGetsBetweenWindows) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one ring are two memories to ThreadSanitizer: see tests/capi for processes";
#endif
  on_nodes([](node::Node& node, OneSided& messages) {
    const int me = node.rank(), peer = 1 - me;
    auto inbox = std::move(*node.executor().allocate(node.device(), kNodeBytes));
    auto mine = std::move(*node.executor().allocate(node.device(), kNodeBytes));
    auto theirs = std::move(*node.executor().allocate(node.device(), kNodeBytes));
    fill(mine, me);
    fill(theirs, peer);
    const auto window = *messages.open(inbox.data(), kNodeBytes);
    messages.transfer_engine().plans().force({{"direct", 0.5}, {"host0 (sm)", 0.5}});
    for (int round = 0; round < 4; ++round) {
      std::memset(inbox.data(), 0, kNodeBytes);
      ASSERT_TRUE(node.group().exchange().barrier().ok());
      ASSERT_TRUE(messages.put(*window, peer, 0, mine.data(), kNodeBytes, node.lane()).ok());
      ASSERT_TRUE(node.synchronize(node.lane()).ok());
      ASSERT_TRUE(node.group().exchange().barrier().ok());
      EXPECT_EQ(std::memcmp(inbox.data(), theirs.data(), kNodeBytes), 0) << "put";
      std::memset(theirs.data(), 0, kNodeBytes);
      ASSERT_TRUE(messages.get(*window, peer, 5, theirs.data() + 5, kNodeBytes - 5, node.lane()).ok());
      ASSERT_TRUE(node.synchronize(node.lane()).ok());
      EXPECT_EQ(std::memcmp(theirs.data() + 5, mine.data() + 5, kNodeBytes - 5), 0) << "get";
      fill(theirs, peer);
      ASSERT_TRUE(node.group().exchange().barrier().ok());  // the peer has fetched, the inbox may change
    }
    EXPECT_TRUE(messages.close(window).ok());
  });
}

TEST(OneSided, RefusesWhatIsOutsideAWindow) {
  on_nodes([](node::Node& node, OneSided& messages) {
    auto inbox = std::move(*node.executor().allocate(node.device(), 4096));
    auto mine = std::move(*node.executor().allocate(node.device(), 8192));
    const auto window = *messages.open(inbox.data(), 4096);
    const auto put = [&](int peer, std::uint64_t offset, const void* data, std::uint64_t bytes) {
      return messages.put(*window, peer, offset, data, bytes, node.lane());
    };
    const int peer = 1 - node.rank();
    EXPECT_EQ(put(peer, 1, mine.data(), 4096).code(), Code::invalid_argument);
    EXPECT_EQ(put(2, 0, mine.data(), 1).code(), Code::invalid_argument);
    EXPECT_EQ(put(peer, 0, nullptr, 1).code(), Code::invalid_argument);
    EXPECT_EQ(put(peer, 0, mine.data() + 8000, 4096).code(), Code::invalid_argument);
    EXPECT_TRUE(put(peer, 4096, mine.data(), 0).ok());
    EXPECT_EQ(messages.copy(mine.data() + 100, mine.data(), 200, node.lane()).code(), Code::invalid_argument)
        << "overlap";
    EXPECT_TRUE(messages.close(window).ok());
  });
}

TEST(OneSided, ShowsItsOwnDeviceAPeersPartOfAWindow) {
  on_nodes([](node::Node& node, OneSided& messages) {
    const int me = node.rank(), peer = 1 - me;
    auto mine = std::move(*node.executor().allocate_for_peers(node.device(), 4096));
    std::memset(mine.data(), 'a' + me, 4096);
    const auto window = *messages.open(mine.data(), 4096);
    EXPECT_EQ(*window->seen_here(me), mine.data());
    EXPECT_EQ(window->seen_here(2).status().code(), Code::invalid_argument);
    EXPECT_EQ(window->seen_here(-1).status().code(), Code::invalid_argument);
    std::byte* const seen = *window->seen_here(peer);
    ASSERT_NE(seen, nullptr);
    EXPECT_EQ(seen[4095], static_cast<std::byte>('a' + peer));
    // Who asks for more later gets it: the peer's own device had no mapping yet.
    const End there = *window->end(peer, 96, 4000);
    EXPECT_EQ(there.data, seen + 96);
    ASSERT_NE(there.at_owner, nullptr);
    EXPECT_EQ(there.at_owner[3999], static_cast<std::byte>('a' + peer));
    EXPECT_TRUE(messages.close(window).ok());
  });
}

/// A rank frees its memory, then forgets the window, while the other still reads what is mapped.
TEST(Registry, ForgetsAWindowWithoutTheOtherRanks) {
  on_nodes([](node::Node& node, OneSided&) {
    Registry windows(node);
    const int me = node.rank(), peer = 1 - me;
    auto mine = std::move(*node.executor().allocate(node.device(), 4096));
    std::memset(mine.data(), 'a' + me, 4096);
    const auto window = *windows.open(mine.data(), 4096);
    EXPECT_TRUE(window->outlives_owners());
    const End there = *window->end(peer, 0, 4096);
    ASSERT_NE(there.data, nullptr);
    ASSERT_TRUE(node.group().exchange().barrier().ok());  // both have mapped
    if (me == 0) {
      mine = {};
      windows.forget(window);
    }
    ASSERT_TRUE(node.group().exchange().barrier().ok());
    if (me == 1) {
      EXPECT_EQ(there.data[4095], std::byte{'a'});
      windows.forget(window);
    }
    const auto again = windows.open(nullptr, 0);  // windows are counted as ever
    ASSERT_TRUE(again.ok()) << again.status().text();
    EXPECT_TRUE(windows.close(*again).ok());
  });
}

TEST(OneSided, DisagreeingOnAWindowIsAnErrorOnAllRanks) {
  on_nodes([](node::Node& node, OneSided& messages) {
    int local = 0;
    auto memory = std::move(*node.executor().allocate(node.device(), 4096));
    void* const data = node.rank() == 0 ? static_cast<void*>(&local) : memory.data();
    const auto window = messages.open(data, 4);
    EXPECT_EQ(window.status().code(), Code::invalid_argument);
    const bool named = window.status().text().find("rank 0") != std::string::npos;
    EXPECT_TRUE(named || node.rank() == 0) << window.status().text();
  });
}

/// How many threads of sennit's own the process has: of the executor that stands for GPUs it has others.
int service_threads() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    count += name == "sennit-agent" || name == "sennit-proxy" ? 1 : 0;
  }
  return count;
}

TEST(OneSided, OfAllCommunicatorsOfAProcessHasTwoThreads) {
  const auto becomes = [](int threads) {  // a thread has its name a moment after it began
    for (int i = 0; i < 5000 && service_threads() != threads; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return service_threads();
  };
  on_nodes([&](node::Node& node, OneSided& messages) {  // both ranks are of this process
    ASSERT_TRUE(node.group().exchange().barrier().ok());
    EXPECT_EQ(becomes(1), 1) << "there is no window yet";
    ASSERT_TRUE(node.group().exchange().barrier().ok());
    auto inbox = std::move(*node.executor().allocate(node.device(), 4096));
    const auto window = *messages.open(inbox.data(), 4096);
    EXPECT_EQ(becomes(2), 2);
    EXPECT_TRUE(messages.close(window).ok());
  });
  EXPECT_EQ(becomes(0), 0) << "they end with the last communicator";
}

}  // namespace
}  // namespace sennit::path
