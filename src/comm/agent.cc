#include "comm/agent.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include <fmt/format.h>

#include "comm/fork_guard.h"
#include "comm/socket.h"

namespace sennit::comm {

namespace {

// A rank that leaves waits so long for slow readers of its goodbye; without that they would report a death.
constexpr milliseconds kFarewell(200);
constexpr std::uint32_t kWakeup = 0xFFFFFF;  ///< the number of event_; links have theirs from 0

Status died(const Member& member) {
  const std::string node = member.node.empty() ? "" : fmt::format(", node '{}'", member.node);
  return Status(
      Code::peer_lost, fmt::format("rank {} died (process {}{})", member.rank, member.pid, node), {},
      fmt::format("Look at what rank {} printed last, and whether the system killed it for memory", member.rank));
}

}  // namespace

Result<std::unique_ptr<Agent>> Agent::start(int rank, const std::vector<Member>& members,
                                            const std::vector<int>& leaders, std::vector<PeerLink> links) {
  std::unique_ptr<Agent> agent(new Agent(rank, members, leaders));
  agent->event_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!agent->event_) return system_status("watch connections", errno, "Raise the limit of open files (ulimit -n)");
  for (PeerLink& link : links) {
    agent->links_.push_back(std::make_unique<Link>());
    agent->links_.back()->peer = std::move(link);
  }
  auto reactor = Reactor::of_this_process();
  if (!reactor) return reactor.status();
  agent->owner_ = ::getpid();
  agent->reactor_ = std::move(*reactor);
  agent->client_ = agent->reactor_->add(
      [self = agent.get()](std::uint32_t number, std::uint32_t events) { self->react(number, events); });
  ForkGuard::watch(agent.get());
  Status status = agent->reactor_->watch(agent->client_, kWakeup, agent->event_.get(), EPOLLIN);
  for (std::uint32_t i = 0; i < agent->links_.size() && status.ok(); ++i)
    // Edge-triggered in both directions: hear() reads all there is, and room to write wakes flush().
    status = agent->reactor_->watch(agent->client_, i, agent->links_[i]->peer.fd.get(),
                                    EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
  if (!status.ok()) return status;
  return agent;
}

Agent::~Agent() {
  if (!reactor_) return;
  ForkGuard::forget(this);
  if (::getpid() != owner_) {
    // A child made by fork(): the thread never existed here, and the parent has not left.
    (void)new std::shared_ptr<Reactor>(std::move(reactor_));
    return;
  }
  reactor_->remove(client_);
  for (auto& link : links_)
    if (link->open) reactor_->unwatch(link->peer.fd.get());
  reactor_->unwatch(event_.get());
  try {
    say_goodbye();
  } catch (const std::bad_alloc&) {  // as if this process had died
  }
}

void Agent::close_all_after_fork() {
  // Only closes: after fork() in a program with threads nothing that takes a lock or memory may be called.
  for (auto& link : links_) link->peer.fd.reset();
  reactor_->close_after_fork();
  event_.reset();
}

void Agent::react(std::uint32_t number, std::uint32_t events) {
  try {
    if (number == kWakeup) {
      std::uint64_t count = 0;
      (void)!::read(event_.get(), &count, sizeof count);
    } else {
      Link& link = *links_[number];
      if (events & EPOLLOUT) flush(link);
      if (events & ~std::uint32_t(EPOLLOUT)) hear(link);
    }
    call_back();
  } catch (const std::bad_alloc&) {
    run_out_of_memory();
  }
}

void Agent::run_out_of_memory() {
  {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = Status(Code::out_of_memory, "no host memory");
    if (other_failure_.ok()) other_failure_ = failure_;
    failed_.store(true, std::memory_order_release);
    changed_.notify_all();
  }
  for (auto& link : links_) close(*link);
  wake();
}

void Agent::hear(Link& link) {
  while (link.open) {  // only this thread ever closes, so it may look without the lock
    Result<std::optional<Frame>> frame = link.reader.next(link.peer.fd.get());
    if (!frame) return lost(link);
    if (!frame->has_value()) return;
    handle(link, std::move(**frame));
  }
}

void Agent::handle(Link& link, Frame frame) {
  switch (frame.kind) {
    case Kind::goodbye: return part(link.peer.rank);
    case Kind::fetch: return answer(link, frame);
    case Kind::file: {
      UniqueFd file = std::move(frame.file);
      return deliver(frame, std::move(file));
    }
    case Kind::failure: {
      Reader reader(frame.body);
      const Status why = reader.status();
      const auto dead = static_cast<int>(reader.number());
      if (!why.ok() && reader.finish().ok()) fail(why, &link, dead);
      return;
    }
    case Kind::word: return hear_word(std::move(frame));
    case Kind::nudge: {
      const std::lock_guard lock(messages_mutex_);
      if (on_nudge_) on_nudge_();
      return;
    }
    default: return lost(link);  // speaks another language: as good as gone
  }
}

Agent::Link* Agent::link_towards(int peer) {
  if (Link* const straight = link_to(peer)) return straight;
  const auto leader_of = [this](int rank) { return leaders_[std::size_t(rank)]; };
  if (leader_of(rank_) != rank_) return link_to(leader_of(rank_));
  return link_to(rank_ != 0 ? 0 : leader_of(peer));  // other nodes' leaders are connected with rank 0 alone
}

void Agent::tell(int peer, Bytes what) {
  if (what.size() > kLargestWord)
    return fail(Status(Code::invalid_argument, fmt::format("a word of {} bytes for rank {}, more than the {} allowed",
                                                           what.size(), peer, kLargestWord)));
  pass_on(peer,
          {Kind::word, Writer().number(std::uint64_t(peer)).number(std::uint64_t(rank_)).data(what).take(), {}});
}

void Agent::pass_on(int to, Frame word) {
  if (to == rank_) return hear_word(std::move(word));
  if (Link* const link = link_towards(to)) send(*link, std::move(word));
}

void Agent::hear_word(Frame word) {
  Reader reader(word.body);
  const auto to = reader.number(), from = reader.number();
  const auto what = reader.data();
  if (!reader.finish().ok() || to >= members_.size() || from >= members_.size()) return;
  if (int(to) != rank_) return pass_on(int(to), std::move(word));
  const std::lock_guard lock(messages_mutex_);
  if (on_message_) on_message_(int(from), Bytes(what.begin(), what.end()));
}

void Agent::on_message(std::function<void(int, const Bytes&)> call) {
  const std::lock_guard lock(messages_mutex_);
  on_message_ = std::move(call);
}

void Agent::nudge(int peer) {
  if (Link* const link = link_to(peer)) send(*link, {Kind::nudge, {}, {}});
}

void Agent::on_nudge(std::function<void()> call) {
  const std::lock_guard lock(messages_mutex_);
  on_nudge_ = std::move(call);
}

void Agent::lost(Link& link) {
  close(link);
  const int peer = link.peer.rank;
  if (has_left(peer)) return;
  std::function<bool(int)> has_ended;
  {
    const std::lock_guard lock(mutex_);
    has_ended = has_ended_;
  }
  if (has_ended && has_ended(peer)) return part(peer);
  fail(died(members_[std::size_t(peer)]), &link, peer);
}

void Agent::part(int peer) {
  const std::lock_guard lock(mutex_);
  left_.insert(peer);
  changed_.notify_all();
}

void Agent::excuse(std::function<bool(int)> has_ended) {
  const std::lock_guard lock(mutex_);
  has_ended_ = std::move(has_ended);
}

void Agent::close(Link& link) {
  const std::lock_guard lock(link.mutex);
  link.open = false;
  link.outbox.clear();
  link.peer.fd.reset();
}

void Agent::fail(const Status& why, const Link* from, int dead) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    Status& same = dead == kNobody ? other_failure_ : deaths_[dead];
    if (!same.ok()) return;
    same = why;
    first = failure_.ok();
    if (first) failure_ = why;
    failed_.store(true, std::memory_order_release);
    changed_.notify_all();
  }
  // The node's ranks hear of a further death by their own links, or from the leader where it is of another node.
  const bool node_knows = !first && dead != kNobody && (from != nullptr ? from->peer.same_node : same_node(dead));
  for (auto& link : links_)
    if (link.get() != from && !(node_knows && link->peer.same_node))
      send(*link, {Kind::failure, Writer().status(why).number(static_cast<std::uint64_t>(dead)).take(), {}});
  wake();
}

bool Agent::send(Link& link, Frame frame) {
  const std::lock_guard lock(link.mutex);
  if (!link.open) return false;
  link.outbox.emplace_back(std::move(frame));
  while (!link.outbox.empty()) {
    const Result<bool> done = link.outbox.front().advance(link.peer.fd.get());
    if (!done) return false;  // the agent's thread hears of the end, with whatever came before it
    if (!*done) return true;  // the rest follows when there is room
    link.outbox.pop_front();
  }
  return true;
}

void Agent::flush(Link& link) {
  const std::lock_guard lock(link.mutex);
  while (link.open && !link.outbox.empty()) {
    const Result<bool> done = link.outbox.front().advance(link.peer.fd.get());
    if (!done || !*done) return;
    link.outbox.pop_front();
  }
}

Status Agent::failure() const {
  if (!failed()) return {};
  const std::lock_guard lock(mutex_);
  return failure_;
}

Status Agent::failure(std::span<const int> peers) const {
  if (!failed()) return {};
  const std::lock_guard lock(mutex_);
  if (!other_failure_.ok()) return other_failure_;
  const auto leader_of = [this](int rank) { return leaders_[std::size_t(rank)]; };
  for (const int peer : peers) {
    if (peer < 0) continue;
    const int way[] = {peer, leader_of(peer), leader_of(rank_), 0};
    for (const int rank : std::span(way).first(same_node(peer) ? 1 : 4))
      if (const auto death = deaths_.find(rank); death != deaths_.end()) return death->second;
  }
  return {};
}

bool Agent::has_left(int peer) const {
  const std::lock_guard lock(mutex_);
  return left_.contains(peer);
}

void Agent::on_failure(std::function<void(const Status&)> call) {
  {
    const std::lock_guard lock(mutex_);
    callbacks_.push_back(std::move(call));
  }
  wake();
}

void Agent::call_back() {
  if (!failed()) return;
  std::vector<std::function<void(const Status&)>> calls;
  Status why;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(callbacks_);
    why = failure_;
  }
  for (const auto& call : calls) call(why);
}

void Agent::say_goodbye() {
  call_back();
  const Deadline deadline = Deadline::after(kFarewell);
  for (auto& link : links_) {
    if (!send(*link, {Kind::goodbye, {}, {}})) continue;
    while (!link->outbox.empty() && wait_for(link->peer.fd.get(), POLLOUT, deadline)) {
      const std::size_t before = link->outbox.size();
      flush(*link);
      if (link->outbox.size() == before && deadline.passed()) break;
    }
    ::shutdown(link->peer.fd.get(), SHUT_WR);
  }
  // TCP throws away what was sent when a socket is closed with something unread: read until the peer, having
  // heard the goodbye, closes too.
  std::array<std::byte, 4096> unread;
  for (auto& link : links_) {
    if (link->peer.same_node || !link->open) continue;
    for (;;) {
      const ssize_t got = ::recv(link->peer.fd.get(), unread.data(), unread.size(), 0);
      if (got > 0) continue;
      if (got == 0 || (errno != EAGAIN && errno != EINTR) || !wait_for(link->peer.fd.get(), POLLIN, deadline)) break;
    }
  }
}

void Agent::wake() {
  const std::uint64_t one = 1;
  (void)!::write(event_.get(), &one, sizeof one);
}

}  // namespace sennit::comm
