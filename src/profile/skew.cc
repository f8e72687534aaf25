#include "profile/skew.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace sennit::profile {

namespace {

Rooted flow_of(std::string_view function) {
  constexpr std::size_t kLibrary = 4;
  if (function.starts_with("MPI_") || function.starts_with("nccl")) function.remove_prefix(kLibrary);
  return rooted_of(function);
}

std::vector<Rooted> flows_of(const Rank& rank) {
  std::vector<Rooted> flows;
  for (const std::string& function : rank.functions) flows.push_back(flow_of(function));
  return flows;
}

bool is_root(const Rank& rank, const Call& call, Rooted flow) {
  return flow != Rooted::none && call.peer >= 0 &&
         rank.communicators[call.communicator].rank == static_cast<std::uint32_t>(call.peer);
}

}  // namespace

void Meetings::Meeting::come(std::uint64_t begin, int rank) {
  first_begin = std::min(first_begin, begin);
  if (latest < 0 || begin > last_begin) {
    before_last = last_begin;
    last_begin = begin;
    latest = rank;
  } else {
    before_last = std::max(before_last, begin);
  }
}

void Meetings::Meeting::come_as_root(std::uint64_t begin, int rank, Rooted flow) {
  root_begin = begin;
  root = rank;
  rooted = flow;
}

std::uint64_t Meetings::Meeting::waited_since() const {
  switch (rooted) {
    case Rooted::none: return before_last;
    case Rooted::gathers: return std::max(before_last, root_begin);
    default: return first_begin;
  }
}

std::uint64_t Meetings::Meeting::waited(std::uint64_t begin, std::uint64_t end, bool is_root) const {
  if (!is_whole() || (rooted != Rooted::none && is_root == waits_for_root())) return 0;
  const std::uint64_t until = awaited_begin();
  const bool is_certain = rooted == Rooted::none ? has_a_last() : until > begin + 2 * error;
  // Who leaves before the last one has come, as a scan's first rank may, has waited no longer.
  return is_certain ? std::max(begin, std::min(end, until)) - begin : 0;
}

/// Calls each(meeting, place in rank.calls) for each of the rank's calls of all ranks.
template <class Visit>
void Meetings::visit(const Rank& rank, const Visit& each) {
  struct Seen {
    std::uint64_t number = ~std::uint64_t{0};
    Together* together = nullptr;
  };
  std::vector<Seen> seen(rank.communicators.size());
  for (std::size_t i = 0; i < rank.calls.size(); ++i) {
    const Call& call = rank.calls[i].call;
    const NamedCommunicator& communicator = rank.communicators[call.communicator];
    if (call.sequence == 0 || communicator.size < 2) continue;
    const std::uint64_t number = call.sequence / kTogether;
    Seen& of = seen[call.communicator];
    if (of.number != number) of = {number, &meetings_[{communicator.id, number}]};
    each((*of.together)[call.sequence % kTogether], i);
  }
}

void Meetings::come(const Rank& rank) {
  std::vector<const std::string*> functions;
  for (const std::string& function : rank.functions) functions.push_back(&*names_.insert(function).first);
  const std::string* const clock = &*names_.insert(rank.clock).first;
  const std::vector<Rooted> flows = flows_of(rank);
  visit(rank, [&](Meeting& meeting, std::size_t i) {
    const Call& call = rank.calls[i].call;
    ++meeting.came;
    if (const Rooted flow = flows[call.function]; is_root(rank, call, flow))
      meeting.come_as_root(call.begin, rank.rank, flow);
    else
      meeting.come(call.begin, rank.rank);
    meeting.size = rank.communicators[call.communicator].size;
    // Ranks may use two forms of one function: whoever comes first, the name is the same.
    const std::string* const function = functions[call.function];
    if (meeting.function == nullptr || *function < *meeting.function) meeting.function = function;
    meeting.error = std::max(meeting.error, rank.clock_error_ns);
    if (meeting.clock == nullptr) meeting.clock = clock;
    meeting.on_one_clock = meeting.on_one_clock && meeting.clock == clock;
  });
}

std::vector<std::uint64_t> Meetings::waits(const Rank& rank) {
  std::vector<std::uint64_t> waits(rank.calls.size(), 0);
  struct Seen {
    const std::string* function = nullptr;
    std::uint32_t size = 0;
    Waited* waited = nullptr;
  };
  std::vector<Seen> seen(rank.functions.size());
  const std::vector<Rooted> flows = flows_of(rank);
  std::uint64_t& calls = calls_[rank.rank];
  visit(rank, [&](const Meeting& meeting, std::size_t i) {
    if (meeting.came == 0 || !meeting.is_whole()) return;
    const Call& call = rank.calls[i].call;
    Seen& of = seen[call.function];
    if (of.size != meeting.size || of.function != meeting.function)
      of = {meeting.function, meeting.size, &waited_[{*meeting.function, meeting.size}]};
    ++calls;
    of.waited->inside_ns += call.end - call.begin;
    waits[i] = meeting.waited(call.begin, call.end, is_root(rank, call, flows[call.function]));
    of.waited->wait_ns += waits[i];
  });
  return waits;
}

std::vector<Skew> Meetings::skews() const {
  struct Found {
    Skew skew;
    std::map<int, std::uint64_t> last;  // by rank: calls to which it came last
  };
  std::map<std::pair<std::string, std::uint32_t>, Found> found;
  for (const auto& [key, together] : meetings_)
    for (const Meeting& meeting : together) {
      if (meeting.came == 0 || !meeting.is_whole()) continue;
      Found& of = found[{*meeting.function, meeting.size}];
      ++of.skew.calls;
      if (meeting.has_a_last()) ++of.last[meeting.awaited_rank()];
    }
  std::vector<Skew> all;
  for (auto& [key, of] : found) {
    std::tie(of.skew.function, of.skew.communicator_size) = key;
    if (const auto waited = waited_.find(key); waited != waited_.end()) {
      of.skew.wait_seconds = static_cast<double>(waited->second.wait_ns) / 1e9;
      of.skew.inside_seconds = static_cast<double>(waited->second.inside_ns) / 1e9;
    }
    for (const auto& [rank, calls] : of.last)
      if (calls > of.skew.latest_calls) {
        of.skew.latest_rank = rank;
        of.skew.latest_calls = calls;
      }
    all.push_back(std::move(of.skew));
  }
  std::ranges::stable_sort(all, std::greater<>(), &Skew::wait_seconds);
  return all;
}

std::vector<Lateness> Meetings::lateness() const {
  struct Late {
    std::uint64_t last = 0, ns = 0;
  };
  std::map<int, Late> late;
  for (const auto& [key, together] : meetings_)
    for (const Meeting& meeting : together) {
      if (meeting.came == 0 || !meeting.has_a_last()) continue;
      Late& of = late[meeting.awaited_rank()];
      ++of.last;
      of.ns += meeting.awaited_begin() - meeting.waited_since();
    }
  std::vector<Lateness> all;
  for (const auto& [rank, calls] : calls_) {
    if (calls == 0) continue;
    const Late& of = late[rank];
    all.push_back({rank, calls, of.last, static_cast<double>(of.ns) / 1e9});
  }
  return all;
}

}  // namespace sennit::profile
