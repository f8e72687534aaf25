#include "comm/launch.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "comm/deadline.h"
#include "comm/job_place.h"
#include "comm/launch_child.h"
#include "comm/secret.h"
#include "comm/socket.h"

namespace sennit::comm {

namespace {

constexpr auto kGrace = std::chrono::seconds(2);
// A rank that prints without ever ending its line is forwarded in pieces of this size.
constexpr std::size_t kLongestLine = 1 << 16;

std::atomic<int> g_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);
void remember_signal(int number) {
  g_signal.store(number);
}

// The job's signals go to remember_signal() while this lives.
class SignalScope {
 public:
  SignalScope() {
    g_signal.store(0);
    struct sigaction action {};
    action.sa_handler = remember_signal;
    for (std::size_t i = 0; i < kJobSignals.size(); ++i) ::sigaction(kJobSignals[i], &action, &before_[i]);
  }
  ~SignalScope() {
    for (std::size_t i = 0; i < kJobSignals.size(); ++i) ::sigaction(kJobSignals[i], &before_[i], nullptr);
  }
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

 private:
  std::array<struct sigaction, kJobSignals.size()> before_{};
};

class Job {
 public:
  explicit Job(const Launch& launch) : launch_(launch), children_(std::size_t(launch.ranks)) {
    ended_.statuses.assign(children_.size(), 0);
  }
  ~Job() { kill_all(SIGKILL), reap(true); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  Result<Ended> run() {
    if (Status status = prepare(); !status.ok()) return status;
    for (int rank = 0; rank < launch_.ranks; ++rank)
      if (Status status = start(rank); !status.ok()) return status;
    while (reap(false) || streams_open()) {
      watch_for_stop();
      forward(20);
    }
    if (stopped_by_ != 0) ended_.status = 128 + stopped_by_, ended_.rank = -1;
    return std::move(ended_);
  }

 private:
  // The port stays ours from here to the end of the job: bound, but never listening, which lets rank 0 bind and
  // listen there (both with SO_REUSEADDR) and no other process be given it by chance.
  Status prepare() {
    if (!launch_.announce) return {};
    port_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int yes = 1;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!port_ || ::setsockopt(port_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        ::bind(port_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      return system_status("reserve a port for the job", errno, "Check that the loopback interface is up");
    Result<std::string> secret = random_hex(16);
    if (!secret) return secret.status();
    secret_ = *secret;
    return {};
  }

  std::vector<std::string> environment_of(int rank) const {
    Environment all = own_environment();
    all.erase("sennit.hydra");
    if (launch_.announce) {
      all["SENNIT_RANK"] = std::to_string(rank);
      all["SENNIT_SIZE"] = std::to_string(launch_.ranks);
      all["SENNIT_RENDEZVOUS"] = fmt::format("127.0.0.1:{}", local_port(port_.get()));
      all["SENNIT_SECRET"] = secret_;
    }
    // Given as empty means taken away; what is inherited stays, empty or not (CUDA_VISIBLE_DEVICES= hides all GPUs).
    if (launch_.environment) {
      for (const auto& [name, value] : launch_.environment(rank)) {
        if (value.empty())
          all.erase(name);
        else
          all[name] = value;
      }
    }
    std::vector<std::string> texts;
    for (const auto& [name, value] : all) texts.push_back(name + "=" + value);
    return texts;
  }

  Status start(int rank) {
    Result<Child> started = start_child(launch_.command, environment_of(rank));
    if (!started) return started.status();
    children_[std::size_t(rank)] = std::move(*started);
    return {};
  }

  // Collects ranks that have ended; true while any runs.
  bool reap(bool wait) {
    bool running = false;
    for (std::size_t rank = 0; rank < children_.size(); ++rank) {
      Child& child = children_[rank];
      if (!child.running) continue;
      int status = 0;
      const pid_t got = ::waitpid(child.pid, &status, wait ? 0 : WNOHANG);
      if (got == 0 || (got < 0 && errno == EINTR)) {
        running = true;
        continue;
      }
      child.running = false;
      const int code = got < 0 ? 127 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      ended_.statuses[rank] = code;
      // The processes that the rank itself started end with it, and with them the last holders of its pipes.
      if (stopping_ || code != 0) ::kill(-child.pid, SIGKILL);
      if (code == 0 || ended_.status != 0) continue;
      ended_.status = code;
      ended_.rank = int(rank);
      if (launch_.stop_on_failure) stop();
    }
    return running;
  }

  void watch_for_stop() {
    if (const int number = g_signal.exchange(0); number != 0 && stopped_by_ == 0) {
      stopped_by_ = number;
      stop();
    }
    if (stopping_ && Clock::now() > stop_time_ + kGrace) kill_all(SIGKILL);
  }

  void stop() {
    if (stopping_) return;
    stopping_ = true;
    stop_time_ = Clock::now();
    kill_all(SIGTERM);
  }

  void kill_all(int number) {
    for (const Child& child : children_)
      if (child.running) ::kill(-child.pid, number);
  }

  // A process that a rank left running in the background may hold the pipes open; the job ends all the same.
  bool streams_open() {
    for (const Child& child : children_)
      for (const Stream& stream : child.streams)
        if (stream.fd && (!drained_since_ || Clock::now() < *drained_since_ + milliseconds(200))) {
          if (!drained_since_) drained_since_ = Clock::now();
          return true;
        }
    return false;
  }

  void forward(int patience_ms) {
    std::vector<pollfd> polled;
    std::vector<std::pair<int, Stream*>> sources;
    for (std::size_t rank = 0; rank < children_.size(); ++rank)
      for (Stream& stream : children_[rank].streams)
        if (stream.fd) {
          polled.push_back({stream.fd.get(), POLLIN, 0});
          sources.emplace_back(int(rank), &stream);
        }
    if (::poll(polled.data(), polled.size(), patience_ms) <= 0) return;
    for (std::size_t i = 0; i < polled.size(); ++i)
      if (polled[i].revents != 0) read_stream(sources[i].first, *sources[i].second);
  }

  void read_stream(int rank, Stream& stream) {
    char buffer[4096];
    const ssize_t got = ::read(stream.fd.get(), buffer, sizeof buffer);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got > 0) stream.pending.append(buffer, std::size_t(got));
    std::size_t start = 0;
    for (std::size_t end; (end = stream.pending.find('\n', start)) != std::string::npos; start = end + 1)
      emit(rank, std::string_view(stream.pending).substr(start, end - start), stream.error);
    stream.pending.erase(0, start);
    if (stream.pending.size() > kLongestLine || (got <= 0 && !stream.pending.empty())) {
      emit(rank, stream.pending, stream.error);
      stream.pending.clear();
    }
    if (got <= 0) stream.fd.reset();
  }

  void emit(int rank, std::string_view line, bool error) {
    if (launch_.output) return launch_.output(rank, line, error);
    std::FILE* to = error ? stderr : stdout;
    fmt::print(to, "[{}] {}\n", rank, line);
    std::fflush(to);
  }

  const Launch& launch_;
  std::vector<Child> children_;
  UniqueFd port_;
  std::string secret_;
  Ended ended_;
  bool stopping_ = false;
  int stopped_by_ = 0;
  Clock::time_point stop_time_{};
  std::optional<Clock::time_point> drained_since_;
};

}  // namespace

Result<Ended> launch(const Launch& job) {
  if (job.ranks < 1 || job.command.empty())
    return Status(Code::invalid_argument, "a job needs at least one rank and a command");
  const SignalScope signals;
  return Job(job).run();
}

}  // namespace sennit::comm
