#include "profile/matching.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

namespace sennit::profile {

namespace {

bool is_open(const MessageEnd& receive) {
  return receive.other == kAny || receive.tag == kAny;
}

std::tuple<std::int32_t, std::int32_t, std::uint64_t> in_channels(const MessageEnd& end) {
  return {end.other, end.tag, end.ns};
}

/// There are no open receives: of each sender and tag the first message goes to the first receive, and so on.
Matching match_channels(std::vector<MessageEnd>& sends, std::vector<Receive>& receives, std::uint64_t since) {
  std::ranges::sort(sends, {}, in_channels);
  std::ranges::sort(receives, {}, in_channels);
  Matching found;
  const auto end_of = [](const auto& ends, std::size_t from) {
    std::size_t to = from;
    while (to < ends.size() && ends[to].other == ends[from].other && ends[to].tag == ends[from].tag) ++to;
    return to;
  };
  const auto channel = [](const MessageEnd& end) { return std::pair(end.other, end.tag); };
  std::size_t send = 0, receive = 0;
  while (send < sends.size() || receive < receives.size()) {
    const bool both = send < sends.size() && receive < receives.size();
    const bool sent = send < sends.size() && (!both || channel(sends[send]) <= channel(receives[receive]));
    const bool received = receive < receives.size() && (!both || channel(receives[receive]) <= channel(sends[send]));
    const std::size_t sends_end = sent ? end_of(sends, send) : send;
    const std::size_t receives_end = received ? end_of(receives, receive) : receive;
    // A call that is known of one side alone has its other side before the first known call.
    const std::size_t more_sends =
        sends_end - send > receives_end - receive ? (sends_end - send) - (receives_end - receive) : 0;
    const std::size_t more_receives =
        receives_end - receive > sends_end - send ? (receives_end - receive) - (sends_end - send) : 0;
    if (since != 0) {
      for (std::size_t i = 0; i < more_sends; ++i) found.matched.push_back({sends[send++].ns, since});
      for (std::size_t i = 0; i < more_receives; ++i) found.matched.push_back({since, receives[receive++].ns});
    } else {
      found.sends += more_sends;
      found.receives += more_receives;
    }
    while (send < sends_end && receive < receives_end)
      found.matched.push_back({sends[send++].ns, receives[receive++].ns});
    send = sends_end;
    receive = receives_end;
  }
  return found;
}

/// Each call looks through the queue of the other side, in the order of their times, as in an MPI.
class Queues {
 public:
  Queues(const std::vector<MessageEnd>& sends, const std::vector<Receive>& receives, std::uint64_t since)
      : since_(since) {
    for (const MessageEnd& send : sends) ++channels_[{send.other, send.tag}].spare;
    for (const Receive& receive : receives)
      if (!is_open(receive)) --channels_[{receive.other, receive.tag}].spare;
  }

  void send(const MessageEnd& send) {
    Channel& channel = channels_[{send.other, send.tag}];
    drop_taken(posted_);
    std::size_t open = channel.spare > 0 ? 0 : posted_.size();
    for (; open < posted_.size() && may_look(); ++open) {
      Waiting& receive = posted_[open];
      if (!receive.taken && receive.until < send.ns) {  // there was no message for it, or one that is not known
        receive.taken = true;
        ++found_.receives;
      }
      if (!receive.taken && asks_for(receive.end, send)) break;
    }
    if (looks_ >= kMostLooks) open = posted_.size();
    const bool has_own = !channel.posted.empty();
    if (open < posted_.size() && (!has_own || posted_[open].number < channel.posted.front().number)) {
      take(posted_[open], send.ns, posted_[open].end.ns);
      --channel.spare;
    } else if (has_own) {
      found_.matched.push_back({send.ns, channel.posted.front().ns});
      channel.posted.pop_front();
    } else {
      channel.unexpected.push_back(first_ + unexpected_.size());
      unexpected_.push_back({.end = send, .channel = &channel});
    }
  }

  void receive(const Receive& receive) {
    ++number_;
    if (!is_open(receive)) {
      Channel& channel = channels_[{receive.other, receive.tag}];
      if (since_ != 0 && channel.spare < 0) {
        ++channel.spare;
        found_.matched.push_back({since_, receive.ns});
        return;
      }
      if (channel.unexpected.empty()) return channel.posted.push_back({receive.ns, number_});
      take_first(channel, receive.ns);
      return;
    }
    first_ += drop_taken(unexpected_);
    for (const Waiting& message : unexpected_) {
      if (!may_look()) break;
      if (message.taken || message.channel->spare <= 0 || !asks_for(receive, message.end)) continue;
      --message.channel->spare;
      return take_first(*message.channel, receive.ns);  // of its channel nothing came before it
    }
    posted_.push_back({.end = receive, .number = number_, .until = receive.until});
  }

  Matching end() {
    for (const Waiting& message : unexpected_) found_.sends += message.taken ? 0 : 1;
    for (const Waiting& receive : posted_) found_.receives += receive.taken ? 0 : 1;
    for (const auto& [key, channel] : channels_) found_.receives += channel.posted.size();
    return std::move(found_);
  }

 private:
  struct Posted {
    std::uint64_t ns, number;
  };
  struct Channel {
    std::int64_t spare = 0;  ///< messages that receives of this sender and tag do not need
    std::deque<Posted> posted;
    std::deque<std::size_t> unexpected;  ///< places in unexpected_, counted from the first message there was
  };
  struct Waiting {
    MessageEnd end;
    std::uint64_t number = 0, until = 0;  ///< of a receive
    Channel* channel = nullptr;           ///< of a message
    bool taken = false;
  };

  static bool asks_for(const MessageEnd& receive, const MessageEnd& send) {
    return (receive.other == kAny || receive.other == send.other) && (receive.tag == kAny || receive.tag == send.tag);
  }
  bool may_look() { return looks_ < kMostLooks && ++looks_ < kMostLooks; }
  static std::size_t drop_taken(std::deque<Waiting>& queue) {
    std::size_t dropped = 0;
    for (; !queue.empty() && queue.front().taken; ++dropped) queue.pop_front();
    return dropped;
  }
  void take(Waiting& one, std::uint64_t sent, std::uint64_t posted) {
    one.taken = true;
    found_.matched.push_back({sent, posted});
  }
  void take_first(Channel& channel, std::uint64_t posted) {
    Waiting& message = unexpected_[channel.unexpected.front() - first_];
    channel.unexpected.pop_front();
    take(message, message.end.ns, posted);
  }

  std::map<std::pair<std::int32_t, std::int32_t>, Channel> channels_;  ///< by sender and tag
  std::deque<Waiting> unexpected_;                                     ///< messages in the order in which they came
  std::size_t first_ = 0;                                              ///< messages that were dropped before
  std::deque<Waiting> posted_;                                         ///< open receives
  /// Long queues that have no match take time as their product: beyond this, messages and receives are left over.
  static constexpr std::uint64_t kMostLooks = std::uint64_t{1} << 25;
  std::uint64_t number_ = 0, looks_ = 0;
  const std::uint64_t since_;
  Matching found_;
};

}  // namespace

Matching match(std::vector<MessageEnd> sends, std::vector<Receive> receives, std::uint64_t since) {
  if (std::ranges::none_of(receives, is_open)) return match_channels(sends, receives, since);
  const auto in_time = [](const MessageEnd& end) { return std::tuple(end.ns, end.other, end.tag); };
  std::ranges::sort(sends, {}, in_time);
  std::ranges::stable_sort(receives, {}, &Receive::ns);  // of one rank: in the order of its calls
  Queues queues(sends, receives, since);
  std::size_t send = 0, receive = 0;
  while (send < sends.size() || receive < receives.size())
    if (receive == receives.size() || (send < sends.size() && sends[send].ns <= receives[receive].ns))
      queues.send(sends[send++]);
    else
      queues.receive(receives[receive++]);
  return queues.end();
}

}  // namespace sennit::profile
