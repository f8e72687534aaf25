#include "base/function_ref.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace sennit {
namespace {

std::string twice(FunctionRef<std::string(int, std::unique_ptr<int>)> function) {
  return function(1, std::make_unique<int>(2)) + function(3, std::make_unique<int>(4));
}

TEST(FunctionRef, CallsWhatItWasMadeOf) {
  int calls = 0;
  const auto counted = [&calls](int number, std::unique_ptr<int> other) {
    ++calls;
    return std::to_string(number + *other) + ";";
  };
  EXPECT_EQ(twice(counted), "3;7;");
  EXPECT_EQ(twice([&](int number, std::unique_ptr<int>) { return std::string(std::size_t(number), 'a'); }), "aaaa");
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace sennit
