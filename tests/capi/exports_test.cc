// The library shows the functions of its header, all of them, and nothing else.
#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "places.h"

namespace sennit::capi {
namespace {

std::set<std::string> exported() {
  std::set<std::string> names;
  const std::string command = "nm -D --defined-only --format=just-symbols '" + places::built("sennit") + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> out(popen(command.c_str(), "r"), pclose);
  std::array<char, 512> line{};
  while (out != nullptr && std::fgets(line.data(), int(line.size()), out.get()) != nullptr) {
    const std::string text(line.data());
    names.insert(text.substr(0, text.find_last_not_of('\n') + 1));
  }
  return names;
}

std::set<std::string> declared() {
  std::ifstream header(places::source("include/sennit/sennit.h"));
  const std::string text(std::istreambuf_iterator<char>(header), {});
  std::set<std::string> names;
  // A declaration's name is the word before its first parenthesis.
  const std::string mark = "\nSENNIT_API ";
  for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const auto end = text.find('(', at);
    const auto begin = text.find_last_of(" *", end) + 1;
    names.insert(text.substr(begin, end - begin));
  }
  return names;
}

TEST(Exports, AreTheHeader) {
  EXPECT_GT(declared().size(), 20u);
  EXPECT_EQ(exported(), declared());
}

}  // namespace
}  // namespace sennit::capi
