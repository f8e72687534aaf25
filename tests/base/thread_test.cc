#include "base/thread.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <new>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sennit {
namespace {

TEST(Thread, OneThatCanBeHadRuns) {
  std::atomic<int> ran{0};
  auto started = start_thread([&ran] { ran = 7; });
  ASSERT_TRUE(started.ok()) << started.status().text();
  started->join();
  EXPECT_EQ(ran, 7);
}

TEST(Thread, TakesNoSignalsOfThePrograms) {
  const auto takes = [](int signal) {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    return sigismember(&blocked, signal) == 0;
  };
  bool takes_them = true, takes_faults = false;
  auto started = start_thread([&] {
    takes_them = takes(SIGTERM) || takes(SIGINT) || takes(SIGUSR1) || takes(SIGCHLD);
    takes_faults = takes(SIGSEGV) && takes(SIGABRT);
  });
  ASSERT_TRUE(started.ok());
  EXPECT_TRUE(takes(SIGTERM)) << "the caller's signals stay its own";
  started->join();
  EXPECT_FALSE(takes_them);
  EXPECT_TRUE(takes_faults) << "who looks into crashes sees this thread's, too";
}

struct NeedsMemory {
  NeedsMemory() = default;
  NeedsMemory(const NeedsMemory&) { throw std::bad_alloc(); }
  void operator()() const {}
};

TEST(Thread, OneWithoutMemoryIsAnError) {
  const NeedsMemory run;
  EXPECT_EQ(start_thread(run).status().code(), Code::out_of_memory);
}

// Sanitizers have terabytes of address space for themselves.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Thread, OneThatCannotBeHadIsAnError) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t enough = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + (1 << 20);  // less than a stack
    const rlimit limit{enough, enough};
    (void)::setrlimit(RLIMIT_AS, &limit);
    for (int i = 0; i < 8; ++i) {  // the first ones may have stacks of threads that have ended
      auto started = start_thread([] { ::pause(); });
      if (started.ok()) {
        started->detach();
        continue;
      }
      const Status& status = started.status();
      ::_exit(status.code() == Code::system_error && status.remedy().find("ulimit") != std::string::npos ? 0 : 1);
    }
    ::_exit(2);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}
#endif

}  // namespace
}  // namespace sennit
