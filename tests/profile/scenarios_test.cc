// Runs that are data: calls in, and numbers of the document out (data/*.json). Times are ns.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "places.h"
#include "profile/document.h"
#include "profile/made_up.h"

namespace sennit::profile {
namespace {

Memory memory_named(const std::string& name) {
  return name == "gpu" ? Memory::device : name == "host" ? Memory::host : Memory::absent;
}

Call call_of(const Json& said, Recorder& recorder) {
  Call call{};
  call.function = recorder.function(said.at("function").get<std::string>());
  call.begin = said.at("begin");
  call.end = said.at("end");
  call.peer = said.value("peer", -9);
  call.tag = said.value("tag", -9);
  call.communicator = said.value("communicator", std::uint16_t{0});
  call.sequence = said.value("sequence", 0u);
  call.bytes_in = said.value("bytes", std::uint64_t{0});
  call.memory_in = memory_named(said.value("memory", ""));
  call.reduction = recorder.reduction(said.value("reduction", ""));
  call.missed = said.value("missed", std::uint8_t{0});
  return call;
}

/// One process, whose threads' calls are those of one list a thread.
Rank rank_of(const Json& said, int number, int ranks) {
  const auto recorder = Recorder::in_memory(sizeof(Tables) + 4 * sizeof(Block)).value();
  MadeUp::name_first(*recorder);
  Header& header = recorder->header();
  header.rank = number;
  header.ranks = ranks;
  set(header.mpi, said.value("mpi", "MPICH"));
  set(header.host, said.value("host", "node"));
  header.clock_error_ns = said.value("clock_error", std::uint64_t{0});
  header.calls_lost = said.value("calls_lost", std::uint64_t{0});
  header.wall_ns = 1;
  for (const Json& one : said.at("communicators"))
    recorder->communicator(
        {.id = one.at("id"), .parent = 0, .size = one.at("size"), .rank = one.at("rank"), .name = {}});
  for (const Json& thread : said.at("threads"))
    std::jthread([&] {
      for (const Json& one : thread) recorder->record(call_of(one, *recorder));
    }).join();
  recorder->begin_run(said.at("run").at(0));
  recorder->end_run(said.at("run").at(1), End::finalized);
  return read_rank(recorder->bytes(), "rank " + std::to_string(number)).value();
}

std::vector<std::filesystem::path> scenarios() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(places::source("tests/profile/data")))
    files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

TEST(Scenarios, HaveTheNumbersExpectedOfThem) {
  ASSERT_GE(scenarios().size(), 9u);
  for (const auto& file : scenarios()) {
    SCOPED_TRACE(file.filename().string());
    std::ifstream opened(file);
    const Json scenario = Json::parse(opened);
    const Json& said = scenario.at("ranks");
    std::vector<Rank> ranks;
    for (std::size_t i = 0; i < said.size(); ++i)
      if (!said[i].is_null()) ranks.push_back(rank_of(said[i], static_cast<int>(i), static_cast<int>(said.size())));
    for (int turn = 0; turn < 2; ++turn) {  // the order of files changes nothing
      const Json document = to_json(merge(ranks).value());
      for (const auto& [pointer, expected] : scenario.at("expected").items()) {
        const Json::json_pointer at(pointer);
        ASSERT_TRUE(document.contains(at)) << pointer << " of " << document.dump();
        if (expected.is_number())
          EXPECT_NEAR(document.at(at).get<double>(), expected.get<double>(), 1e-9) << pointer;
        else
          EXPECT_EQ(document.at(at), expected) << pointer;
      }
      std::ranges::reverse(ranks);
    }
  }
}

}  // namespace
}  // namespace sennit::profile
