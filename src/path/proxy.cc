#include "path/proxy.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/thread.h"

namespace sennit::path {

namespace {

/// The thread looks so long for more after a message before it sleeps. A default: waking up costs 50 µs and more,
/// which a message of 32 MiB (90 µs) cannot make good; programs that exchange gradients come back within it.
constexpr auto kAwake = std::chrono::milliseconds(1);
constexpr auto kBetweenLooks = std::chrono::microseconds(20);
/// A sleeper looks by itself so often, in ms.
constexpr int kLongestSleep = 1000;

/// The proxy that the process has now. Never destroyed: a communicator may be a global of the program, and end after
/// this file's own globals would.
struct CurrentProxy {
  std::mutex making;
  std::weak_ptr<Proxy> proxy;
  pid_t owner = 0;  // a child made by fork() has no such thread
};
CurrentProxy& current_proxy() {
  static auto* const one = new CurrentProxy;
  return *one;
}

}  // namespace

Result<std::shared_ptr<Proxy>> Proxy::of_this_process() {
  CurrentProxy& now = current_proxy();
  const std::lock_guard lock(now.making);
  if (now.owner == ::getpid())
    if (auto made = now.proxy.lock()) return made;
  std::shared_ptr<Proxy> made(new Proxy());
  made->woken_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!made->woken_)
    return Status(Code::system_error, std::string("no descriptor for the proxy thread: ") + strerror(errno), {},
                  "Raise the limit of open files (ulimit -n)");
  auto started = start_thread([self = made.get()] { self->run(); });
  if (!started) return started.status();
  made->thread_ = std::move(*started);
  now.proxy = made;
  now.owner = ::getpid();
  return made;
}

Proxy::~Proxy() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  thread_.join();
}

std::uint64_t Proxy::add(Client& client, Doorbell doorbell) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = next_++;
    clients_.emplace(number, Entry{&client, doorbell});
  }
  wake();
  return number;
}

void Proxy::remove(std::uint64_t client) {
  std::unique_lock lock(mutex_);
  clients_.erase(client);
  served_.wait(lock, [&] { return serving_ != client; });
}

void Proxy::wake() {
  const std::uint64_t one = 1;
  (void)!::write(woken_.get(), &one, sizeof one);
}

std::uint64_t Proxy::after(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto next = clients_.upper_bound(number);
  if (next == clients_.end()) return 0;
  next->second.heard = next->second.doorbell.heard();
  serving_ = next->first;
  return next->first;
}

Proxy::Client::Found Proxy::serve(std::uint64_t number) {
  Client* client = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = clients_.find(number);
    if (found != clients_.end()) client = found->second.client;
  }
  auto found = Client::Found::nothing;
  if (client != nullptr) {
    if (prepared_ != number) client->prepare_thread();
    prepared_ = number;
    found = client->serve();
  }
  const std::lock_guard lock(mutex_);
  serving_ = 0;
  served_.notify_all();
  return found;
}

void Proxy::run() {
  ::pthread_setname_np(::pthread_self(), "sennit-proxy");
  auto last_work = std::chrono::steady_clock::now();
  for (;;) {
    auto found = Client::Found::nothing;
    for (std::uint64_t client = after(0); client != 0; client = after(client)) found = std::max(found, serve(client));
    const auto now = std::chrono::steady_clock::now();
    if (found == Client::Found::work) last_work = now;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    if (now - last_work < kAwake)
      std::this_thread::yield();
    else if (found == Client::Found::pending)
      std::this_thread::sleep_for(kBetweenLooks);
    else
      sleep();
  }
}

void Proxy::sleep() {
  bool may = true;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [number, entry] : clients_) may = entry.doorbell.may_sleep(entry.heard) && may;
  }
  pollfd woken{woken_.get(), POLLIN, 0};
  if (may) (void)::poll(&woken, 1, kLongestSleep);
  std::uint64_t count = 0;
  (void)!::read(woken_.get(), &count, sizeof count);
  const std::lock_guard lock(mutex_);
  for (auto& [number, entry] : clients_) entry.doorbell.wake();
}

}  // namespace sennit::path
