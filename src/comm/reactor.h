// Runs the thread that all agents of a process share: it waits for what happens on their connections.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "base/status.h"
#include "base/unique_fd.h"

namespace sennit::comm {

class Reactor {
 public:
  /// A client's answer to events of one of its descriptors, by the number that watch() was given. The reactor's
  /// thread calls it with no lock held, and never twice at once. It must not wait for anything, since all clients
  /// wait meanwhile, nor throw.
  using React = std::function<void(std::uint32_t number, std::uint32_t events)>;

  /// Returns the process's reactor, which is made with its first client; its thread ends with the last owner. Errors:
  /// out_of_memory, system_error.
  static Result<std::shared_ptr<Reactor>> of_this_process();
  ~Reactor();

  /// Adds a client. Returns its number, for the calls below.
  std::uint64_t add(React react);
  /// Has the client called when `events` (epoll's) come, edge-triggered or not as they say. Errors: system_error.
  Status watch(std::uint64_t client, std::uint32_t number, int fd, std::uint32_t events);
  void unwatch(int fd);
  /// Returns once the client is not being called, and never will be again. Not from within its own call.
  void remove(std::uint64_t client);

  /// Closes what a child made by fork() has of it, which has no such thread. It takes neither locks nor memory.
  void close_after_fork();
  /// Returns the mutex that is held around fork(), so that a child can make a reactor of its own.
  static std::mutex& making();

 private:
  Reactor() = default;
  void run();
  void call(std::uint64_t client, std::uint32_t number, std::uint32_t events);

  UniqueFd epoll_, stop_;
  std::mutex mutex_;  // guards what follows; not held while a client is called
  std::condition_variable called_;
  std::map<std::uint64_t, React> clients_;
  std::uint64_t next_ = 1, calling_ = 0;  // 0: no client's number
  std::thread thread_;
};

}  // namespace sennit::comm
