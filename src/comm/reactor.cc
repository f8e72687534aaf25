#include "comm/reactor.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/thread.h"
#include "comm/socket.h"

namespace sennit::comm {

namespace {

// An event carries the client's number above that of its descriptor.
constexpr unsigned kNumberBits = 24;
constexpr std::uint64_t kNumbers = (std::uint64_t{1} << kNumberBits) - 1;

/// The reactor that the process has now. Never destroyed: a group may be a global of the program, and end after this
/// file's own globals would.
struct Current {
  std::mutex making;
  std::weak_ptr<Reactor> reactor;
  pid_t owner = 0;
};
Current& current() {
  static auto* const one = new Current;
  return *one;
}

}  // namespace

std::mutex& Reactor::making() {
  return current().making;
}

Result<std::shared_ptr<Reactor>> Reactor::of_this_process() {
  Current& now = current();
  const std::lock_guard lock(now.making);
  if (now.owner == ::getpid())
    if (auto made = now.reactor.lock()) return made;
  std::shared_ptr<Reactor> made(new Reactor());
  made->epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  made->stop_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!made->epoll_ || !made->stop_) return system_status("watch connections", errno, "Raise fs.epoll limits");
  if (auto status = made->watch(0, 0, made->stop_.get(), EPOLLIN); !status) return status;
  auto started = start_thread([self = made.get()] { self->run(); });
  if (!started) return started.status();
  made->thread_ = std::move(*started);
  now.reactor = made;
  now.owner = ::getpid();
  return made;
}

Reactor::~Reactor() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void Reactor::close_after_fork() {
  epoll_.reset();
  stop_.reset();
}

std::uint64_t Reactor::add(React react) {
  const std::lock_guard lock(mutex_);
  clients_.emplace(next_, std::move(react));
  return next_++;
}

Status Reactor::watch(std::uint64_t client, std::uint32_t number, int fd, std::uint32_t events) {
  epoll_event watched{events, {.u64 = client << kNumberBits | number}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &watched) != 0)
    return system_status("watch connections", errno, "Raise fs.epoll limits");
  return {};
}

void Reactor::unwatch(int fd) {
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Reactor::remove(std::uint64_t client) {
  std::unique_lock lock(mutex_);
  const auto gone = clients_.extract(client);  // what is being called stays until the wait is over
  called_.wait(lock, [&] { return calling_ != client; });
}

void Reactor::call(std::uint64_t client, std::uint32_t number, std::uint32_t events) {
  const React* react = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = clients_.find(client);
    if (found == clients_.end()) return;  // it went after this event had come
    react = &found->second;
    calling_ = client;
  }
  (*react)(number, events);
  const std::lock_guard lock(mutex_);
  calling_ = 0;
  called_.notify_all();
}

void Reactor::run() {
  ::pthread_setname_np(::pthread_self(), "sennit-agent");
  std::array<epoll_event, 16> events;
  for (;;) {
    const int ready = ::epoll_wait(epoll_.get(), events.data(), int(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      const std::uint64_t whose = events[std::size_t(i)].data.u64;
      if (whose == 0) return;  // stop_
      call(whose >> kNumberBits, static_cast<std::uint32_t>(whose & kNumbers), events[std::size_t(i)].events);
    }
  }
}

}  // namespace sennit::comm
