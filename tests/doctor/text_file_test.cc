#include "doctor/text_file.h"

#include <gtest/gtest.h>

#include "made_up.h"

namespace sennit::doctor {
namespace {

TEST(TextFile, ReadsTextAndNumbers) {
  const auto folder = scratch();
  write(folder / "number", "-1\n");
  write(folder / "word", "max\n");
  write(folder / "empty", "");
  EXPECT_EQ(read_number(folder / "number"), -1);
  EXPECT_EQ(read_number(folder / "word"), std::nullopt);
  EXPECT_EQ(read_text(folder / "word"), "max");
  EXPECT_EQ(read_text(folder / "empty"), "");
  EXPECT_EQ(read_text(folder / "absent"), std::nullopt);
  EXPECT_EQ(read_text(folder), std::nullopt) << "a folder is no file";
}

TEST(List, GoesThereAndBack) {
  EXPECT_EQ(parse_list("0-3,8"), (std::set<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(list_text({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(list_text({}), "");
  EXPECT_EQ(list_text(parse_list("5")), "5");
}

TEST(List, RefusesWhatIsNone) {
  for (const char* text : {"", "a", "3-1", "-4", "1,,2", "0-99999999", "1-"})
    EXPECT_TRUE(parse_list(text).empty()) << text;
}

}  // namespace
}  // namespace sennit::doctor
