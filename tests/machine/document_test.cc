#include "machine/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/made_up.h"

namespace sennit::machine {
namespace {

using testing::HasSubstr;

Json valid() {
  return to_json(two_gpus());
}

Status refusal(const Json& document) {
  return machine::from_json(document, "mine.json").status();
}

/// A change that makes a valid document wrong, the field the error must name, and a word of what it must say.
struct Wrong {
  const char* pointer;
  Json value;
  const char* where;
  const char* what;
};

class WrongDocument : public testing::TestWithParam<Wrong> {};

TEST_P(WrongDocument, IsRefusedByFieldWithARemedy) {
  const Wrong& wrong = GetParam();
  Json document = valid();
  document[Json::json_pointer(wrong.pointer)] = wrong.value;
  const Status status = refusal(document);
  EXPECT_EQ(status.code(), Code::corrupt) << status.text();
  EXPECT_EQ(status.where(), std::string("mine.json: ") + wrong.where);
  EXPECT_THAT(status.what(), HasSubstr(wrong.what));
  EXPECT_FALSE(status.remedy().empty());
}

INSTANTIATE_TEST_SUITE_P(
    Types, WrongDocument,
    testing::Values(Wrong{"/name", 7, "name", "text in quotes"},
                    Wrong{"/devices", Json::object(), "devices", "a list"},
                    Wrong{"/devices/1", "gpu", "devices[1]", "an object"},
                    Wrong{"/devices/1/memory_bytes", "16G", "devices[1].memory_bytes", "a whole number"},
                    Wrong{"/devices/1/memory_bytes", -1, "devices[1].memory_bytes", "outside"},
                    Wrong{"/devices/1/memory_bytes", 1e19, "devices[1].memory_bytes", "a whole number"},
                    Wrong{"/devices/1/memory_bytes", 18446744073709551615ull, "devices[1].memory_bytes", "outside"},
                    Wrong{"/devices/0/numa", -2, "devices[0].numa", "outside"},
                    Wrong{"/devices/0/kind", "tpu", "devices[0].kind", "unknown"},
                    Wrong{"/links/0/kind", 3, "links[0].kind", "unknown"},
                    Wrong{"/links/0/shared", "no", "links[0].shared", "true or false"},
                    Wrong{"/links/2/forward_gbps", 50, "links[2].forward_gbps", "an object"},
                    Wrong{"/links/2/forward_gbps/source", "guessed", "links[2].forward_gbps.source", "unknown"},
                    Wrong{"/links/2/forward_gbps/value", nullptr, "links[2].forward_gbps.value", "a number"},
                    Wrong{"/curves/0/traffic", "one way", "curves[0].traffic", "unknown"},
                    Wrong{"/references/0", 5, "references[0]", "not text"},
                    Wrong{"/devices/1/memory", 5, "devices[1].memory", "not a member"},
                    Wrong{"/links/0/latency_us/unit", "ms", "links[0].latency_us.unit", "not a member"},
                    Wrong{"/comment", "hello", "comment", "not a member"}));

INSTANTIATE_TEST_SUITE_P(
    Figures, WrongDocument,
    testing::Values(Wrong{"/links/2/forward_gbps/value", 0, "links[2].forward_gbps.value", "no link delivers"},
                    Wrong{"/links/2/backward_gbps/value", -5, "links[2].backward_gbps.value", "no link delivers"},
                    Wrong{"/links/2/forward_gbps/value", 10000.5, "links[2].forward_gbps.value", "no link delivers"},
                    Wrong{"/links/2/both_gbps/value", 20001, "links[2].both_gbps.value", "no link delivers"},
                    Wrong{"/links/2/forward_gbps/spread", -1, "links[2].forward_gbps.spread", "-1"},
                    Wrong{"/links/0/latency_us/value", -0.1, "links[0].latency_us.value", "-0.1"},
                    Wrong{"/links/2/count", 0, "links[2].count", "outside"},
                    Wrong{"/devices/2/write_gbps/value", 0, "devices[2].write_gbps.value", "no link delivers"},
                    Wrong{"/staged/0/rate_gbps/value", 0, "staged[0].rate_gbps.value", "no link delivers"},
                    Wrong{"/staged/0/startup_us/value", -1, "staged[0].startup_us.value", "µs"},
                    Wrong{"/curves/0/points/1/us", 0, "curves[0].points[1].us", "is 0"},
                    Wrong{"/curves/0/points/1/us", 1e-3, "curves[0].points[1].us", "faster than any memory"},
                    Wrong{"/curves/0/points/1/bytes", 4096, "curves[0].points[1].bytes", "follows"},
                    Wrong{"/curves/0/points", Json::array(), "curves[0].points", "empty"},
                    Wrong{"/date", "21.11.2026", "date", "not a day"},
                    Wrong{"/date", "2026-13-01", "date", "not a day"},
                    Wrong{"/fingerprint", "../../etc", "fingerprint", "hexadecimal"}));

INSTANTIATE_TEST_SUITE_P(
    Names, WrongDocument,
    testing::Values(Wrong{"/devices/1/id", "gpu0", "devices[1].id", "second device"},
                    Wrong{"/devices/1/id", "GPU0", "devices[1].id", "second device"},
                    Wrong{"/devices/1/uuid", "GPU-00000000", "devices[1].uuid", "second device"},
                    Wrong{"/devices/1/pci", "0000:1b:00.0", "devices[1].pci", "second device"},
                    Wrong{"/devices/1/pci", "1b:00.0", "devices[1].pci", "not a PCI address"},
                    Wrong{"/devices/1/pci", "0000:1B:01.0", "devices[1].pci", "not a PCI address"},
                    Wrong{"/devices/1/id", "gpu 1", "devices[1].id", "cannot be an id"},
                    Wrong{"/devices/2/sm_count", 4, "devices[2].sm_count", "neither SMs"},
                    Wrong{"/name", "", "name", "empty"}, Wrong{"/name", "a\nb", "name", "not text"},
                    Wrong{"/links/1/to", "host7", "links[1].to", "not the id of a device"},
                    Wrong{"/links/1/to", "gpu1", "links[1]", "to itself"},
                    Wrong{"/links/1/from", "gpu0", "links[1]", "second pcie bundle"},
                    Wrong{"/curves/0/from", "gpu9", "curves[0].from", "not the id of a device"},
                    Wrong{"/staged/0/stage", "disk", "staged[0].stage", "not the id of a device"},
                    Wrong{"/staged/0/stage", "gpu0", "staged[0].stage", "an end"}));

TEST(Document, ReadsBackEverythingItWrites) {
  const Json document = valid();
  const Result<Machine> read = machine::from_json(document, "pair");
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(to_json(*read), document);
  EXPECT_EQ(read->links[0].latency_us->spread, 0.25);
  EXPECT_FALSE(read->links[0].peer_access);
  EXPECT_EQ(read->curves[0].points[1].bytes, 1u << 20);
}

TEST(Document, KeepsFiguresToTheLastBit) {
  Machine machine = two_gpus();
  machine.links[2].forward_gbps.value = 0.1 + 0.2;
  const Result<Json> text = parse_json(to_json(machine).dump(), "text");
  EXPECT_EQ(machine::from_json(*text, "text")->links[2].forward_gbps.value, 0.1 + 0.2);
}

TEST(Document, NeedsOnlyWhatHasNoDefault) {
  const auto read = machine::from_json(
      *parse_json(R"({"version": 1, "name": "m", "devices": [{"id": "host0", "kind": "host"}]})", "m"), "m");
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->devices[0].numa, -1);
}

TEST(Document, NamesTheMemberThatIsMissing) {
  for (const auto& [pointer, member] : {std::pair{"/links/0", "kind"},
                                        {"/links/0", "backward_gbps"},
                                        {"/devices/0", "id"},
                                        {"/staged/0", "rate_gbps"},
                                        {"/curves/0/points/0", "us"}}) {
    Json document = valid();
    document[Json::json_pointer(pointer)].erase(member);
    EXPECT_THAT(refusal(document).where(), testing::EndsWith(std::string(".") + member));
    EXPECT_THAT(refusal(document).what(), HasSubstr("missing"));
  }
}

TEST(Document, OfAnotherVersionIsRefusedBeforeAnythingElse) {
  for (const Json& version : {Json(0), Json(2), Json("1"), Json(1.5), Json(nullptr)}) {
    const Status status = refusal({{"version", version}, {"apparatus", 1}});
    EXPECT_EQ(status.code(), Code::unsupported) << version;
    EXPECT_EQ(status.where(), "mine.json: version");
  }
  EXPECT_THAT(refusal(Json::object()).what(), HasSubstr("missing"));
  EXPECT_EQ(refusal(Json::array()).code(), Code::corrupt);
}

TEST(Load, SaysWhichMachinesThereAre) {
  const Status status = load("hgx-h201").status();
  EXPECT_EQ(status.code(), Code::not_found);
  EXPECT_THAT(status.remedy(), HasSubstr("hgx-h200-4"));
}

TEST(Load, ReadsFilesAndSaysWhereTheyAreCutOff) {
  const auto folder = scratch_folder();
  const std::string text = valid().dump();
  write_text(folder / "whole.json", text);
  ASSERT_TRUE(load((folder / "whole.json").string()).ok());
  write_text(folder / "cut.json", text.substr(0, text.size() / 2));
  const Status status = load((folder / "cut.json").string()).status();
  EXPECT_EQ(status.code(), Code::corrupt);
  EXPECT_THAT(status.text(), HasSubstr("cut.json"));
  EXPECT_EQ(load((folder / "none.json").string()).status().code(), Code::not_found);
}

}  // namespace
}  // namespace sennit::machine
