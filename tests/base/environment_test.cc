#include "base/environment.h"

#include <gtest/gtest.h>

namespace sennit {
namespace {

TEST(Environment, FallsBackToTheDocumentedDefault) {
  unsetenv("SENNIT_TIMEOUT");
  EXPECT_EQ(*environment_integer("SENNIT_TIMEOUT"), 30);
  setenv("SENNIT_TIMEOUT", "5", 1);
  EXPECT_EQ(*environment_integer("SENNIT_TIMEOUT"), 5);
  unsetenv("SENNIT_TIMEOUT");
}

TEST(Environment, NamesTheVariableThatIsWrong) {
  setenv("SENNIT_ADAPT", "perhaps", 1);
  const Status status = environment_switch("SENNIT_ADAPT").status();
  unsetenv("SENNIT_ADAPT");
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.text().find("SENNIT_ADAPT"), std::string::npos);
}

TEST(Environment, DocumentsEveryVariable) {
  for (const Variable& variable : variables()) EXPECT_GT(variable.meaning.size(), 20u) << variable.name;
}

TEST(EnvironmentDeathTest, RefusesUndocumentedOnes) {
  EXPECT_DEATH(environment("SENNIT_SECRET_KNOB"), "not in the documented list");
}

}  // namespace
}  // namespace sennit
