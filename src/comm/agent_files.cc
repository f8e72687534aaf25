// Does the agent's part in passing files: offers, requests and answers.
#include <fcntl.h>

#include <fmt/format.h>

#include "comm/agent.h"

namespace sennit::comm {

namespace {

Status left(int peer) {
  return Status(Code::peer_lost, fmt::format("rank {} has left the group", peer), {},
                "Keep the group until every rank has finished with it");
}

Status nothing(int peer, std::uint64_t id) {
  return Status(Code::not_found, fmt::format("rank {} offers no file {}", peer, id), {},
                "Fetch only what is offered, before it is withdrawn");
}

Status full() {
  return Status(Code::out_of_memory, "no file descriptor left for a peer's file", {},
                "Raise the limit of open files (ulimit -n)");
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
  if (peer == rank_) {
    const std::lock_guard lock(mutex_);
    const auto offered = offers_.find(id);
    if (offered == offers_.end()) return nothing(peer, id);
    UniqueFd file(::fcntl(offered->second.get(), F_DUPFD_CLOEXEC, 0));
    if (!file) return full();
    return file;
  }
  const auto request = begin_fetch(peer, id);
  if (!request) return request.status();
  std::unique_lock lock(mutex_);
  for (;;) {
    if (auto done = outcome(*request)) return std::move(*done);
    if (deadline.passed()) break;
    // The wait is cut into slices: some sanitizers and older C libraries misjudge one long timed wait on the steady
    // clock.
    changed_.wait_for(lock, milliseconds(std::min(deadline.poll_ms(), 1000)));
  }
  requests_.erase(*request);
  return Status(Code::timed_out,
                fmt::format("rank {} did not hand out file {} within {:g} s", peer, id, deadline.seconds()),
                fmt::format("process {}", members_[std::size_t(peer)].pid), "Check whether that process is stopped");
}

Result<std::uint64_t> Agent::begin_fetch(int peer, std::uint64_t id) {
  Link* link = link_to(peer);
  if (link == nullptr || !link->peer.same_node)
    return Status(Code::invalid_argument, fmt::format("rank {} is not on this node", peer), {},
                  "Files pass only between ranks of one node");
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = next_request_++;
    Request& request = requests_[number];
    request.peer = peer;
    request.id = id;
  }
  send(*link, {Kind::fetch, Writer().number(number).number(id).take(), {}});
  return number;
}

std::optional<Result<UniqueFd>> Agent::fetched(std::uint64_t request) {
  const std::lock_guard lock(mutex_);
  return outcome(request);
}

std::optional<Result<UniqueFd>> Agent::outcome(std::uint64_t number) {
  const Request& request = requests_.at(number);
  const auto death = deaths_.find(request.peer);
  const Status lost = other_failure_.ok() && death != deaths_.end() ? death->second : other_failure_;
  if (!request.answered && lost.ok() && !left_.contains(request.peer)) return std::nullopt;
  Request done = std::move(requests_.extract(number).mapped());
  if (done.answered && !done.found) return nothing(done.peer, done.id);
  if (done.answered && !done.file) return full();
  if (done.answered) return std::move(done.file);
  if (!lost.ok()) return Status(lost).in(fmt::format("fetch file {} of rank {}", done.id, done.peer));
  return left(done.peer).in(fmt::format("fetch file {}", done.id));
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
  if (request == requests_.end()) return;  // no thread waits any more
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
