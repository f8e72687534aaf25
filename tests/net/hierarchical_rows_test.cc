// The collectives whose messages lie in rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "net/thread_nodes.h"

namespace sennit::net {
namespace {

TEST(Hierarchical, GathersInTheOrderOfRanks) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  for (const auto& [nodes, ranks] : kShapes)
    on_all(nodes, ranks, Way::rails, [](const Rank& mine, node::Node& node, Hierarchical& all) {
      const auto places = out_of_order(mine);
      const std::uint64_t own = number_of(places, mine);
      for (const std::uint64_t count : kRows)
        for (const bool in_place : {false, true}) {
          const auto value = [&](std::uint64_t i) { return given(static_cast<int>(i / count), i % count); };
          const auto input = numbers(node, count, [&](auto i) { return given(static_cast<int>(own), i); });
          const auto output = numbers(node, count * places.size(),
                                      [&](auto i) { return in_place && i / count == own ? value(i) : -1.0f; });
          const std::byte* const from = in_place ? output.data() + own * count * 4 : input.data();
          ASSERT_TRUE(all.all_gather(from, output.data(), count * 4, places).ok());
          expect(output, count * places.size(), value);
          expect(input, count, [&](auto i) { return given(static_cast<int>(own), i); });
        }
    });
}

TEST(Hierarchical, GathersMessagesOfEveryLength) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  for (const auto& [nodes, ranks] : kShapes)
    on_all(nodes, ranks, Way::rails, [](const Rank& mine, node::Node& node, Hierarchical& all) {
      const auto places = out_of_order(mine);
      const std::uint64_t own = number_of(places, mine), size = places.size();
      // Apart from each other, and backwards; one is empty.
      const auto count = [](std::uint64_t rank) { return rank == 1 ? 0 : 20'003 - rank * 3000; };
      std::vector<std::uint64_t> lengths, begins(size);
      std::uint64_t total = 3;
      for (std::uint64_t rank = 0; rank < size; ++rank) lengths.push_back(count(rank) * 4);
      for (std::uint64_t rank = size; rank-- > 0; total += count(rank) + 1) begins[rank] = total * 4;
      std::vector<float> expected(total, -1.0f);
      for (std::uint64_t rank = 0; rank < size; ++rank)
        for (std::uint64_t i = 0; i < count(rank); ++i)
          expected[begins[rank] / 4 + i] = given(static_cast<int>(rank), i);
      const auto input = numbers(node, count(own), [&](auto i) { return given(static_cast<int>(own), i); });
      const auto output = numbers(node, total, [](auto) { return -1.0f; });
      ASSERT_TRUE(all.all_gather_v(input.data(), output.data(), lengths, begins, places).ok());
      expect(output, total, [&](auto i) { return expected[i]; });
    });
}

TEST(Hierarchical, GathersAtAnyRankAndScattersFromIt) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  for (const auto& [nodes, ranks] : kShapes)
    on_all(nodes, ranks, Way::rails, [](const Rank& mine, node::Node& node, Hierarchical& all) {
      const auto places = out_of_order(mine);
      const std::uint64_t own = number_of(places, mine);
      for (const std::uint64_t count : kRows)
        for (std::uint64_t root = 0; root < places.size(); ++root) {
          const bool here = own == root, in_place = root % 2 == 1;
          const std::uint64_t total = count * places.size();
          const auto value = [&](std::uint64_t i) { return given(static_cast<int>(i / count), i % count); };
          const auto part = numbers(node, count, [&](auto i) { return value(own * count + i); });
          const auto whole = numbers(node, total, [&](auto i) { return i / count == own ? value(i) : -1.0f; });
          std::byte* const place = here && in_place ? whole.data() + own * count * 4 : part.data();
          ASSERT_TRUE(all.gather(place, here ? whole.data() : nullptr, count * 4, places[root], places).ok());
          expect(whole, total, [&](auto i) { return here || i / count == own ? value(i) : -1.0f; });
          // And back, where each rank's part was lost.
          if (!here || !in_place) std::memset(part.data(), 0xEE, count * 4);
          ASSERT_TRUE(all.scatter(here ? whole.data() : nullptr, place, count * 4, places[root], places).ok());
          expect(part, count, [&](auto i) { return value(own * count + i); });
          expect(whole, total, [&](auto i) { return here || i / count == own ? value(i) : -1.0f; });
        }
    });
}

/// Of messages that differ: none, a number, less than a chunk, and several.
std::uint64_t length_of(std::uint64_t rank) {
  const std::uint64_t lengths[] = {12'003, 0, 20'003, 1, 700};
  return lengths[rank % 5];
}

/// Where such messages lie, in bytes: apart from each other, and backwards.
struct Apart {
  explicit Apart(std::uint64_t size) : begins(size) {
    for (std::uint64_t rank = 0; rank < size; ++rank) lengths.push_back(length_of(rank) * 4);
    for (std::uint64_t rank = size; rank-- > 0; total += length_of(rank) + 1) begins[rank] = total * 4;
  }
  /// What is there, where messages are those of given(), but for rank `without`.
  std::vector<float> numbers(std::uint64_t without = ~std::uint64_t{0}) const {
    std::vector<float> all(total, -1.0f);
    for (std::uint64_t rank = 0; rank < lengths.size(); ++rank)
      for (std::uint64_t i = 0; i < length_of(rank) && rank != without; ++i)
        all[begins[rank] / 4 + i] = given(static_cast<int>(rank), i);
    return all;
  }
  std::uint64_t total = 3;
  std::vector<std::uint64_t> lengths, begins;
};

TEST(Hierarchical, GathersMessagesOfEveryLengthAtAnyRankAndScattersThem) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  for (const auto& [nodes, ranks] : kShapes)
    on_all(nodes, ranks, Way::rails, [](const Rank& mine, node::Node& node, Hierarchical& all) {
      const auto places = out_of_order(mine);
      const std::uint64_t own = number_of(places, mine);
      for (std::uint64_t root = 0; root < places.size(); ++root) {
        const bool here = own == root, in_place = root % 2 == 1;
        Apart apart(places.size());
        const auto value = [&](auto i) { return given(static_cast<int>(own), i); };
        const auto part = numbers(node, length_of(own), value);
        // What is in place at the root is no message; it is there before, or not touched.
        const bool stays = here && in_place;
        const auto whole_numbers = apart.numbers(in_place ? root : ~std::uint64_t{0});
        const auto whole = numbers(node, apart.total, [](auto) { return -1.0f; });
        if (in_place) apart.lengths[root] = 0;
        OfOneRank messages{stays ? 0 : length_of(own) * 4, std::ranges::max(apart.lengths), {}, {}};
        if (here) {
          messages.lengths = apart.lengths;
          messages.begins = apart.begins;
        }
        std::byte* const place = stays ? nullptr : part.data();
        ASSERT_TRUE(all.gather_v(place, here ? whole.data() : nullptr, messages, places[root], places).ok());
        expect(whole, apart.total, [&](auto i) { return here ? whole_numbers[i] : -1.0f; });
        // And back, where each rank's message was lost.
        if (!stays) std::memset(part.data(), 0xEE, length_of(own) * 4);
        ASSERT_TRUE(all.scatter_v(here ? whole.data() : nullptr, place, messages, places[root], places).ok());
        expect(part, length_of(own), value);
        expect(whole, apart.total, [&](auto i) { return here ? whole_numbers[i] : -1.0f; });
      }
    });
}

TEST(Hierarchical, ReduceScattersPartsOfEveryLength) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  for (const auto& [nodes, ranks] : kShapes)
    on_all(nodes, ranks, Way::rails, [](const Rank& mine, node::Node& node, Hierarchical& all) {
      const auto places = out_of_order(mine);
      const std::uint64_t own = number_of(places, mine), size = places.size();
      std::vector<std::uint64_t> lengths, begins;
      std::uint64_t total = 0;
      for (std::uint64_t rank = 0; rank < size; total += length_of(rank++)) {
        lengths.push_back(length_of(rank) * 4);
        begins.push_back(total * 4);
      }
      for (const bool in_place : {false, true}) {
        const auto input = numbers(node, total, [&](auto i) { return given(mine.number(), i); });
        const auto output = numbers(node, length_of(own) + 1, [](auto) { return -1.0f; });
        std::byte* const to = in_place ? input.data() : output.data();
        ASSERT_TRUE(all.reduce_scatter_v(input.data(), to, lengths, begins, kSum, places).ok());
        expect(in_place ? input : output, length_of(own), [&](auto i) { return sum(mine, begins[own] / 4 + i); });
        if (in_place) continue;
        expect(input, total, [&](auto i) { return given(mine.number(), i); });
        EXPECT_EQ(reinterpret_cast<const float*>(output.data())[length_of(own)], -1.0f) << "behind the result";
      }
    });
}

TEST(Hierarchical, ReduceScattersInTheOrderOfRanks) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "two mappings of one memory are two memories to ThreadSanitizer";
#endif
  for (const auto& [nodes, ranks] : kShapes)
    on_all(nodes, ranks, Way::rails, [](const Rank& mine, node::Node& node, Hierarchical& all) {
      const auto places = out_of_order(mine);
      const std::uint64_t own = number_of(places, mine);
      for (const std::uint64_t count : kRows)
        for (const bool in_place : {false, true}) {
          const std::uint64_t total = count * places.size();
          const auto input = numbers(node, total, [&](auto i) { return given(mine.number(), i); });
          const auto output = numbers(node, count + 1, [](auto) { return -1.0f; });
          std::byte* const to = in_place ? input.data() : output.data();
          ASSERT_TRUE(all.reduce_scatter(input.data(), to, count * 4, kSum, places).ok());
          expect(in_place ? input : output, count, [&](auto i) { return sum(mine, own * count + i); });
          if (in_place) continue;
          expect(input, total, [&](auto i) { return given(mine.number(), i); });
          EXPECT_EQ(reinterpret_cast<const float*>(output.data())[count], -1.0f) << "behind the result";
        }
    });
}

}  // namespace
}  // namespace sennit::net
