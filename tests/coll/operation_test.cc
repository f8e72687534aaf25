#include "coll/operation.h"

#include <gtest/gtest.h>

#include <set>

namespace sennit::coll {
namespace {

TEST(OperationNames, AreReadBack) {
  std::set<std::string_view> names;
  for (const Operation operation : all_operations()) {
    EXPECT_TRUE(names.insert(name(operation)).second);
    EXPECT_EQ(*parse_operation(name(operation)), operation);
  }
  EXPECT_EQ(names.size(), std::size_t{kOperations});
}

TEST(OperationNames, UnknownOnesAreRefusedWithTheKnown) {
  const auto refused = parse_operation("allreduc");
  EXPECT_EQ(refused.status().code(), Code::invalid_argument);
  EXPECT_NE(refused.status().text().find("reduce_scatter"), std::string::npos);
}

TEST(AlgorithmNames, AreDistinct) {
  std::set<std::string_view> names;
  for (int i = 0; i < kAlgorithms; ++i) EXPECT_TRUE(names.insert(name(static_cast<Algorithm>(i))).second);
}

}  // namespace
}  // namespace sennit::coll
