#include "base/trace_events.h"

#include <map>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"

namespace sennit {
namespace {

std::string written(TraceWriter::Format format) {
  std::ostringstream out;
  {
    TraceWriter trace(out, format);
    trace.name_process(3, "rank 3");
    trace.name_thread(3, 0, "main");
    const std::vector<std::pair<std::string_view, std::string>> bytes{{"bytes", "8"}};
    trace.add({.process = 3, .thread = 0, .name = "MPI_Send", .category = "mpi", .begin_us = 1.5, .length_us = 2});
    trace.add({.process = 3,
               .thread = 0,
               .name = "MPI_Send",
               .category = "mpi",
               .begin_us = 5,
               .length_us = 300,
               .arguments = bytes});
  }
  return out.str();
}

/// The fields of a protobuf message, numbers as their digits.
std::multimap<std::uint64_t, std::string> fields(std::string_view message) {
  std::multimap<std::uint64_t, std::string> found;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !message.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(message.front());
      message.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (!message.empty()) {
    const std::uint64_t key = varint(), value = varint();
    if ((key & 7) == 0) {
      found.emplace(key >> 3, std::to_string(value));
    } else {
      found.emplace(key >> 3, message.substr(0, value));
      message.remove_prefix(std::min<std::size_t>(value, message.size()));
    }
  }
  return found;
}
std::string field(std::string_view message, std::uint64_t number) {
  const auto all = fields(message);
  const auto found = all.find(number);
  return found == all.end() ? "none" : found->second;
}

TEST(TraceEvents, FewAreJson) {
  EXPECT_EQ(TraceWriter::format_of(200'000), TraceWriter::Format::json);
  const Json trace = Json::parse(written(TraceWriter::Format::json));
  const Json& events = trace["traceEvents"];
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0]["args"]["name"], "rank 3");
  EXPECT_EQ(events[2]["ts"], 1.5);
  EXPECT_EQ(events[3]["dur"], 300);
  EXPECT_EQ(events[3]["pid"], 3);
  EXPECT_EQ(events[3]["args"]["bytes"], "8");
  std::ostringstream empty;
  { const TraceWriter nothing(empty, TraceWriter::Format::json); }
  EXPECT_TRUE(Json::parse(empty.str())["traceEvents"].empty());
}

/// Numbers of fields are those of Perfetto's protos; tests/cli read such a file with its own messages.
TEST(TraceEvents, ManyAreProtobuf) {
  EXPECT_EQ(TraceWriter::format_of(200'001), TraceWriter::Format::protobuf);
  std::vector<std::string> packets;
  for (const auto& [number, packet] : fields(written(TraceWriter::Format::protobuf))) {
    EXPECT_EQ(number, 1u);
    packets.push_back(packet);
  }
  ASSERT_EQ(packets.size(), 6u) << "two tracks, and a begin and an end of each slice";
  EXPECT_EQ(field(field(packets[0], 60), 2), "rank 3");
  EXPECT_EQ(field(field(packets[1], 60), 2), "main");
  EXPECT_EQ(field(field(packets[1], 60), 5), field(field(packets[0], 60), 1)) << "the thread is within the process";
  EXPECT_EQ(field(packets[2], 8), "1500");
  EXPECT_EQ(field(field(field(packets[2], 12), 2), 2), "MPI_Send") << "a name is written once";
  EXPECT_EQ(field(field(packets[2], 11), 9), "1");
  EXPECT_EQ(field(packets[3], 8), "3500");
  EXPECT_EQ(field(field(packets[3], 11), 9), "2");
  EXPECT_EQ(field(field(field(packets[4], 12), 2), 2), "none");
  EXPECT_EQ(field(field(packets[4], 11), 10), "1");
  EXPECT_EQ(field(field(field(packets[4], 11), 4), 6), "8");
  EXPECT_EQ(field(packets[5], 8), "305000");
}

}  // namespace
}  // namespace sennit
