// docs/use/environment.md lists the variables that sennit reads, as base/environment.h does.
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/environment.h"
#include "places.h"

namespace sennit::capi {
namespace {

TEST(EnvironmentDocument, ListsEveryVariable) {
  std::string table = "| variable | default | meaning |\n|---|---|---|\n";
  for (const Variable& variable : variables())
    table += fmt::format("| `{}` | {} | {} |\n", variable.name,
                         variable.fallback.empty() ? "" : fmt::format("`{}`", variable.fallback), variable.meaning);
  std::ifstream file(places::source("docs/use/environment.md"));
  const std::string document(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(document, testing::HasSubstr("\n" + table + "\n")) << "Put this table into docs/use/environment.md:\n"
                                                                 << table;
}

}  // namespace
}  // namespace sennit::capi
