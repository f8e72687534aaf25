// The whole program, on the host executor: what it prints, how it fails, and that nothing of it stays.
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "comm/launch.h"
#include "places.h"

namespace sennit::bench::put {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct Ran {
  int status = -1;
  std::string out, error;

  Json document() const {
    auto parsed = parse_json(out, "stdout");
    return parsed.ok() ? *parsed : Json();
  }
  Json rows() const {
    const Json whole = document();
    return whole.contains("rows") ? whole.at("rows") : Json::array();
  }
};

/// Parent of a process, from /proc; 0 when it is gone.
pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const auto end = text.rfind(')');
  if (end == std::string::npos) return 0;
  char state = 0;
  pid_t parent = 0;
  std::istringstream(text.substr(end + 1)) >> state >> parent;
  return parent;
}

/// The ranks of the program that this test started.
std::vector<pid_t> ranks() {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t process = std::atoi(entry.path().filename().c_str());
    if (process > 0 && parent_of(parent_of(process)) == ::getpid()) found.push_back(process);
  }
  return found;
}

class BenchPut : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "sennit-bench-put-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    cache_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(cache_); }

  Ran run(std::vector<std::string> arguments, const std::function<void(std::string_view)>& on_error_line = {}) {
    comm::Launch job;
    job.command = {places::built("sennit-bench-put"), "--executor", "host"};
    job.command.insert(job.command.end(), arguments.begin(), arguments.end());
    job.announce = false;
    job.environment = [this](int) {
      return std::map<std::string, std::string>{{"SENNIT_CACHE", cache_.string()}, {"SENNIT_MACHINE", machine_}};
    };
    Ran ran;
    job.output = [&](int, std::string_view line, bool error) {
      (error ? ran.error : ran.out).append(line).append("\n");
      if (error && on_error_line) on_error_line(line);
    };
    const auto ended = comm::launch(job);
    EXPECT_TRUE(ended.ok()) << ended.status().text();
    if (ended.ok()) ran.status = ended->status;
    return ran;
  }

  std::filesystem::path cache_;
  /// A machine as if measured, so that only one test pays for measuring.
  std::string machine_ = "mist";
};

TEST_F(BenchPut, PrintsARowForEverythingAsked) {
  const Ran ran = run({"--sizes", "4K,1M", "--traffic", "one_way,both_ways", "--window", "1,4", "--vs", "engine,host",
                       "--seconds", "0.005", "--setup"});
  ASSERT_EQ(ran.status, 0) << ran.error;
  const Json document = ran.document();
  EXPECT_EQ(document.at("version"), 1);
  EXPECT_EQ(document.at("kind"), "bench put");
  EXPECT_EQ(document.at("machine").at("name"), "mist");
  EXPECT_EQ(document.at("machine").at("devices").size(), 4u);
  EXPECT_FALSE(document.at("versions").at("sennit").get<std::string>().empty());
  EXPECT_GT(document.at("settings").at("setup_ms").get<double>(), 0);
  std::set<std::string> seen;
  for (const Json& row : document.at("rows")) {
    seen.insert(row.at("variant").get<std::string>() + row.at("traffic").get<std::string>() +
                row.at("window").dump() + "/" + row.at("bytes").dump());
    EXPECT_EQ(row.at("from"), "gpu0");
    EXPECT_EQ(row.at("to"), "gpu1");
    EXPECT_TRUE(row.at("verified").get<bool>());
    EXPECT_GE(row.at("repetitions").get<int>(), 5);
    EXPECT_GT(row.at("min_us").get<double>(), 0);
    EXPECT_LE(row.at("min_us").get<double>(), row.at("median_us").get<double>());
    EXPECT_LE(row.at("median_us").get<double>(), row.at("p95_us").get<double>());
    EXPECT_GT(row.at("limit_gbps").get<double>(), 0);
    EXPECT_NEAR(row.at("gbps").get<double>() * row.at("median_us").get<double>() * 1e3, row.at("bytes").get<double>(),
                1);
    double whole = 0;
    if (row.at("variant") == "sennit") {
      for (const Json& share : row.at("split")) whole += share.at("share").get<double>();
      EXPECT_NEAR(whole, 1, 1e-9);
    } else {
      EXPECT_FALSE(row.contains("split"));
    }
  }
  EXPECT_EQ(seen.size(), 3u * 2 * 2 * 2);
  EXPECT_EQ(document.at("rows").size(), seen.size());
}

TEST_F(BenchPut, MeasuresTheMachineFirstWhereItNeverWas) {
  machine_.clear();
  const Ran ran = run({"--sizes", "64K", "--seconds", "0.005", "--progress"});
  ASSERT_EQ(ran.status, 0) << ran.error;
  EXPECT_EQ(ran.document().at("settings").at("machine_measured"), true);
  EXPECT_THAT(ran.error, HasSubstr(R"({"progress":{"done":0,"total":1,"what":"gpu0 → gpu1, 64 KiB"}})"));
  EXPECT_FALSE(std::filesystem::is_empty(cache_));
}

TEST_F(BenchPut, GoesOnUnmeasuredWithTheDirectPathAndSaysSo) {
  machine_.clear();
  const Ran ran = run({"--no-measure", "--sizes", "1M", "--vs", "engine", "--seconds", "0.005"});
  ASSERT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(ran.document().at("warnings").dump(), HasSubstr("never measured"));
  EXPECT_EQ(ran.document().at("rows").at(0).at("split").dump(), R"([{"route":"direct","share":1.0}])");
  EXPECT_TRUE(std::filesystem::is_empty(cache_));
}

TEST_F(BenchPut, SendsBetweenHostMemoryAndOneDevice) {
  for (const auto& [from, to] : {std::pair("host", "gpu1"), std::pair("gpu1", "host0")}) {
    const Ran ran = run({"--from", from, "--to", to, "--sizes", "1M,3M", "--traffic", "one_way,both_ways",
                         "--seconds", "0.005", "--vs", "engine,host"});
    ASSERT_EQ(ran.status, 0) << ran.error;
    EXPECT_EQ(ran.document().at("rows").size(), 2u * 2 * 2);
    const Json rows = ran.rows();
    for (const Json& row : rows) EXPECT_TRUE(row.at("verified").get<bool>());
    EXPECT_THAT(ran.document().at("warnings").dump(), HasSubstr("host is left out"));
  }
}

TEST_F(BenchPut, ForcesSharesAndNamesRoutesThatThereAreNot) {
  const Ran forced =
      run({"--split", "direct=0.5,host0 (sm)=0.5", "--sizes", "1M", "--vs", "engine", "--seconds", "0.005"});
  ASSERT_EQ(forced.status, 0) << forced.error;
  EXPECT_EQ(forced.document().at("rows").at(0).at("split").size(), 2u);
  const Ran wrong = run({"--split", "tunnel=1", "--sizes", "1M"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.error, HasSubstr("tunnel"));
}

TEST_F(BenchPut, TakesMoreRanksThanThePairAndEveryPairInTurn) {
  const Ran ran = run({"--pairs", "all", "--ranks", "4", "--sizes", "64K", "--vs", "engine", "--seconds", "0.001"});
  ASSERT_EQ(ran.status, 0) << ran.error;
  std::set<std::string> pairs;
  const Json rows = ran.rows();
  for (const Json& row : rows) pairs.insert(row.at("from").get<std::string>() + row.at("to").get<std::string>());
  EXPECT_EQ(pairs.size(), 12u);
}

TEST_F(BenchPut, LeavesOutPeersThatAreNotHere) {
  const Ran ran =
      run({"--vs", "engine,nccl,ucx", "--ucx-perftest", "/nowhere", "--sizes", "4K", "--seconds", "0.001"});
  ASSERT_EQ(ran.status, 0) << ran.error;
  const std::string warnings = ran.document().at("warnings").dump();
  EXPECT_THAT(warnings, HasSubstr("nccl is left out: NCCL needs GPUs"));
  EXPECT_THAT(warnings, HasSubstr("ucx is left out: /nowhere cannot be run"));
}

TEST_F(BenchPut, TellsWrongUsage) {
  for (const auto& wrong : std::vector<std::vector<std::string>>{{"--from", "gpu0"},
                                                                 {"--sizes", "0"},
                                                                 {"--vs", "mpi"},
                                                                 {"--window", "0"},
                                                                 {"--from", "gpu0", "--to", "gpu0"}}) {
    const Ran ran = run(wrong);
    EXPECT_EQ(ran.status, 2) << wrong[0];
    EXPECT_THAT(ran.error, HasSubstr(R"({"error":{"code":"invalid_argument")"));
    EXPECT_THAT(ran.out, IsEmpty());
  }
}

TEST_F(BenchPut, EndsWhenARankIsKilledAndLeavesNothing) {
  std::vector<pid_t> killed;
  const Ran ran = run({"--sizes", "16M", "--window", "64", "--vs", "engine", "--seconds", "60", "--progress"},
                      [&](std::string_view line) {
                        if (!killed.empty() || line.find("gpu0 → gpu1, 16 MiB") == std::string_view::npos) return;
                        killed = ranks();
                        if (!killed.empty()) ::kill(killed.back(), SIGKILL);
                      });
  ASSERT_EQ(killed.size(), 2u);
  EXPECT_EQ(ran.status, 1) << ran.error;
  EXPECT_THAT(ran.error, HasSubstr(R"("error":{"code")"));
  EXPECT_THAT(ran.out, IsEmpty());
  for (const pid_t process : killed) EXPECT_NE(::kill(process, 0), 0) << "a rank is still there";
}

}  // namespace
}  // namespace sennit::bench::put
