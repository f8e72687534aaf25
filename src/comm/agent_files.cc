// The agent's part in passing files: offers, requests and answers.
#include <fcntl.h>

#include <fmt/format.h>

#include "comm/agent.h"

namespace sennit::comm {

namespace {

Status left(int peer) {
  return Status(Code::peer_lost, fmt::format("rank {} has left the group", peer), {},
                "Keep the group until every rank has finished with it");
}

}  // namespace

std::uint64_t Agent::offer(UniqueFd file) {
  const std::lock_guard lock(mutex_);
  offers_.emplace(next_offer_, std::move(file));
  return next_offer_++;
}

void Agent::withdraw(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  offers_.erase(id);
}

Result<UniqueFd> Agent::fetch(int peer, std::uint64_t id, Deadline deadline) {
  const Status nothing(Code::not_found, fmt::format("rank {} offers no file {}", peer, id), {},
                       "Fetch only what is offered, before it is withdrawn");
  const Status full(Code::out_of_memory, "no file descriptor left for a peer's file", {},
                    "Raise the limit of open files (ulimit -n)");
  if (peer == rank_) {
    const std::lock_guard lock(mutex_);
    const auto offered = offers_.find(id);
    if (offered == offers_.end()) return nothing;
    UniqueFd file(::fcntl(offered->second.get(), F_DUPFD_CLOEXEC, 0));
    if (!file) return full;
    return file;
  }
  Link* link = link_to(peer);
  if (link == nullptr || !link->peer.same_node)
    return Status(Code::invalid_argument, fmt::format("rank {} is not on this node", peer), {},
                  "Files pass only between ranks of one node");
  std::unique_lock lock(mutex_);
  const std::uint64_t number = next_request_++;
  requests_[number].peer = peer;
  lock.unlock();
  send(*link, {Kind::fetch, Writer().number(number).number(id).take(), {}});
  lock.lock();
  Request& request = requests_[number];
  const auto lost = [&]() -> Status {  // with the mutex held
    const auto death = deaths_.find(peer);
    return other_failure_.ok() && death != deaths_.end() ? death->second : other_failure_;
  };
  // In slices: some sanitizers and older C libraries misjudge one long timed wait on the steady clock.
  while (!request.answered && lost().ok() && !left_.contains(peer) && !deadline.passed())
    changed_.wait_for(lock, milliseconds(std::min(deadline.poll_ms(), 1000)));
  Request done = std::move(request);
  requests_.erase(number);
  if (done.answered && !done.found) return nothing;
  if (done.answered && !done.file) return full;
  if (done.answered) return std::move(done.file);
  if (auto status = lost(); !status.ok())
    return std::move(status).in(fmt::format("fetch file {} of rank {}", id, peer));
  if (left_.contains(peer)) return left(peer).in(fmt::format("fetch file {}", id));
  return Status(Code::timed_out,
                fmt::format("rank {} did not hand out file {} within {:g} s", peer, id, deadline.seconds()),
                fmt::format("process {}", members_[std::size_t(peer)].pid), "Check whether that process is stopped");
}

void Agent::answer(Link& link, const Frame& frame) {
  Reader reader(frame.body);
  const std::uint64_t request = reader.number(), id = reader.number();
  if (!reader.finish().ok() || !link.peer.same_node) return lost(link);
  UniqueFd file;
  bool found = false;
  {
    const std::lock_guard lock(mutex_);
    const auto offered = offers_.find(id);
    found = offered != offers_.end();
    // A duplicate, because the offer may be withdrawn before this frame has left.
    if (found) file.reset(::fcntl(offered->second.get(), F_DUPFD_CLOEXEC, 0));
  }
  send(link, {Kind::file, Writer().number(request).number(found).take(), std::move(file)});
}

void Agent::deliver(const Frame& frame, UniqueFd file) {
  Reader reader(frame.body);
  const std::uint64_t number = reader.number();
  const bool found = reader.number() != 0;
  const std::lock_guard lock(mutex_);
  const auto request = requests_.find(number);
  if (request == requests_.end()) return;  // nobody waits any more
  request->second.answered = true;
  request->second.found = found;
  request->second.file = std::move(file);
  changed_.notify_all();
}

Agent::Link* Agent::link_to(int peer) {
  for (auto& link : links_)
    if (link->peer.rank == peer) return link.get();
  return nullptr;
}

}  // namespace sennit::comm
