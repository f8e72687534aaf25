#include "path/forced.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "machines.h"

namespace sennit::path {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

using Forced = std::vector<std::pair<std::string, double>>;

TEST(ParseForced, ReadsNamesAndShares) {
  EXPECT_THAT(*parse_forced("direct=0.9,host0 (sm)=0.1"), ElementsAre(Pair("direct", 0.9), Pair("host0 (sm)", 0.1)));
  EXPECT_THAT(*parse_forced(" direct = 1 , "), ElementsAre(Pair("direct", 1)));
  EXPECT_THAT(*parse_forced("gpu1 → gpu3 (engine)=1"), ElementsAre(Pair("gpu1 → gpu3 (engine)", 1)));
  EXPECT_TRUE(parse_forced("")->empty());
}

TEST(ParseForced, NamesThePartThatIsWrong) {
  for (const char* text : {"direct", "=1", "direct=", "direct=half", "direct=-0.1", "direct=1.1", "direct=nan",
                           "direct=0.5x", "host=0.5,,direct=0.5"})
    EXPECT_EQ(parse_forced(text).status().code(), Code::invalid_argument) << text;
  EXPECT_THAT(parse_forced("host=0.1,direct=lots").status().what(), HasSubstr("'direct=lots'"));
}

struct ResolveForced : testing::Test {
  machine::Machine machine = hgx_h200_4();
  Result<Routes> routes = enumerate(machine, "gpu0", "gpu1", 256 * MiB, false);

  std::string name(const Forced& forced, std::size_t at) {
    const auto resolved = resolve_forced(forced, *routes);
    return resolved.ok() ? routes->routes[resolved->at(at).first].candidate.route.name() : resolved.status().text();
  }
};

TEST_F(ResolveForced, KnowsWholeAndShortNames) {
  EXPECT_EQ(name({{"host0 (engine)", 1}}, 0), "host0 (engine)");
  EXPECT_EQ(name({{"gpu2", 1}}, 0), "gpu2 (engine)");
  EXPECT_EQ(name({{"direct", 0.9}, {"host0", 0.1}}, 1), "host0 (engine)");  // the faster of the two alone
  EXPECT_EQ(name({{"direct", 0.9}, {"host", 0.1}}, 1), "host0 (engine)");
}

TEST_F(ResolveForced, NamesTheRoutesThereAre) {
  const auto resolved = resolve_forced({{"direct", 0.5}, {"gpu7", 0.5}}, *routes);
  EXPECT_EQ(resolved.status().code(), Code::not_found);
  EXPECT_THAT(resolved.status().what(), HasSubstr("'gpu7'"));
  EXPECT_THAT(resolved.status().remedy(), HasSubstr("'host0 (sm)'"));
  EXPECT_THAT(resolved.status().remedy(), HasSubstr("'direct'"));
}

TEST_F(ResolveForced, RefusesSharesThatAreNoSplit) {
  for (const Forced& forced : {Forced{{"direct", 0.5}}, Forced{{"direct", 1.5}, {"host0", -0.5}},
                               Forced{{"direct", 0.5}, {"direct", 0.5}}, Forced{{"host", 0.5}, {"host0", 0.5}}})
    EXPECT_EQ(resolve_forced(forced, *routes).status().code(), Code::invalid_argument);
}

TEST_F(ResolveForced, ForgivesRounding) {
  const auto resolved = resolve_forced({{"direct", 0.9}, {"host", 0.0999}}, *routes);
  ASSERT_TRUE(resolved.ok());
  EXPECT_NEAR((*resolved)[0].second + (*resolved)[1].second, 1, 1e-12);
}

}  // namespace
}  // namespace sennit::path
