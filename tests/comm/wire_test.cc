#include "comm/wire.h"

#include <gtest/gtest.h>

namespace sennit::comm {
namespace {

TEST(Wire, ReadsWhatWasWritten) {
  const Bytes bytes = Writer()
                          .number(~0ull)
                          .text("rank")
                          .text("")
                          .status(Status(Code::timed_out, "a", "b", "c"))
                          .status(Status())
                          .take();
  Reader reader(bytes);
  EXPECT_EQ(reader.number(), ~0ull);
  EXPECT_EQ(reader.text(), "rank");
  EXPECT_EQ(reader.text(), "");
  EXPECT_EQ(reader.status().text(), "timed_out: a (b). c");
  EXPECT_TRUE(reader.status().ok());
  EXPECT_TRUE(reader.finish().ok());
}

TEST(Wire, IsLittleEndian) {
  const Bytes bytes = Writer().number(0x0102).take();
  EXPECT_EQ(bytes[0], std::byte{2});
  EXPECT_EQ(bytes[1], std::byte{1});
}

TEST(Wire, RefusesEveryTruncationAndAnythingExtra) {
  const Bytes whole = Writer().number(7).text("some text").status(Status(Code::corrupt, "x", "y", "z")).take();
  for (std::size_t length = 0; length <= whole.size() + 1; ++length) {
    Bytes bytes = whole;
    bytes.resize(length);
    Reader reader(bytes);
    reader.number(), reader.text(), (void)reader.status();
    EXPECT_EQ(reader.finish().ok(), length == whole.size()) << length;
  }
}

TEST(Wire, BelievesNoLengthBeyondTheMessage) {
  for (const std::uint64_t length : {1ull, 1ull << 40, ~0ull}) {
    const Bytes bytes = Writer().number(length).take();
    Reader reader(bytes);
    EXPECT_TRUE(reader.data().empty());
    EXPECT_EQ(reader.finish().code(), Code::corrupt);
  }
}

TEST(Wire, RefusesUnknownCodes) {
  const Bytes bytes = Writer().number(99).text("").text("").text("").take();
  Reader reader(bytes);
  EXPECT_TRUE(reader.status().ok());
  EXPECT_FALSE(reader.finish().ok());
}

TEST(Wire, CutsEndlessSentences) {
  EXPECT_LT(Writer().status(Status(Code::aborted, std::string(1 << 20, 'x'))).take().size(), 16384u);
}

}  // namespace
}  // namespace sennit::comm
