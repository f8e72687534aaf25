#include <csignal>
#include <thread>

#include "comm/bootstrap.h"
#include "comm/frame.h"
#include "comm/launch.h"
#include "rank_program.h"

namespace sennit::comm {

namespace {

using Arguments = std::vector<std::string>;

Bytes pattern(int rank, std::size_t length) {
  Bytes bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = std::byte(i * 7 + std::size_t(rank) * 31);
  return bytes;
}

// Lengths that differ by rank and round, none and several MiB among them.
int all_gather(const Arguments&) {
  auto exchange = meet();
  for (int round = 0; round < 5; ++round) {
    const auto length = [&](int rank) {
      return std::size_t((rank + round) % 4) * std::size_t(round == 3 ? 3'000'001 : 777);
    };
    const auto items = exchange->all_gather(pattern(exchange->rank(), length(exchange->rank())));
    if (!items) give_up(items.status());
    for (int rank = 0; rank < exchange->size(); ++rank)
      if ((*items)[std::size_t(rank)] != pattern(rank, length(rank)))
        give_up(Status(Code::corrupt, fmt::format("item {} of round {} is wrong", rank, round)));
  }
  if (const Status status = exchange->barrier(); !status.ok()) give_up(status);
  say("rank {} of {}", exchange->rank(), exchange->size());
  return 0;
}

int place(const Arguments&) {
  const Result<JobPlace> found = place_from_environment();
  if (!found) give_up(found.status());
  say("{} rank {}/{} local {}/{}", found->launcher, found->rank, found->size, found->local_rank, found->local_size);
  return 0;
}

// Meets again and again: traces of one meeting must not confuse the next.
int meet_often(const Arguments& arguments) {
  for (int i = 0; i < std::stoi(arguments.at(0)); ++i) meet();
  say("met");
  return 0;
}

int absent(const Arguments& arguments) {
  const Result<JobPlace> found = place_from_environment();
  if (found.ok() && found->rank == std::stoi(arguments.at(0))) {
    std::this_thread::sleep_for(std::chrono::seconds(3));
    return 0;
  }
  meet();
  say("met");
  return 0;
}

// One rank gives up while the others are in the middle of an exchange.
int leave_exchange(const Arguments& arguments) {
  auto exchange = meet();
  if (exchange->rank() == std::stoi(arguments.at(0))) return 0;
  const auto items = exchange->all_gather({});
  if (!items) give_up(items.status());
  say("gathered");
  return 0;
}

// One rank offers more than is allowed: refused there, and all hear of it.
int too_large(const Arguments& arguments) {
  auto exchange = meet();
  const bool greedy = exchange->rank() == std::stoi(arguments.at(0));
  const auto items = exchange->all_gather(Bytes(greedy ? kLargestItem + 1 : 8));
  if (!items) give_up(items.status());
  return 0;
}

// One rank is killed while not all have met (the job is one rank short).
int killed_while_meeting(const Arguments& arguments) {
  const Result<JobPlace> found = place_from_environment();
  std::thread death;
  if (found.ok() && found->rank == std::stoi(arguments.at(0)))
    death = std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      ::raise(SIGKILL);
    });
  meet();
  return 0;
}

// A launcher whose ranks print their process ids, and which is killed thereupon.
int launch_and_die(const Arguments&) {
  int lines = 0;
  Launch job;
  job.ranks = 2;
  job.command = {"sh", "-c", "echo $$; exec sleep 60"};
  job.output = [&](int, std::string_view line, bool) {
    say("{}", line);
    if (++lines == 2) ::raise(SIGKILL);
  };
  return launch(job).ok() ? 0 : 1;
}

}  // namespace

std::vector<Scenario> meet_scenarios() {
  return {{"all_gather", all_gather},
          {"place", place},
          {"meet_often", meet_often},
          {"absent", absent},
          {"leave", leave_exchange},
          {"too_large", too_large},
          {"killed_while_meeting", killed_while_meeting},
          {"launch_and_die", launch_and_die}};
}

}  // namespace sennit::comm
