#include "doctor/ask.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include <fmt/format.h>

namespace sennit::doctor {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostText = 64 << 10;

/// One question under way.
struct Asked {
  pid_t process = -1;
  UniqueFd answers;
  std::string pending;
  Clock::time_point deadline;
};

/// Above the descriptors that the child gives a meaning to, so that arranging one cannot close another.
UniqueFd moved_up(int fd) {
  return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 16));
}

int spawn(const Question& question, int answers, pid_t& process) {
  std::vector<char*> arguments{const_cast<char*>(question.program.c_str())};
  for (const std::string& argument : question.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const UniqueFd passed = question.file.valid() ? moved_up(question.file.get()) : UniqueFd();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, answers, question.plain ? STDOUT_FILENO : kAnswerFile);
  if (passed.valid()) posix_spawn_file_actions_adddup2(&actions, passed.get(), kPassedFile);
  const int error = posix_spawn(&process, question.program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

void start(const Question& question, Asked& asked, Answer& answer) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    answer.status = errno;
    return;
  }
  asked.answers = UniqueFd(ends[0]);
  const UniqueFd low(ends[1]);
  const UniqueFd write_end = moved_up(low.get());
  answer.status = spawn(question, write_end.get(), asked.process);
  if (answer.status != 0) {
    asked.answers.reset();
    asked.process = -1;
    return;
  }
  asked.deadline = Clock::now() + question.opening;
}

/// Turns whole lines into values. What is not JSON was not said by tell() and is left out.
void take_lines(Asked& asked, Answer& answer) {
  for (std::size_t end; (end = asked.pending.find('\n')) != std::string::npos;) {
    Json line = Json::parse(asked.pending.substr(0, end), nullptr, false);
    if (line.is_object()) answer.lines.push_back(std::move(line));
    asked.pending.erase(0, end + 1);
  }
}

/// Returns false once the other end closed.
bool take(const Question& question, Asked& asked, Answer& answer) {
  char bytes[4096];
  const ssize_t count = read(asked.answers.get(), bytes, sizeof bytes);
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  if (count == 0) return false;
  asked.deadline = Clock::now() + question.silence;
  if (question.plain) {
    const std::size_t room = kMostText - std::min(kMostText, answer.text.size());
    answer.text.append(bytes, std::min(room, std::size_t(count)));
  } else {
    asked.pending.append(bytes, std::size_t(count));
    take_lines(asked, answer);
  }
  return true;
}

/// Reaps within `limit`; false when the process is still there.
bool reap(pid_t process, int& status, std::chrono::milliseconds limit) {
  const Clock::time_point deadline = Clock::now() + limit;
  for (;;) {
    const pid_t ended = waitpid(process, &status, WNOHANG);
    if (ended == process || (ended < 0 && errno == ECHILD)) return true;
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void end(Asked& asked, Answer& answer, bool silent, std::chrono::milliseconds waited) {
  asked.answers.reset();
  int status = 0;
  // An answer that closed its end and does not exit hangs in a library's clean-up: what it said still counts.
  const bool gone = !silent && reap(asked.process, status, std::chrono::milliseconds(500));
  if (!gone) {
    kill(asked.process, SIGKILL);
    int ignored = 0;
    (void)reap(asked.process, ignored, std::chrono::milliseconds(200));
  }
  asked.process = -1;
  if (silent) {
    answer.end = End::silent;
    answer.status = int(waited.count());
  } else if (gone && WIFSIGNALED(status)) {
    answer.end = End::crashed;
    answer.status = WTERMSIG(status);
  } else {
    answer.end = End::finished;
    answer.status = gone && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  }
}

}  // namespace

std::string Answer::trouble() const {
  switch (end) {
    case End::finished: return {};
    case End::silent: return fmt::format("did not answer within {} s", (status + 999) / 1000);
    case End::crashed: return fmt::format("crashed with signal {} ({})", status, strsignal(status));
    case End::not_started: return fmt::format("could not be started: {}", std::strerror(status));
  }
  return {};
}

const Json* Answer::find(const std::string& key) const {
  for (const Json& line : lines)
    if (const auto found = line.find(key); found != line.end()) return &*found;
  return nullptr;
}

std::vector<Answer> ask(std::vector<Question> questions) {
  std::vector<Answer> answers(questions.size());
  std::vector<Asked> all(questions.size());
  for (std::size_t i = 0; i < questions.size(); ++i) {
    start(questions[i], all[i], answers[i]);
    questions[i].file.reset();  // whoever is at its other end must notice when the process dies
  }
  for (;;) {
    std::vector<pollfd> waiting;
    std::vector<std::size_t> which;
    Clock::time_point next = Clock::time_point::max();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].process < 0) continue;
      waiting.push_back({all[i].answers.get(), POLLIN, 0});
      which.push_back(i);
      next = std::min(next, all[i].deadline);
    }
    if (waiting.empty()) return answers;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    (void)poll(waiting.data(), waiting.size(), int(std::max<long long>(left, 0)));
    for (std::size_t k = 0; k < which.size(); ++k) {
      const std::size_t i = which[k];
      const auto limit = answers[i].lines.empty() ? questions[i].opening : questions[i].silence;
      if (waiting[k].revents != 0) {
        if (!take(questions[i], all[i], answers[i])) end(all[i], answers[i], false, limit);
      } else if (Clock::now() >= all[i].deadline) {
        end(all[i], answers[i], true, limit);
      }
    }
  }
}

void tell(const Json& line) {
  // Somebody called the hidden option by hand where the descriptor is missing: then let them read along.
  const int file = fcntl(kAnswerFile, F_GETFD) >= 0 ? kAnswerFile : STDOUT_FILENO;
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = write(file, text.data() + sent, text.size() - sent);
    if (count < 0 && errno != EINTR) return;  // the asking process listens no more
    if (count > 0) sent += std::size_t(count);
  }
}

}  // namespace sennit::doctor
