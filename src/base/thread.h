// Threads that may not be had: std::thread throws then, and nothing of sennit's may throw into a program.
#pragma once

#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "base/status.h"

namespace sennit {

/// A thread that runs `run`; to be joined or detached. Errors: system_error where the system has none left,
/// out_of_memory; `run` is as it was then.
template <class Run>
Result<std::thread> start_thread(Run&& run) {
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
