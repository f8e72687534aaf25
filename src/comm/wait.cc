#include "comm/wait.h"

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::comm {

namespace {

std::string peer_text(int peer) {
  return peer < 0 ? "any" : std::to_string(peer);
}

std::string place(const Waiting& what) {
  return fmt::format("operation {}, sequence {}, rank {}, peer {}, {}", what.operation, what.sequence, what.rank,
                     peer_text(what.peer), format_bytes(what.bytes));
}

}  // namespace

Clock::duration default_wait_limit() {
  const Result<Clock::duration> limit = wait_limit();
  return limit.ok() ? *limit : std::chrono::seconds(30);
}

Status wait_timed_out(const Group* group, const Waiting& what, Clock::duration limit) {
  std::string text = place(what),
              remedy = "Check that every rank makes the same calls; SENNIT_TIMEOUT allows more time";
  if (group != nullptr && what.peer >= 0 && what.peer < group->size()) {
    const Member& peer = group->member(what.peer);
    remedy = fmt::format(
        "Check whether rank {} (process {}) is stopped or makes other calls; SENNIT_TIMEOUT allows more "
        "time",
        what.peer, peer.pid);
    const Operation last = group->last_operation(what.peer);
    if (!last.name.empty())
      text += fmt::format("; rank {} did last: {}, sequence {}, peer {}, {}", what.peer, last.name, last.sequence,
                          peer_text(last.peer), format_bytes(last.bytes));
    else if (group->same_node(what.peer))
      text += fmt::format("; rank {} has noted no operation yet", what.peer);
  }
  return Status(
      Code::timed_out,
      fmt::format("{} did not go on within {:g} s", what.operation, std::chrono::duration<double>(limit).count()),
      std::move(text), std::move(remedy));
}

Status wait_is_hopeless(const Group* group, const Waiting& what) {
  if (Status failure = group->check(); !failure.ok()) return std::move(failure).in(place(what));
  if (what.peer >= 0 && what.peer != group->rank() && group->has_left(what.peer))
    return Status(Code::peer_lost, fmt::format("rank {} has left the group", what.peer), place(what),
                  "Keep the communicator until every rank has finished with it");
  return {};
}

}  // namespace sennit::comm
