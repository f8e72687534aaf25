#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "comm/bootstrap.h"
#include "comm/wait.h"
#include "rank_program.h"

namespace sennit::comm {

namespace {

using Arguments = std::vector<std::string>;
using namespace std::chrono_literals;

std::size_t open_files() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

/// The fewest of some looks: a thread that was joined is listed for a moment longer.
std::size_t threads() {
  std::size_t fewest = ~std::size_t{0};
  for (int look = 0; look < 20; ++look) {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/task")) ++count;
    fewest = std::min(fewest, count);
    std::this_thread::sleep_for(5ms);
  }
  return fewest;
}

std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("sennit-control") != std::string::npos;
  return count;
}

int64_t ms_since(Clock::time_point start) {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - start).count();
}

// Who is where, as every rank sees it.
int nodes(const Arguments&) {
  auto group = form();
  std::string text;
  for (const int rank : group->node_ranks()) text += fmt::format(" {}", rank);
  say("rank {} node{} leader {} nodes {}", group->rank(), text, group->leader(), group->leaders().size());
  return group->exchange().barrier().ok() ? 0 : 1;
}

int create_time(const Arguments&) {
  auto exchange = meet();
  if (!exchange->barrier().ok()) return 1;
  const auto start = Clock::now();
  auto group = Group::create(std::move(exchange));
  if (!group) give_up(group.status());
  say("created in {} ms", ms_since(start));
  return 0;
}

// A counter in every rank's slot, added to by every rank of the node: the segment is one and the same memory.
int control(const Arguments&) {
  auto group = form();
  const int ranks = int(group->node_ranks().size());
  for (int member = 0; member < ranks; ++member)
    group->control().slots(member).rtr.back().words[7].fetch_add(1u + unsigned(group->rank()));
  const std::uint64_t all = std::uint64_t(ranks) * (std::uint64_t(ranks) + 1) / 2;
  for (int member = 0; member < ranks; ++member) {
    const auto& word = group->control().slots(member).rtr.back().words[7];
    const Status status =
        wait_until([&] { return word.load() == all; }, group.get(), {"count", 1, group->rank(), -1, 0});
    if (!status.ok()) give_up(status);
  }
  say("counted {}", all);
  return group->exchange().barrier().ok() ? 0 : 1;
}

// Every rank tells every rank, itself too, a few words; they come in order, whatever nodes they cross.
int words(const Arguments&) {
  auto group = form();
  const auto ranks = std::size_t(group->size());
  constexpr std::uint64_t kWords = 50;
  std::vector<std::atomic<std::uint64_t>> heard(ranks);
  std::atomic<bool> in_order{true};
  group->on_message([&](int from, const Bytes& what) {
    Reader reader(what);
    const auto number = reader.number(), to = reader.number();
    if (!reader.finish().ok() || number != heard[std::size_t(from)] || to != std::uint64_t(group->rank()))
      in_order = false;
    ++heard[std::size_t(from)];
  });
  if (!group->exchange().barrier().ok()) return 1;
  for (std::uint64_t number = 0; number < kWords; ++number)
    for (std::size_t to = 0; to < ranks; ++to) group->tell(int(to), Writer().number(number).number(to).take());
  const Status status =
      wait_until([&] { return std::ranges::all_of(heard, [](const auto& count) { return count == kWords; }); },
                 group.get(), {"words", 1, group->rank(), -1, 0});
  if (!status.ok()) give_up(status);
  group->on_message(nullptr);
  say("{}", in_order ? "heard all in order" : "heard something else");
  return group->exchange().barrier().ok() ? 0 : 1;
}

// Every rank offers a memfd, and fetches, reads and writes everybody's.
int files(const Arguments&) {
  auto group = form();
  constexpr std::size_t kBytes = 65536;
  UniqueFd file(::memfd_create("test", MFD_CLOEXEC));
  if (::ftruncate(file.get(), kBytes) != 0) return 1;
  auto* own =
      static_cast<std::atomic<int>*>(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0));
  own[100].store(1000 + group->rank());
  const Result<std::uint64_t> id = group->offer(std::move(file));
  const auto ids = group->exchange().all_gather(Writer().number(*id).take());
  if (!ids) give_up(ids.status());
  for (int peer = 0; peer < group->size(); ++peer) {
    Result<UniqueFd> theirs = group->fetch(peer, Reader((*ids)[std::size_t(peer)]).number());
    if (!theirs) give_up(theirs.status());
    auto* data =
        static_cast<std::atomic<int>*>(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, theirs->get(), 0));
    if (data[100].load() != 1000 + peer) give_up(Status(Code::corrupt, "wrong file"));
    data[200 + group->rank()].store(peer);
    ::munmap(data, kBytes);
  }
  if (!group->exchange().barrier().ok()) return 1;
  for (int peer = 0; peer < group->size(); ++peer)
    if (own[200 + peer].load() != group->rank()) give_up(Status(Code::corrupt, "a peer's write did not arrive"));
  const int next = (group->rank() + 1) % group->size();
  const Status unknown = group->fetch(next, 12345).status();
  group->withdraw(*id);
  if (!group->exchange().barrier().ok()) return 1;
  const Status withdrawn = group->fetch(next, Reader((*ids)[std::size_t(next)]).number()).status();
  say("passed; unknown: {}; withdrawn: {}", name(unknown.code()), name(withdrawn.code()));
  return group->exchange().barrier().ok() ? 0 : 1;
}

// The exchange outlives no group, so each cycle meets anew; files, threads and mappings must come back to where
// they were after the first.
int cycles(const Arguments& arguments) {
  std::size_t before[3] = {};
  for (int i = 0; i < std::stoi(arguments.at(0)); ++i) {
    form();
    if (i == 0) before[0] = open_files(), before[1] = threads(), before[2] = mappings();
  }
  say("files {} threads {} mappings {}", int(open_files()) - int(before[0]), int(threads()) - int(before[1]),
      mappings());
  return 0;
}

// Rank VICTIM ends by METHOD while the others wait for it.
int death(const Arguments& arguments) {
  auto group = form();
  const int victim = std::stoi(arguments.at(0));
  const std::string method = arguments.at(1);
  std::atomic<int> calls{0};
  group->on_abort([&](const Status&) { ++calls; });
  if (!group->exchange().barrier().ok()) return 1;
  const auto start = Clock::now();
  if (group->rank() == victim) {
    std::this_thread::sleep_for(200ms);
    if (method == "kill") ::raise(SIGKILL);
    if (method == "exit") std::_Exit(0);
    if (method == "abort") group->abort(Status(Code::corrupt, "the answer is not 42"));
    if (method == "leave") return 0;
    if (method == "fork") {
      // A child that lives on must not keep the parent's connections alive.
      const pid_t child = ::fork();
      if (child == 0) {
        ::alarm(20);
        for (;;) ::pause();
      }
      say("child {}", child);
      ::raise(SIGKILL);
    }
  }
  const Waiting what{"put", 7, group->rank(), victim, 1ull << 30};
  const Status status = wait_until([] { return false; }, group.get(), what);
  for (int i = 0; i < 2000 && calls == 0 && group->failed(); ++i) std::this_thread::sleep_for(1ms);
  std::string lost;
  for (int rank = 0; rank < group->size(); ++rank)
    if (!group->check({&rank, 1}).ok()) lost += fmt::format(" {}", rank);
  say("after {} ms calls {}: {}; lost:{}", ms_since(start), calls.load(), status.text(), lost);
  // Stays until the others are through: its leaving must not be taken for the cause.
  std::this_thread::sleep_for(300ms);
  return 0;
}

// Everyone but rank 0 goes on; rank 0's wait must say what its peer did last.
int timeout(const Arguments&) {
  auto group = form();
  if (group->rank() != 0) group->note("allgather ring", 41, 0, 4096);
  if (!group->exchange().barrier().ok()) return 1;
  if (group->rank() == 0) {
    const Status status = wait_until([] { return false; }, group.get(), {"put", 42, 0, 1, 1ull << 20}, 300ms);
    say("{}", status.text());
  }
  return group->exchange().barrier().ok() ? 0 : 1;
}

// Leaves in order, one after the other, while the others stay: nobody takes it for a death.
int leave_in_order(const Arguments&) {
  auto group = form();
  std::this_thread::sleep_for(group->rank() * 100ms);
  const Status status = group->check();
  say("check {}", status.text());
  return 0;
}

int idle(const Arguments&) {
  auto group = form();
  say("ready {} @{}", ::getpid(), group->member(group->rank()).socket);
  std::this_thread::sleep_for(60s);
  return 0;
}

}  // namespace

std::vector<Scenario> group_scenarios() {
  return {{"nodes", nodes},
          {"create_time", create_time},
          {"control", control},
          {"files", files},
          {"words", words},
          {"cycles", cycles},
          {"death", death},
          {"timeout", timeout},
          {"leave_in_order", leave_in_order},
          {"idle", idle}};
}

}  // namespace sennit::comm
