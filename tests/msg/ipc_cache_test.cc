#include "msg/ipc_cache.h"

#include <functional>
#include <optional>
#include <vector>

#include "msg/two_ranks.h"

namespace sennit::msg {
namespace {

constexpr std::uint64_t kLarge = std::uint64_t{65} << 20;  // whether it is still lent is asked

/// Rank 0 lends, and rank 1 borrows, in turns: step i of both, and then they meet.
struct Steps {
  std::vector<std::function<void(Party&)>> lends, borrows;

  void run() {
    const auto go = [](Party& rank, const auto& steps, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        if (i < steps.size()) steps[i](rank);
        rank.meet();
      }
    };
    const std::size_t count = std::max(lends.size(), borrows.size());
    between_two([&](Party& rank, Rts&) { go(rank, lends, count); },
                [&](Party& rank, Rts&) { go(rank, borrows, count); }, 4096);
  }
};

const auto nothing = [](Party&) {};

std::shared_ptr<const path::Mapping> mapping_of(Result<Imported> borrowed) {
  EXPECT_TRUE(borrowed.ok()) << borrowed.status().text();
  return borrowed.ok() ? borrowed->mapping : nullptr;
}

TEST(IpcCache, WhatItsOwnerFreedIsUnmappedWhenSomethingElseIsBorrowed) {
  device::Memory first, second;
  RemoteKey name;
  std::weak_ptr<const path::Mapping> mapped;
  std::shared_ptr<const path::Mapping> held;
  Steps steps;
  const auto lend = [&](device::Memory& memory) {
    return [&](Party& rank) {
      first = {};
      memory = std::move(*rank.executor->allocate(0, kLarge));
      name = rank.ipc_cache->export_by_key(memory.data(), kLarge)->key;
    };
  };
  steps.lends = {lend(first), nothing, lend(second)};
  steps.borrows = {nothing,
                   [&](Party& rank) {
                     mapped = mapping_of(rank.ipc_cache->import_memory(0, name, 1));
                     EXPECT_FALSE(mapped.expired()) << "it is used again and again";
                   },
                   nothing,
                   [&](Party& rank) {
                     EXPECT_FALSE(mapped.expired());
                     held = mapping_of(rank.ipc_cache->import_memory(0, name, 1));
                     EXPECT_TRUE(mapped.expired());
                     EXPECT_EQ(mapping_of(rank.ipc_cache->import_memory(0, name, 1)), held);
                     held.reset();
                   }};
  steps.run();
}

TEST(IpcCache, ManySmallOnesThatWereFreedAreUnmappedToo) {
  constexpr std::uint64_t kSome = std::uint64_t{24} << 20;
  std::vector<device::Memory> memories(5);
  std::vector<RemoteKey> names(memories.size());
  std::vector<std::weak_ptr<const path::Mapping>> mapped(memories.size());
  Steps steps;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    steps.lends.push_back([&, i](Party& rank) {
      if (i > 0) memories[i - 1] = {};
      memories[i] = std::move(*rank.executor->allocate(0, kSome));
      // Of a window first, for all that it matters.
      rank.ipc_cache->release(rank.ipc_cache->export_memory(memories[i].data(), kSome)->identity);
      names[i] = rank.ipc_cache->export_by_key(memories[i].data(), kSome)->key;
    });
    steps.lends.push_back(nothing);
    steps.borrows.push_back(nothing);
    steps.borrows.push_back(
        [&, i](Party& rank) { mapped[i] = mapping_of(rank.ipc_cache->import_memory(0, names[i], 1)); });
  }
  steps.borrows.push_back([&](Party&) {
    EXPECT_TRUE(mapped[0].expired());
    EXPECT_FALSE(mapped.back().expired());
  });
  steps.run();
}

TEST(IpcCache, WhatAWindowBorrowedFirstAndAMessageThenIsKnownByItsCard) {
  device::Memory first, second;
  IpcHandle lent{};
  RemoteKey name;
  std::weak_ptr<const path::Mapping> mapped;
  Steps steps;
  steps.lends = {[&](Party& rank) {
                   first = std::move(*rank.executor->allocate(0, kLarge));
                   lent = *rank.ipc_cache->export_memory(first.data(), kLarge);
                   name = rank.ipc_cache->export_by_key(first.data(), kLarge)->key;
                 },
                 nothing,
                 [&](Party& rank) {
                   rank.ipc_cache->release(lent.identity);
                   first = {};
                   second = std::move(*rank.executor->allocate(0, kLarge));
                   name = rank.ipc_cache->export_by_key(second.data(), kLarge)->key;
                 }};
  steps.borrows = {nothing,
                   [&](Party& rank) {
                     const auto held = mapping_of(rank.ipc_cache->import_memory(0, lent, 1));
                     EXPECT_EQ(mapping_of(rank.ipc_cache->import_memory(0, name, 1)), held);
                     mapped = held;
                     rank.ipc_cache->unmap(0, name.identity);  // in vain: a message is under way
                   },
                   nothing,
                   [&](Party& rank) {
                     (void)mapping_of(rank.ipc_cache->import_memory(0, name, 1));
                     EXPECT_TRUE(mapped.expired());
                   }};
  steps.run();
}

TEST(IpcCache, WhatSomebodyHoldsStaysMapped) {
  device::Memory first, second;
  RemoteKey name;
  std::shared_ptr<const path::Mapping> held;
  Steps steps;
  steps.lends = {[&](Party& rank) {
                   first = std::move(*rank.executor->allocate(0, kLarge));
                   name = rank.ipc_cache->export_by_key(first.data(), kLarge)->key;
                 },
                 nothing,
                 [&](Party& rank) {
                   first = {};
                   second = std::move(*rank.executor->allocate(0, kLarge));
                   name = rank.ipc_cache->export_by_key(second.data(), kLarge)->key;
                 }};
  steps.borrows = {nothing, [&](Party& rank) { held = mapping_of(rank.ipc_cache->import_memory(0, name, 1)); },
                   nothing,
                   [&](Party& rank) {
                     (void)mapping_of(rank.ipc_cache->import_memory(0, name, 1));
                     EXPECT_EQ(held->base[kLarge - 1], std::byte{0});
                     held.reset();
                   }};
  steps.run();
}

TEST(IpcCache, WhatIsGivenBackIsUnmappedUnlessSomebodyHoldsIt) {
  device::Memory memory;
  RemoteKey name;
  Steps steps;
  steps.lends = {[&](Party& rank) {
    memory = std::move(*rank.executor->allocate(0, 4096));
    name = rank.ipc_cache->export_by_key(memory.data(), 4096)->key;
  }};
  steps.borrows = {nothing, [&](Party& rank) {
                     auto held = mapping_of(rank.ipc_cache->import_memory(0, name, 1));
                     const std::weak_ptr<const path::Mapping> mapped = held;
                     rank.ipc_cache->unmap(0, name.identity);
                     EXPECT_EQ(mapping_of(rank.ipc_cache->import_memory(0, name, 1)), held);
                     held.reset();
                     rank.ipc_cache->unmap(0, name.identity);
                     EXPECT_TRUE(mapped.expired());
                     EXPECT_NE(mapping_of(rank.ipc_cache->import_memory(0, name, 1)), nullptr);  // lent as before
                   }};
  steps.run();
}

TEST(IpcCache, WhatIsHeldIsLentHoweverMuchElseIs) {
  std::vector<device::Memory> memories;
  IpcHandle kept{}, given{};
  Steps steps;
  steps.lends = {[&](Party& rank) {
    const auto lend = [&] {
      memories.push_back(std::move(*rank.executor->allocate(0, 4096)));
      return *rank.ipc_cache->export_memory(memories.back().data(), 4096);
    };
    kept = lend();
    given = lend();
    rank.ipc_cache->release(given.identity);
    for (int i = 0; i < 100; ++i) rank.ipc_cache->release(lend().identity);
  }};
  steps.borrows = {nothing, [&](Party& rank) {
                     EXPECT_NE(mapping_of(rank.ipc_cache->import_memory(0, kept, 1)), nullptr);
                     EXPECT_FALSE(rank.ipc_cache->import_memory(0, given, 1).ok());
                   }};
  steps.run();
}

}  // namespace
}  // namespace sennit::msg
