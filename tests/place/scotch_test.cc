#include "place/scotch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "place/made_up.h"
#include "place/solve.h"

namespace sennit::place {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<ScotchMap> asked(const char* what) {
  setenv("FAKE_SCOTCH", what, 1);
  const Problem problem(pattern("ring:4"), 4, tree_costs(4));
  auto map = map_by_scotch(problem, places::built("fake_scotch"));
  unsetenv("FAKE_SCOTCH");
  return map;
}

TEST(Scotch, ItsMapIsTaken) {
  const auto found = asked("");
  ASSERT_TRUE(found.ok()) << found.status().text();
  EXPECT_THAT(found->map, ElementsAre(3, 2, 1, 0));
  EXPECT_FALSE(found->mended);
}

/// Two ranks on a slot, and slots that there are not: each rank gets one of its own.
TEST(Scotch, AMapThatIsNoneIsMended) {
  EXPECT_THAT(asked("same")->map, ElementsAre(2, 0, 1, 3));
  EXPECT_TRUE(asked("same")->mended);
  EXPECT_THAT(asked("wild")->map, ElementsAre(1, 0, 2, 3));
}

TEST(Scotch, WhateverGoesWrongWithItIsAnError) {
  EXPECT_THAT(asked("crash").status().what(), HasSubstr("crashed"));
  EXPECT_THAT(asked("exit").status().what(), HasSubstr("crashed"));
  EXPECT_THAT(asked("width").status().what(), HasSubstr("unknown width"));
  EXPECT_THAT(asked("fail").status().what(), HasSubstr("could not map"));
  const Problem problem(pattern("ring:4"), 4, tree_costs(4));
  EXPECT_THAT(map_by_scotch(problem, "/nowhere/libscotch.so").status().what(), HasSubstr("not installed"));
}

TEST(Scotch, CostsAreClosedUnderShortestPaths) {
  EXPECT_THAT(closed_under_paths({0, 1, 9, 1, 0, 2, 9, 2, 0}, 3), ElementsAre(0, 1, 3, 1, 0, 2, 3, 2, 0));
}

/// A solver that is not there is left out, and the others answer.
TEST(Solve, AnswersByAllSolversThatThereAre) {
  const machine::Machine machine = shipped("dgx-1v");
  const path::Network network(machine);
  const auto graph = DeviceGraph::create(network).value();
  const Traffic traffic = pattern("ring:8");
  Question question;
  question.traffic = &traffic;
  question.graph = &graph;
  question.slots = {1, 8, 1};
  question.solvers = {Solver::identity, Solver::scotch, Solver::swaps, Solver::exact};
  question.scotch_library = "/nowhere/libscotch.so";
  auto solution = solve(question);
  ASSERT_TRUE(solution.ok()) << solution.status().text();
  EXPECT_THAT(solution->left_out, ElementsAre(HasSubstr("scotch: ")));
  ASSERT_EQ(solution->answers.size(), 3u);
  EXPECT_TRUE(solution->answers[2].proof->proved);
  question.scotch_library = places::built("fake_scotch");
  solution = solve(question);
  ASSERT_EQ(solution->answers.size(), 4u);
  for (const Answer& each : solution->answers)
    EXPECT_FALSE(less(each.cost, solution->answers[3].cost)) << name(each.solver);
  EXPECT_EQ(parse_solver("swaps").value(), Solver::swaps);
  EXPECT_THAT(parse_solver("best").status().remedy(), HasSubstr("identity, swaps, exact, scotch or all"));
}

}  // namespace
}  // namespace sennit::place
