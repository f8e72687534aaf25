#include "shim/mpi/loans.h"

#include <functional>
#include <optional>
#include <vector>

#include "two_ranks.h"

namespace sennit::shim::mpi {
namespace {

constexpr std::uint64_t kLarge = std::uint64_t{65} << 20;  // whether it is still lent is asked

/// Rank 0 lends, and rank 1 borrows, in turns: step i of both, and then they meet.
struct Turns {
  std::vector<std::function<void(Party&)>> lends, borrows;

  void run() {
    const auto go = [](Party& rank, const auto& steps, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        if (i < steps.size()) steps[i](rank);
        rank.meet();
      }
    };
    const std::size_t count = std::max(lends.size(), borrows.size());
    between_two([&](Party& rank, Announcement&) { go(rank, lends, count); },
                [&](Party& rank, Announcement&) { go(rank, borrows, count); }, 4096);
  }
};

const auto nothing = [](Party&) {};

std::shared_ptr<const path::Mapping> mapping_of(Result<Borrowed> borrowed) {
  EXPECT_TRUE(borrowed.ok()) << borrowed.status().text();
  return borrowed.ok() ? borrowed->mapping : nullptr;
}

TEST(Loans, WhatItsOwnerFreedIsUnmappedWhenSomethingElseIsBorrowed) {
  device::Memory first, second;
  LoanName name;
  std::weak_ptr<const path::Mapping> mapped;
  std::shared_ptr<const path::Mapping> held;
  Turns turns;
  const auto lend = [&](device::Memory& memory) {
    return [&](Party& rank) {
      first = {};
      memory = std::move(*rank.executor->allocate(0, kLarge));
      name = rank.loans->lend_by_name(memory.data(), kLarge)->name;
    };
  };
  turns.lends = {lend(first), nothing, lend(second)};
  turns.borrows = {nothing,
                   [&](Party& rank) {
                     mapped = mapping_of(rank.loans->borrow(0, name, 1));
                     EXPECT_FALSE(mapped.expired()) << "it is used again and again";
                   },
                   nothing,
                   [&](Party& rank) {
                     EXPECT_FALSE(mapped.expired());
                     held = mapping_of(rank.loans->borrow(0, name, 1));
                     EXPECT_TRUE(mapped.expired());
                     EXPECT_EQ(mapping_of(rank.loans->borrow(0, name, 1)), held);
                     held.reset();
                   }};
  turns.run();
}

TEST(Loans, ManySmallOnesThatWereFreedAreUnmappedToo) {
  constexpr std::uint64_t kSome = std::uint64_t{24} << 20;
  std::vector<device::Memory> memories(5);
  std::vector<LoanName> names(memories.size());
  std::vector<std::weak_ptr<const path::Mapping>> mapped(memories.size());
  Turns turns;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    turns.lends.push_back([&, i](Party& rank) {
      if (i > 0) memories[i - 1] = {};
      memories[i] = std::move(*rank.executor->allocate(0, kSome));
      // Of a window first, for all that it matters.
      rank.loans->take_back(rank.loans->lend(memories[i].data(), kSome)->identity);
      names[i] = rank.loans->lend_by_name(memories[i].data(), kSome)->name;
    });
    turns.lends.push_back(nothing);
    turns.borrows.push_back(nothing);
    turns.borrows.push_back([&, i](Party& rank) { mapped[i] = mapping_of(rank.loans->borrow(0, names[i], 1)); });
  }
  turns.borrows.push_back([&](Party&) {
    EXPECT_TRUE(mapped[0].expired());
    EXPECT_FALSE(mapped.back().expired());
  });
  turns.run();
}

TEST(Loans, WhatAWindowBorrowedFirstAndAMessageThenIsKnownByItsCard) {
  device::Memory first, second;
  Lent lent{};
  LoanName name;
  std::weak_ptr<const path::Mapping> mapped;
  Turns turns;
  turns.lends = {[&](Party& rank) {
                   first = std::move(*rank.executor->allocate(0, kLarge));
                   lent = *rank.loans->lend(first.data(), kLarge);
                   name = rank.loans->lend_by_name(first.data(), kLarge)->name;
                 },
                 nothing,
                 [&](Party& rank) {
                   rank.loans->take_back(lent.identity);
                   first = {};
                   second = std::move(*rank.executor->allocate(0, kLarge));
                   name = rank.loans->lend_by_name(second.data(), kLarge)->name;
                 }};
  turns.borrows = {nothing,
                   [&](Party& rank) {
                     const auto held = mapping_of(rank.loans->borrow(0, lent, 1));
                     EXPECT_EQ(mapping_of(rank.loans->borrow(0, name, 1)), held);
                     mapped = held;
                     rank.loans->give_back(0, name.identity);  // in vain: a message is under way
                   },
                   nothing,
                   [&](Party& rank) {
                     (void)mapping_of(rank.loans->borrow(0, name, 1));
                     EXPECT_TRUE(mapped.expired());
                   }};
  turns.run();
}

TEST(Loans, WhatSomebodyHoldsStaysMapped) {
  device::Memory first, second;
  LoanName name;
  std::shared_ptr<const path::Mapping> held;
  Turns turns;
  turns.lends = {[&](Party& rank) {
                   first = std::move(*rank.executor->allocate(0, kLarge));
                   name = rank.loans->lend_by_name(first.data(), kLarge)->name;
                 },
                 nothing,
                 [&](Party& rank) {
                   first = {};
                   second = std::move(*rank.executor->allocate(0, kLarge));
                   name = rank.loans->lend_by_name(second.data(), kLarge)->name;
                 }};
  turns.borrows = {nothing, [&](Party& rank) { held = mapping_of(rank.loans->borrow(0, name, 1)); }, nothing,
                   [&](Party& rank) {
                     (void)mapping_of(rank.loans->borrow(0, name, 1));
                     EXPECT_EQ(held->base[kLarge - 1], std::byte{0});
                     held.reset();
                   }};
  turns.run();
}

TEST(Loans, WhatIsGivenBackIsUnmappedUnlessSomebodyHoldsIt) {
  device::Memory memory;
  LoanName name;
  Turns turns;
  turns.lends = {[&](Party& rank) {
    memory = std::move(*rank.executor->allocate(0, 4096));
    name = rank.loans->lend_by_name(memory.data(), 4096)->name;
  }};
  turns.borrows = {nothing, [&](Party& rank) {
                     auto held = mapping_of(rank.loans->borrow(0, name, 1));
                     const std::weak_ptr<const path::Mapping> mapped = held;
                     rank.loans->give_back(0, name.identity);
                     EXPECT_EQ(mapping_of(rank.loans->borrow(0, name, 1)), held);
                     held.reset();
                     rank.loans->give_back(0, name.identity);
                     EXPECT_TRUE(mapped.expired());
                     EXPECT_NE(mapping_of(rank.loans->borrow(0, name, 1)), nullptr);  // lent as before
                   }};
  turns.run();
}

TEST(Loans, WhatIsHeldIsLentHoweverMuchElseIs) {
  std::vector<device::Memory> memories;
  Lent kept{}, given{};
  Turns turns;
  turns.lends = {[&](Party& rank) {
    const auto lend = [&] {
      memories.push_back(std::move(*rank.executor->allocate(0, 4096)));
      return *rank.loans->lend(memories.back().data(), 4096);
    };
    kept = lend();
    given = lend();
    rank.loans->take_back(given.identity);
    for (int i = 0; i < 100; ++i) rank.loans->take_back(lend().identity);
  }};
  turns.borrows = {nothing, [&](Party& rank) {
                     EXPECT_NE(mapping_of(rank.loans->borrow(0, kept, 1)), nullptr);
                     EXPECT_FALSE(rank.loans->borrow(0, given, 1).ok());
                   }};
  turns.run();
}

}  // namespace
}  // namespace sennit::shim::mpi
