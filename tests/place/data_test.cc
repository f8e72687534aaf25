// Machine and traffic in, map expected: tests/place/data/*.json. What a file expects is a whole answer, so a change
// of any of it shows; the maps themselves may be others of the same cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "place/made_up.h"
#include "place/solve.h"

namespace sennit::place {
namespace {

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(places::source("tests/place/data")))
    if (entry.path().extension() == ".json") found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

std::string stem(const testing::TestParamInfo<std::filesystem::path>& info) {
  std::string name = info.param.stem().string();
  std::ranges::replace(name, '-', '_');
  return name;
}

class Data : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Data, HasTheMapThatIsExpected) {
  const Json file = read_json(GetParam()).value();
  const machine::Machine machine = shipped(file["machine"]);
  const path::Network network(machine);
  const auto graph = DeviceGraph::create(network).value();
  const Traffic traffic = pattern(file["pattern"], 1 << 20);
  Question question;
  question.traffic = &traffic;
  question.graph = &graph;
  question.slots = {file.value("nodes", 1), graph.gpus(), file.value("ranks_per_gpu", 1)};
  question.metric = parse_metric(file.value("metric", "contention")).value();
  if (!thorough()) question.proof_work = 200'000;
  const auto solution = solve(question);
  ASSERT_TRUE(solution.ok()) << solution.status().text();
  const Answer& best = solution->answers.back();
  const auto near = [](double value, const Json& expected, const char* what) {
    EXPECT_NEAR(value, expected.get<double>(), 1e-4 * expected.get<double>()) << what;
  };
  near(solution->answers.front().cost.heaviest_us, file["identity"]["heaviest_us"], "as it is, heaviest");
  near(solution->answers.front().cost.sum / (1 << 20), file["identity"]["sum"], "as it is, sum");
  near(best.cost.heaviest_us, file["best"]["heaviest_us"], "best, heaviest");
  near(best.cost.sum / (1 << 20), file["best"]["sum"], "best, sum");
  if (thorough() && file.contains("proved")) {
    EXPECT_EQ(best.proof && best.proof->proved, file["proved"].get<bool>());
  }
}

INSTANTIATE_TEST_SUITE_P(All, Data, testing::ValuesIn(files()), stem);

TEST(DataFiles, AreManyAndOfAllMachines) {
  EXPECT_GE(files().size(), 20u);
}

}  // namespace
}  // namespace sennit::place
