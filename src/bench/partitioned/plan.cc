#include "bench/partitioned/plan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace sennit::bench::partitioned {

namespace {

using OrderKind = Order::Kind;

constexpr std::array<std::pair<std::string_view, OrderKind>, 5> kOrders = {{{"linear", OrderKind::linear},
                                                                            {"inverse", OrderKind::inverse},
                                                                            {"stride", OrderKind::stride},
                                                                            {"random", OrderKind::random},
                                                                            {"burst", OrderKind::burst}}};
constexpr std::uint64_t kOfOrders = std::uint64_t{1} << 40;  // random numbers apart from those of threads

bool has_number(OrderKind kind) {
  return kind == OrderKind::stride || kind == OrderKind::burst;
}

/// Returns the first of the things that one of `count` takers gets of `all`.
int first_of(int taker, int count, int all) {
  return static_cast<int>(std::int64_t{taker} * all / count);
}

}  // namespace

std::string Order::text() const {
  const auto name = std::ranges::find(kOrders, kind, &std::pair<std::string_view, OrderKind>::second)->first;
  return has_number(kind) ? fmt::format("{}:{}", name, every) : std::string(name);
}

Result<Order> parse_order(std::string_view text) {
  const auto colon = text.find(':');
  const auto found =
      std::ranges::find(kOrders, text.substr(0, colon), &std::pair<std::string_view, OrderKind>::first);
  bool known = found != kOrders.end();
  Order order;
  if (known) {
    order.kind = found->second;
    known = has_number(order.kind) == (colon != text.npos);
  }
  if (known && colon != text.npos) {
    const std::string_view number = text.substr(colon + 1);
    const auto read = std::from_chars(number.data(), number.data() + number.size(), order.every);
    known = read.ec == std::errc{} && read.ptr == number.data() + number.size() && order.every >= 1;
  }
  if (known) return order;
  return Status(Code::invalid_argument, fmt::format("'{}' is no order", text), "--order",
                "Use linear, inverse, random, stride:4 or burst:8");
}

std::vector<int> ordered(const Order& order, int partitions, std::uint64_t seed, int iteration) {
  std::vector<int> all(std::size_t(std::max(0, partitions)));
  std::iota(all.begin(), all.end(), 0);
  switch (order.kind) {
    case OrderKind::linear:
    case OrderKind::burst: break;
    case OrderKind::inverse: std::ranges::reverse(all); break;
    case OrderKind::stride:
      std::ranges::stable_sort(all, {}, [&](int partition) { return partition % order.every; });
      break;
    case OrderKind::random:
      // Fisher and Yates's, with numbers of our own: std::shuffle differs from one library to the next.
      for (int last = partitions - 1; last > 0; --last) {
        const double drawn = uniform(seed, std::uint64_t(iteration), kOfOrders, std::uint64_t(last));
        std::swap(all[std::size_t(last)], all[std::size_t(drawn * (last + 1))]);
      }
  }
  return all;
}

std::vector<Step> steps(const Plan& plan, int iteration, int thread) {
  const Crew& crew = plan.crew;
  const auto order = ordered(plan.order, crew.partitions, plan.seed, iteration);
  const Work work =
      partitioned::work(plan.noise, {plan.seed, iteration, thread, crew.threads}, plan.compute_us, plan.bytes);
  if (crew.threads > crew.partitions)
    return {{work.even_us + work.last_us, order[std::size_t(first_of(thread, crew.threads, crew.partitions))]}};
  const int first = first_of(thread, crew.threads, crew.partitions),
            last = first_of(thread + 1, crew.threads, crew.partitions);
  const int count = last - first, together = plan.order.kind == OrderKind::burst ? plan.order.every : 1;
  std::vector<Step> made;
  for (int place = 0; place < count; ++place) {
    // The first of some that become ready at once follows the compute of them all.
    const int burst = place % together == 0 ? std::min(together, count - place) : 0;
    made.push_back({work.even_us * burst / count, order[std::size_t(first) + std::size_t(place)]});
  }
  made.back().compute_us += work.last_us;
  return made;
}

std::vector<int> workers(const Plan& plan, int iteration) {
  const auto [threads, partitions] = plan.crew;
  if (threads <= partitions) return std::vector<int>(std::size_t(partitions), 1);
  const auto order = ordered(plan.order, partitions, plan.seed, iteration);
  std::vector<int> counts(std::size_t(partitions), 0);
  for (int thread = 0; thread < threads; ++thread)
    ++counts[std::size_t(order[std::size_t(first_of(thread, threads, partitions))])];
  return counts;
}

}  // namespace sennit::bench::partitioned
