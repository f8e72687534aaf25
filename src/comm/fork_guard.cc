#include "comm/fork_guard.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace sennit::comm {

namespace {

// Never destroyed: a group may be a global of the program, and end after this file's own globals would.
std::mutex& guard() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

std::vector<Agent*>& agents() {
  static auto* all = new std::vector<Agent*>;
  return *all;
}

}  // namespace

void ForkGuard::before() {
  guard().lock();
  Reactor::making().lock();
}
void ForkGuard::in_parent() {
  Reactor::making().unlock();
  guard().unlock();
}
void ForkGuard::in_child() {
  for (Agent* agent : agents()) agent->close_all_after_fork();
  Reactor::making().unlock();
  guard().unlock();
}

void ForkGuard::watch(Agent* agent) {
  static const bool registered = ::pthread_atfork(before, in_parent, in_child) == 0;
  const std::lock_guard lock(guard());
  if (registered) agents().push_back(agent);
}

void ForkGuard::forget(Agent* agent) {
  const std::lock_guard lock(guard());
  std::erase(agents(), agent);
}

}  // namespace sennit::comm
