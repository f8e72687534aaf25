// Every route that planning may choose on this machine moves every byte, whatever the alignment. In one process, so
// that compute-sanitizer can watch the kernels: compute-sanitizer test_gpu --gtest_filter='Routes.*'.
#include <random>

#include <gtest/gtest.h>

#include "base/units.h"
#include "comm/bootstrap.h"
#include "path/one_sided.h"

namespace sennit::gpu {
namespace {

constexpr std::uint64_t kRoom = 24 * MiB;

struct Routes : testing::Test {
  std::shared_ptr<device::Executor> executor;
  std::unique_ptr<node::Node> node;
  std::optional<path::OneSided> messages;
  std::vector<device::Memory> memory;  // by device; the host's last
  device::Memory staging;

  void SetUp() override {
    auto opened = device::open_cuda_executor();
    ASSERT_TRUE(opened.ok()) << opened.status().text();
    executor = *opened;
    auto made = node::Node::create(comm::alone(), executor, {});
    ASSERT_TRUE(made.ok()) << made.status().text();
    node = std::move(*made);
    ASSERT_TRUE(messages.emplace(*node).prepare().ok());
    for (int device = 0; device < count(); ++device) {
      auto allocated = executor->allocate(device, 2 * kRoom);
      ASSERT_TRUE(allocated.ok()) << allocated.status().text();
      memory.push_back(std::move(*allocated));
    }
    for (device::Memory* host : {&memory.emplace_back(), &staging}) {
      auto pinned = executor->allocate_pinned(2 * kRoom);
      ASSERT_TRUE(pinned.ok()) << pinned.status().text();
      *host = std::move(*pinned);
    }
  }

  int count() const { return int(executor->devices().size()); }
  std::string id(int device) {
    return messages->transfer_engine().plans().id_of(device == count() ? path::kHost : device);
  }

  void copy(void* dst, const void* src, std::uint64_t bytes) {
    ASSERT_TRUE(node->lane().copy(dst, src, bytes).ok());
    ASSERT_TRUE(node->lane().synchronize().ok());
  }

  /// Sends random bytes by the route named, all of the message, and compares.
  void expect_arrival(int from, int to, const std::string& route, std::uint64_t bytes, std::uint64_t shift) {
    SCOPED_TRACE(id(from) + " → " + id(to) + " by " + route + ", " + std::to_string(bytes) + " bytes");
    std::vector<std::uint64_t> words(kRoom / 8);
    std::mt19937_64 random(bytes + shift);
    for (std::uint64_t& word : words) word = random();
    std::memcpy(staging.data(), words.data(), kRoom);
    copy(memory[std::size_t(from)].data(), staging.data(), kRoom);
    std::memset(staging.data(), 0xEE, kRoom);
    std::byte* const landing = memory[std::size_t(to)].data() + kRoom;
    copy(landing, staging.data(), kRoom);

    messages->transfer_engine().plans().force({{route, 1.0}});
    const auto status =
        messages->copy(landing + shift, memory[std::size_t(from)].data() + shift / 2, bytes, node->lane());
    ASSERT_TRUE(status.ok()) << status.text();
    ASSERT_TRUE(node->synchronize(node->lane()).ok());
    messages->transfer_engine().plans().force({});

    copy(staging.data(), landing, kRoom);
    const auto* sent = reinterpret_cast<const std::byte*>(words.data()) + shift / 2;
    EXPECT_EQ(std::memcmp(staging.data() + shift, sent, bytes), 0);
    for (std::uint64_t i = 0; i < shift; ++i) ASSERT_EQ(staging.data()[i], std::byte(0xEE)) << i;
    for (std::uint64_t i = shift + bytes; i < shift + bytes + 64; ++i)
      ASSERT_EQ(staging.data()[i], std::byte(0xEE)) << i;
  }
};

TEST_F(Routes, MoveEveryByte) {
  const int host = count();
  std::vector<std::pair<int, int>> pairs = {{0, host}, {host, 0}};
  if (count() > 1) pairs.insert(pairs.end(), {{0, 1}, {1, 0}});
  for (const auto& [from, to] : pairs) {
    const auto found = path::candidates(messages->transfer_engine().plans().machine(), id(from), id(to), 16 * MiB);
    ASSERT_TRUE(found.ok()) << found.status().text();
    ASSERT_FALSE(found->empty());
    for (const path::Candidate& candidate : *found)
      for (const std::uint64_t bytes : {std::uint64_t(1), std::uint64_t(65), std::uint64_t(100003), 16 * MiB + 5})
        for (const std::uint64_t shift : {0, 13, 16}) expect_arrival(from, to, candidate.route.name(), bytes, shift);
  }
}

}  // namespace
}  // namespace sennit::gpu
