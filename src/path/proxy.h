// The proxy thread of a process runs the ends that peers ask for (proxy_channel.h), for all communicators that have
// put or got. It sleeps while there is nothing to do.
//
// 1. It looks at every client's doorbell, then lets each client do what it finds.
// 2. While a client works, and for a moment after, it goes on at once: the next message is often near.
// 3. While messages are under way, or their lane has not come to them, it looks every now and then.
// 4. Else it says at every doorbell that it sleeps, and does, unless one of them was rung meanwhile.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "base/status.h"
#include "base/unique_fd.h"
#include "path/doorbell.h"

namespace sennit::path {

class Proxy {
 public:
  class Client {
   public:
    virtual ~Client() = default;
    enum class Found : std::uint8_t {
      nothing,
      pending,  ///< something is under way, and has to be looked at again
      work      ///< something was done
    };
    /// Does what there is to do, and waits for nothing: other clients wait meanwhile. Called from the proxy thread.
    virtual Found serve() = 0;
    /// Prepares the thread before serve(), where the thread has served another client since: that had a device of its
    /// own.
    virtual void prepare_thread() = 0;
  };

  /// Returns the process's proxy, which is made with its first client; its thread ends with the last owner. Errors:
  /// system_error, out_of_memory.
  static Result<std::shared_ptr<Proxy>> of_this_process();
  ~Proxy();

  /// Serves `client` from now on, which outlives remove(). Returns its number.
  std::uint64_t add(Client& client, Doorbell doorbell);
  /// Returns once the client is not being served, and never will be again.
  void remove(std::uint64_t client);
  /// Wakes the thread, from any other one and without waiting.
  void wake();

 private:
  struct Entry {
    Client* client;
    Doorbell doorbell;
    std::uint64_t heard = 0;
  };

  Proxy() = default;
  void run();
  Client::Found serve(std::uint64_t number);
  /// Returns the number of the first client behind `number`, which is being served from now on; 0 where there is no
  /// other.
  std::uint64_t after(std::uint64_t number);
  void sleep();

  UniqueFd woken_;
  std::mutex mutex_;  // guards what follows; not held while a client is served
  std::condition_variable served_;
  std::map<std::uint64_t, Entry> clients_;
  std::uint64_t next_ = 1, serving_ = 0;  // 0: no client's number
  bool stopping_ = false;
  std::uint64_t prepared_ = 0;  // the thread's own: for which client
  std::thread thread_;
};

}  // namespace sennit::path
