#include "comm/launch_child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "comm/socket.h"

namespace sennit::comm {

namespace {

// argv or envp: pointers into strings that stay put, ready before fork(), after which nothing may be allocated.
class PointerList {
 public:
  explicit PointerList(std::vector<std::string> texts) : texts_(std::move(texts)) {
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  PointerList(const PointerList&) = delete;
  PointerList& operator=(const PointerList&) = delete;
  char** get() { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

// Runs in the child, between fork() and exec(), so it makes only calls that are safe there.
[[noreturn]] void become(char** argv, char** envp, int out, int err, int report, pid_t parent, const sigset_t& mask) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before the line above
  for (const int number : kJobSignals) ::signal(number, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  ::execvpe(argv[0], argv, envp);
  const int error = errno;
  (void)!::write(report, &error, sizeof error);
  ::_exit(127);
}

struct Pipe {
  UniqueFd read, write;
};

Result<Pipe> make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_status("make a pipe", errno, {});
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace

Result<Child> start_child(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  PointerList argv(command), envp(environment);
  Result<Pipe> out = make_pipe(), err = make_pipe(), report = make_pipe();
  for (const Result<Pipe>* pipe : {&out, &err, &report})
    if (!*pipe) return pipe->status();
  // Signals wait until the child has its own dispositions: the parent's handlers must not run in it.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid == 0)
    become(argv.get(), envp.get(), out->write.get(), err->write.get(), report->write.get(), parent, before);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return system_status("start a process", error, "Raise the limit of processes (ulimit -u)");
  ::setpgid(pid, pid);  // whichever of the two does it first
  report->write.reset();
  int reason = 0;
  ssize_t got = 0;
  do got = ::read(report->read.get(), &reason, sizeof reason);
  while (got < 0 && errno == EINTR);
  if (got == ssize_t(sizeof reason)) {
    ::waitpid(pid, nullptr, 0);
    return Status(reason == ENOENT ? Code::not_found : Code::system_error,
                  fmt::format("cannot run '{}': {}", command[0], std::strerror(reason)), {},
                  "Check the program's name, its path and that it is executable");
  }
  for (const Result<Pipe>* pipe : {&out, &err}) ::fcntl((*pipe)->read.get(), F_SETFL, O_NONBLOCK);
  Child child;
  child.pid = pid;
  child.running = true;
  child.streams[0] = {std::move(out->read), {}, false};
  child.streams[1] = {std::move(err->read), {}, true};
  return child;
}

}  // namespace sennit::comm
