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

TEST(OperationNames, SeparatorsDoNotCount) {
  for (const char* text : {"reduce-scatter", "reducescatter"})
    EXPECT_EQ(*parse_operation(text), Operation::reduce_scatter);
  for (const char* text : {"all-to-all", "alltoall"}) EXPECT_EQ(*parse_operation(text), Operation::all_to_all);
  EXPECT_EQ(*parse_operation("alltoallv"), Operation::all_to_all_v);
  EXPECT_EQ(*parse_operation("bcast"), Operation::broadcast);
  for (const char* text : {"", "-", "reduce scatter", "broad"}) EXPECT_FALSE(parse_operation(text).ok()) << text;
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
