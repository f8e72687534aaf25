// After kill -9 of everyone nothing remains: no file, no shared memory, no socket.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "comm/secret.h"
#include "job.h"
#include "places.h"

namespace sennit::comm {
namespace {

namespace fs = std::filesystem;

std::string unix_sockets() {
  std::ifstream file("/proc/net/unix");
  return (std::stringstream() << file.rdbuf()).str();
}

std::set<std::string> shared_memory() {
  std::set<std::string> names;
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator("/dev/shm", absent)) {
    const std::string name = entry.path().filename().string();
    if (name.find("sennit") != std::string::npos) names.insert(name);
  }
  return names;
}

// All ranks idle in a group; once the last is ready, all are killed.
TEST(Leftovers, NoneAfterKillOfAllRanks) {
  std::vector<pid_t> pids;
  std::vector<std::string> sockets;
  const auto before = shared_memory();
  Launch job;
  job.ranks = 3;
  job.command = {places::built("rank"), "idle"};
  job.output = [&](int, std::string_view line, bool) {
    std::istringstream words{std::string(line)};
    std::string ready, socket;
    pid_t pid = 0;
    words >> ready >> pid >> socket;
    ASSERT_EQ(ready, "ready") << line;
    pids.push_back(pid);
    sockets.push_back(socket);
    if (pids.size() == 3)
      for (const pid_t one : pids) ::kill(one, SIGKILL);
  };
  const auto ended = launch(job);
  ASSERT_TRUE(ended.ok()) << ended.status().text();
  ASSERT_EQ(sockets.size(), 3u);
  EXPECT_EQ(ended->status, 128 + SIGKILL);
  for (const std::string& socket : sockets) EXPECT_EQ(unix_sockets().find(socket), std::string::npos) << socket;
  EXPECT_EQ(shared_memory(), before);
}

// Rank 0 is killed while others still have to come: the file it left is removed by those who find it, and a new
// rank 0 would find the place free.
TEST(Leftovers, NoneWhenRankZeroIsKilledWhileMeeting) {
  const std::string runtime = testing::TempDir() + "sennit-run-" + *random_hex(8);
  fs::create_directory(runtime);
  const Job job = run_job(
      3, {"killed_while_meeting", "0"},
      [&](int rank) {
        return std::map<std::string, std::string>{{"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
                                                  {"OMPI_COMM_WORLD_SIZE", "4"},
                                                  {"OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(rank)},
                                                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                                  {"PMIX_NAMESPACE", "prterun-leftovers@1"},
                                                  {"XDG_RUNTIME_DIR", runtime},
                                                  {"SENNIT_TIMEOUT", "2"}};
      },
      false);
  EXPECT_EQ(job.ended.statuses[0], 128 + SIGKILL);
  for (const int rank : {1, 2}) EXPECT_NE(job.ended.statuses[std::size_t(rank)], 0) << job.line(rank);
  EXPECT_TRUE(fs::is_empty(runtime));
  fs::remove_all(runtime);
}

}  // namespace
}  // namespace sennit::comm
