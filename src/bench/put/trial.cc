#include "bench/put/trial.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/units.h"
#include "bench/put/schedule.h"

namespace sennit::bench::put {

namespace {

bool sends(const Case& what, int side) {
  return side == 0 || what.both_ways;
}
bool receives(const Case& what, int side) {
  return side == 1 || what.both_ways;
}

std::string describe(const Variant& variant, const Case& what) {
  return fmt::format("{}, {}{}{}", variant.name(), format_bytes(what.bytes), what.both_ways ? ", both ways" : "",
                     what.window > 1 ? fmt::format(", window {}", what.window) : "");
}

}  // namespace

std::uint64_t places(std::uint64_t room, const Case& what) {
  return std::clamp<std::uint64_t>(room / std::max<std::uint64_t>(what.bytes, 1), 1, std::uint64_t(what.window));
}

std::vector<Message> Trial::messages_of(const Case& what) const {
  const std::uint64_t count = places(rig_.room(), what);
  std::vector<Message> messages;
  for (int i = 0; i < what.window; ++i) {
    const std::uint64_t at = kMargin + std::uint64_t(i) % count * what.bytes;
    messages.push_back({at, at, what.bytes});
  }
  return messages;
}

Status Trial::send(Variant& variant, const Case& what, std::span<const Message> messages) {
  for (const Message& message : messages)
    for (int side = 0; side < 2; ++side) {
      if (!rig_.owns(side)) continue;
      if (!sends(what, side) && !variant.two_sided()) continue;
      if (auto status = variant.enqueue(side, sends(what, side), receives(what, side), message); !status)
        return status;
    }
  for (int side = 0; side < 2; ++side)
    if (rig_.owns(side) && (sends(what, side) || variant.two_sided()))
      if (auto status = variant.finish(side); !status) return status;
  return {};
}

Status Trial::verify(Variant& variant, const Case& what) {
  return verify(variant, what, messages_of(what));
}

Status Trial::verify(Variant& variant, const Case& what, std::span<const Message> messages) {
  if (auto status = variant.prepare(what); !status) return status;
  // Messages of a window follow each other, or share a place: one range covers them.
  const std::uint64_t begin = messages.front().destination;
  std::uint64_t end = begin;
  for (const Message& message : messages) end = std::max(end, message.destination + message.bytes);
  for (int side = 0; side < 2; ++side)
    if (rig_.owns(side) && receives(what, side))
      if (auto status = checker_.poison(side, begin, end - begin); !status) return status;
  if (auto status = pairing_.meet(); !status) return status;
  if (auto status = send(variant, what, messages); !status) return std::move(status).in(describe(variant, what));
  if (auto status = pairing_.meet(); !status) return status;
  for (int side = 0; side < 2; ++side)
    if (rig_.owns(side) && receives(what, side))
      if (auto status = checker_.compare(side, {messages.front().source, begin, end - begin}); !status)
        return std::move(status).in(describe(variant, what));
  return pairing_.meet();
}

Status Trial::verify_odd(Variant& variant, bool both_ways) {
  for (const std::uint64_t bytes : {std::uint64_t(1), std::uint64_t(4099), rig_.room() / 2 + 5}) {
    if (bytes + 16 > rig_.room() + kMargin / 2) continue;
    const Case what{bytes, both_ways, 1};
    const Message message{kMargin + 3, kMargin + 5, bytes};
    if (!variant.covers(what)) continue;
    if (auto status = verify(variant, what, std::span(&message, 1)); !status) return status;
  }
  return {};
}

Result<double> Trial::send_timed(Variant& variant, const Case& what, std::span<const Message> messages) {
  const bool together = !rig_.in_one_process() && (what.both_ways || variant.two_sided());
  if (together)
    if (auto status = pairing_.meet(); !status) return status;
  const auto begin = std::chrono::steady_clock::now();
  if (auto status = send(variant, what, messages); !status) return std::move(status).in(describe(variant, what));
  const double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  if (!together) return us;
  auto other = pairing_.exchange(us);
  if (!other) return other;
  return std::max(us, *other);
}

Status Trial::batch(Variant& variant, const Case& what, std::span<const Message> messages, int repetitions,
                    std::vector<double>& samples_us) {
  if (auto status = variant.prepare(what); !status) return status;
  if (auto status = pairing_.meet(); !status) return status;
  const bool takes_part = rig_.owns(0) || what.both_ways || variant.two_sided();
  for (int i = -1; takes_part && i < repetitions; ++i) {
    auto us = send_timed(variant, what, messages);
    if (!us) return us.status();
    // The first one finds what the variant before it left in the caches and clocks.
    if (i >= 0) samples_us.push_back(*us);
  }
  return pairing_.meet();
}

Result<std::vector<std::optional<measure::Summary>>> Trial::time(std::span<const std::unique_ptr<Variant>> variants,
                                                                 const Case& what, double seconds) {
  const std::vector<Message> messages = messages_of(what);
  std::vector<std::vector<double>> samples(variants.size());
  std::vector<Schedule> schedules(variants.size());
  int rounds = 0;
  // 1. How long does it take? Rank 0 knows for both.
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (!variants[i]->covers(what)) continue;
    std::vector<double> first;
    if (auto status = batch(*variants[i], what, messages, 1, first); !status) return status;
    const double mine = first.empty() ? 0 : first.front();
    auto theirs = pairing_.exchange(mine);
    if (!theirs) return theirs.status();
    schedules[i] = plan_samples(what.bytes, rig_.owns(0) ? mine : *theirs, seconds);
    rounds = std::max(rounds, schedules[i].rounds);
  }
  // 2. In turns.
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (!variants[i]->covers(what) || round >= schedules[i].rounds) continue;
      if (auto status = batch(*variants[i], what, messages, schedules[i].batch, samples[i]); !status) return status;
    }
  // 3. The time of a window is that of its messages in turn.
  std::vector<std::optional<measure::Summary>> summaries(variants.size());
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (!variants[i]->covers(what)) continue;
    for (double& us : samples[i]) us /= what.window;
    summaries[i] = measure::summarise(std::move(samples[i]));
  }
  return summaries;
}

}  // namespace sennit::bench::put
