// Starts sennit's own threads in a program. A thread may fail to start, and takes none of the program's signals.
#pragma once

#include <csignal>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "base/status.h"

namespace sennit {

/// While it lives, the calling thread takes no signals but for its own mistakes; nor do threads that it starts, ever.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    ::sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) ::sigdelset(&all, fault);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;
  ~WithoutSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

/// Starts a thread that runs `run`; to be joined or detached. A program's handlers expect to run on the program's own
/// threads, so it takes no signals. Errors: system_error where the system has none left, out_of_memory; `run` is as
/// it was then.
template <class Run>
Result<std::thread> start_thread(Run&& run) {
  const WithoutSignals mask;
  // std::thread throws, and nothing of sennit's may throw into a program.
  try {
    return std::thread(std::forward<Run>(run));
  } catch (const std::system_error& error) {
    return Status(Code::system_error, std::string("no thread can be started: ") + error.what(), {},
                  "Raise the limits of processes and memory (ulimit -u, ulimit -v), or of the job's control group");
  } catch (const std::bad_alloc&) {
    return Status(Code::out_of_memory, "no memory");
  }
}

}  // namespace sennit
