#include "profile/document.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string_view>

namespace sennit::profile {

std::string_view name_of(Memory memory) {
  constexpr std::array<std::string_view, kMemories> kNames{"none", "host", "pinned", "managed", "gpu"};
  return kNames[static_cast<std::size_t>(memory)];
}

namespace {

std::string_view name(GpuTimes times) {
  constexpr std::array<std::string_view, 4> kNames{"none", "sampled", "all", "kernel"};
  return kNames[static_cast<std::size_t>(times)];
}

std::string_view name(End end) {
  constexpr std::array<std::string_view, 3> kNames{"killed", "finalized", "exited"};
  return kNames[static_cast<std::size_t>(end)];
}

Json of(const Spread& spread) {
  return {{"least", spread.least}, {"mean", spread.mean}, {"most", spread.most}};
}

Json or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

double seconds(std::uint64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

Json of(const Kernels& kernels) {
  if (kernels.collected_ns == 0 && kernels.refused.empty()) return {};
  return {{"seconds", seconds(kernels.collected_ns)},
          {"kernels", kernels.kernels},
          {"of_graphs", kernels.of_graphs},
          {"lost", kernels.lost},
          {"communication_seconds", seconds(kernels.communication_ns)},
          {"computation_seconds", seconds(kernels.computation_ns)},
          {"overlapped_seconds", seconds(kernels.both_ns)},
          {"refused", or_null(kernels.refused)}};
}

Json of(const Rank& rank) {
  double inside = 0;
  std::uint64_t calls = 0, at_once = 0;
  for (const Sums& sums : rank.sums) {
    inside += static_cast<double>(sums.ns) / 1e9;
    calls += sums.calls;
    at_once += sums.at_once;
  }
  return {{"rank", rank.rank},
          {"host", rank.host},
          {"numa_nodes", rank.numa_nodes},
          {"process", rank.process},
          {"program", rank.program},
          {"ended", name(rank.end)},
          {"started_unix", static_cast<double>(rank.wall_ns) / 1e9},
          {"seconds", static_cast<double>(rank.run_ns()) / 1e9},
          {"paused_seconds", seconds(rank.paused_ns)},
          {"inside_seconds", inside},
          {"calls", calls},
          {"at_once", at_once},
          {"threads", rank.threads},
          {"cores", rank.cores},
          {"calls_lost", rank.calls_lost},
          {"classes_lost", rank.classes_lost},
          {"registered_most_bytes", rank.registered_most},
          {"kernels", of(rank.kernels)},
          {"clock_error_us", static_cast<double>(rank.clock_error_ns) / 1e3}};
}

Json of(const Row& row) {
  const bool known = row.bin != kUnknownBin;
  return {{"function", row.function},
          {"communicator_size", row.communicator_size},
          {"from_bytes",
           known ? Json(row.bin < 2 ? row.bin : last_of(static_cast<std::uint8_t>(row.bin - 1)) + 1) : Json()},
          {"to_bytes", known ? Json(last_of(row.bin)) : Json()},
          {"memory_in", name_of(row.memory_in)},
          {"memory_out", name_of(row.memory_out)},
          {"reduction", or_null(row.reduction)},
          {"how", or_null(row.how)},
          {"phase", or_null(row.phase)},
          {"calls", row.calls},
          {"processes", row.processes},
          {"bytes_in", row.bytes_in},
          {"bytes_out", row.bytes_out},
          {"seconds", row.seconds},
          {"rank_seconds", of(row.rank_seconds)},
          {"least_us", row.least_us},
          {"most_us", row.most_us},
          {"device_calls", row.device_calls},
          {"device_seconds", row.device_seconds},
          {"at_once", row.at_once},
          {"requests", row.requests},
          {"flight_seconds", row.flight_seconds},
          {"waited_seconds", row.waited_seconds},
          {"received_bytes", row.received},
          {"misses", row.misses},
          {"missed_seconds", row.missed_seconds},
          {"unseen", row.unseen},
          {"captured", row.captured},
          {"replayed", row.replayed},
          {"replayed_bytes", row.replayed_bytes}};
}

Json of(const Polls& polls) {
  return {{"function", polls.function},
          {"calls", polls.calls},
          {"misses", polls.misses},
          {"seconds", polls.seconds},
          {"missed_seconds", polls.missed_seconds},
          {"rank_missed_seconds", of(polls.rank_missed_seconds)}};
}

/// A variable of one process. A page needs no more points than it is wide.
Json of(const Sampled& variable, const Rank& rank) {
  constexpr std::size_t kMost = 300;
  const std::size_t step = variable.points.size() / kMost + 1;
  Json points = Json::array();
  for (std::size_t i = 0; i < variable.points.size(); i += step) {
    std::uint64_t most = 0;
    for (std::size_t j = i; j < std::min(i + step, variable.points.size()); ++j)
      most = std::max(most, variable.points[j].value);
    const auto since = static_cast<double>(variable.points[i].ns) - static_cast<double>(rank.init_ns);
    points.push_back({since / 1e9, most});
  }
  return {
      {"rank", rank.rank},
      {"name", variable.name},
      {"failed", or_null(variable.failed)},
      {"samples", variable.samples},
      {"mean", variable.samples == 0 ? 0 : static_cast<double>(variable.sum) / static_cast<double>(variable.samples)},
      {"most", variable.most},
      {"points", points}};
}

Json variables_of(const std::vector<Rank>& ranks) {
  Json all = Json::array();
  for (const Rank& rank : ranks)
    for (const Sampled& one : rank.variables) all.push_back(of(one, rank));
  return all;
}

template <class Range, class Make>
Json list(const Range& all, const Make& make) {
  Json made = Json::array();
  for (const auto& one : all) made.push_back(make(one));
  return made;
}

/// There are thousands of bins, and a picture shows no more digits.
double rounded(double value) {
  return std::round(value * 1e4) / 1e4;
}

Json of(const QueueLength& length) {
  return {{"mean", length.mean},
          {"most", length.most},
          {"mean_of_bin", list(length.mean_of_bin, rounded)},
          {"most_of_bin", length.most_of_bin}};
}

Json of(const RankQueues& queues) {
  return {{"rank", queues.rank},
          {"messages", queues.messages},
          {"undecided", queues.undecided},
          {"posted", of(queues.posted)},
          {"unexpected", of(queues.unexpected)}};
}

constexpr const char* kOwnTable = "what the MPI says of itself stands in a table of its own";

/// Returns why the queues that are shown are not those of the MPI's own variables.
std::string why_no_variables(const std::vector<Rank>& ranks) {
  const std::string* failed = nullptr;
  for (const Rank& rank : ranks)
    for (const Sampled& variable : rank.variables) {
      if (variable.samples != 0) return kOwnTable;
      if (!variable.failed.empty()) failed = &variable.failed;
    }
  return failed != nullptr ? *failed : "the MPI has no variable of a queue, or was not asked (--pvar)";
}

/// Queues are known in one of three ways. The document says in which, and why not in the others.
Json of_queues(const Profile& profile) {
  const ReconstructedQueues& queues = profile.queues;
  Json why_not = {{"variables", why_no_variables(profile.ranks)}};
  if (!queues.why_not.empty()) why_not["reconstructed"] = queues.why_not;
  const bool has_polls = !profile.polls.empty();
  why_not["polls"] = !has_polls               ? "no call asked for what was not there"
                     : queues.why_not.empty() ? "they tell how often a queue was empty, not its length"
                                              : "";
  const char* const shown = queues.why_not.empty()              ? "reconstructed"
                            : why_not["variables"] == kOwnTable ? "variables"
                            : has_polls                         ? "polls"
                                                                : nullptr;
  if (shown != nullptr) why_not.erase(shown);
  return {{"shown", shown != nullptr ? Json(shown) : Json()},
          {"why_not", why_not},
          {"bin_seconds", static_cast<double>(profile.span_ns) / kTimeBins / 1e9},
          {"since_seconds", queues.since_seconds},
          {"sends_left", queues.sends},
          {"receives_left", queues.receives},
          {"starts_left_out", queues.left_out},
          {"ranks", list(queues.ranks, [](const RankQueues& rank) { return of(rank); })}};
}

Json of(const Activity& activity) {
  constexpr std::array<const char*, kDoings> kNames{"collective", "message", "waiting", "nccl", "other"};
  Json made = {{"rank", activity.rank}, {"from_bin", activity.from_bin}, {"to_bin", activity.to_bin}};
  for (std::size_t i = 0; i < kDoings; ++i)
    if (std::ranges::any_of(activity.share[i], [](double share) { return share > 0; }))
      made[kNames[i]] = list(activity.share[i], rounded);
  return made;
}

Json of(const LeftOut& one) {
  return {{"file", std::filesystem::path(one.origin).filename().string()}, {"why", one.why}};
}

}  // namespace

Json to_json(const Profile& profile) {
  const Rank& first = profile.ranks.front();
  return {
      {"kind", "profile"},
      {"version", 1},
      {"ranks_of_job", first.ranks},
      {"accelerated", std::ranges::any_of(profile.ranks, &Rank::accelerated)},
      {"gpu_times", name(std::ranges::max(profile.ranks, {}, &Rank::gpu_times).gpu_times)},
      {"mpi", or_null(first.mpi)},
      {"nccl", or_null(first.nccl)},
      {"ranks", list(profile.ranks, [](const Rank& rank) { return of(rank); })},
      {"missing", profile.missing},
      {"rows", list(profile.rows, [](const Row& row) { return of(row); })},
      {"partners",
       list(profile.partners,
            [](const Partners& pair) {
              return Json{{"from", pair.from}, {"to", pair.to}, {"messages", pair.messages}, {"bytes", pair.bytes}};
            })},
      {"types", list(profile.types,
                     [](const TypeUse& use) {
                       return Json{{"type", use.type}, {"calls", use.calls}, {"bytes", use.bytes}};
                     })},
      {"registered", list(profile.registered,
                          [](const RegisteredMemory& one) {
                            return Json{{"function", one.function}, {"processes", one.processes},
                                        {"calls", one.calls},       {"bytes", one.bytes},
                                        {"most_bytes", one.most},   {"left_bytes", one.left}};
                          })},
      {"polls", list(profile.polls, [](const Polls& polls) { return of(polls); })},
      {"queues", of_queues(profile)},
      {"timeline",
       {{"bin_seconds", static_cast<double>(profile.span_ns) / kTimeBins / 1e9},
        {"ranks", list(profile.timeline, [](const Activity& activity) { return of(activity); })}}},
      {"lateness", list(profile.lateness,
                        [](const Lateness& late) {
                          return Json{{"rank", late.rank},
                                      {"calls", late.calls},
                                      {"last", late.last},
                                      {"late_seconds", late.late_seconds}};
                        })},
      {"unreadable", list(profile.left_out, [](const LeftOut& one) { return of(one); })},
      {"variables", variables_of(profile.ranks)},
      {"skew", list(profile.skews, [](const Skew& skew) {
         return Json{{"function", skew.function},
                     {"communicator_size", skew.communicator_size},
                     {"calls", skew.calls},
                     {"wait_seconds", skew.wait_seconds},
                     {"inside_seconds", skew.inside_seconds},
                     {"latest_rank", skew.latest_rank < 0 ? Json() : Json(skew.latest_rank)},
                     {"latest_calls", skew.latest_calls}};
       })}};
}

}  // namespace sennit::profile
