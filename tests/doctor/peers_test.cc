#include "doctor/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "made_up.h"

namespace sennit::doctor {
namespace {

using testing::HasSubstr;

PeerReadings all_reach(int count) {
  PeerReadings peers;
  for (int i = 0; i < count; ++i) peers.devices.push_back("0000:0" + std::to_string(i + 1) + ":00.0");
  for (int from = 0; from < count; ++from)
    for (int to = 0; to < count; ++to)
      if (from != to) peers.directions.push_back({from, to, true, {}});
  return peers;
}

TEST(Peers, AreSummedUpByWhatJoinsThem) {
  const Check alike = judge_peers(with_gpus(), all_reach(4), nvswitch_machine(4, 18));
  EXPECT_EQ(alike.state, State::works);
  EXPECT_EQ(alike.detail, "All 6 pairs: NVLink × 18");
  machine::NvmlReadings mixed = nvswitch_machine(3, 4);
  mixed.gpus[2].nvlinks.clear();
  EXPECT_EQ(judge_peers(with_gpus(), all_reach(3), mixed).detail,
            "gpu0–gpu1: NVLink × 4; gpu0–gpu2, gpu1–gpu2: PCIe");
  EXPECT_EQ(judge_peers(with_gpus(), all_reach(2), {}).detail.find("link unknown") == std::string::npos, false);
}

TEST(Peers, SomeOrNoneOfWhichReachEachOther) {
  PeerReadings some = all_reach(3);
  some.directions[0].reaches = false;
  const Check partly = judge_peers(with_gpus(), some, nvswitch_machine(3, 0));
  EXPECT_EQ(partly.state, State::degraded);
  EXPECT_THAT(partly.detail, HasSubstr("gpu0–gpu1: PCIe, one direction only"));
  for (DirectionReading& direction : some.directions) direction.reaches = false;
  const Check none = judge_peers(with_gpus(), some, nvswitch_machine(3, 18));
  EXPECT_EQ(none.state, State::missing);
  EXPECT_FALSE(none.needed) << "the path through host memory remains";
  EXPECT_THAT(none.fix, HasSubstr("nvidia-fabricmanager"));
  setenv("SENNIT_PEER", "0", 1);
  EXPECT_EQ(judge_peers(with_gpus(), some, nvswitch_machine(3, 18)).fix, "unset SENNIT_PEER");
  unsetenv("SENNIT_PEER");
}

TEST(Peers, NeedTwoGpusAndACudaBuild) {
  EXPECT_EQ(judge_peers(with_gpus(), all_reach(1), {}).state, State::not_applicable);
  EXPECT_EQ(judge_peers(told_host(), all_reach(2), {}).state, State::not_applicable);
  Situation host_build = with_gpus();
  host_build.cuda_build = false;
  EXPECT_EQ(judge_peers(host_build, {}, {}).state, State::not_applicable);
}

TEST(PeerBytes, ArriveOrNot) {
  EXPECT_THAT(judge_peer_bytes(with_gpus(), all_reach(4), nvswitch_machine(4, 18)).detail,
              HasSubstr("12 directions"));
  PeerReadings wrong = all_reach(2);
  wrong.directions[1].bytes = Status(Code::corrupt, "17 of 1048576 bytes are wrong, the first at 4096");
  const Check check = judge_peer_bytes(with_gpus(), wrong, nvswitch_machine(2, 0));
  EXPECT_EQ(check.state, State::missing);
  EXPECT_EQ(check.detail, "Wrong over gpu1 → gpu0: 17 of 1048576 bytes are wrong, the first at 4096");
  EXPECT_THAT(check.fix, HasSubstr("SENNIT_PEER=0"));
}

TEST(PeerBytes, ThatNeverComeNameTheDirection) {
  Answer hung;
  hung.end = End::silent;
  hung.status = 5000;
  hung.lines = {Json::parse(R"({"opened": null, "devices": ["0000:01:00.0", "0000:02:00.0"]})"),
                Json::parse(R"({"pinned": null})"), Json::parse(R"({"trying": [0, 1]})"),
                Json::parse(R"({"from": 0, "to": 1, "reaches": true, "bytes": null})"),
                Json::parse(R"({"trying": [1, 0]})")};
  const PeerReadings peers = peer_readings(hung);
  ASSERT_TRUE(peers.pinned.has_value());
  EXPECT_TRUE(peers.pinned->ok());
  ASSERT_EQ(peers.directions.size(), 1u);
  EXPECT_TRUE(peers.directions[0].reaches);
  const Check check = judge_peer_bytes(with_gpus(), peers, nvswitch_machine(2, 0));
  EXPECT_EQ(check.state, State::missing);
  EXPECT_THAT(check.detail, HasSubstr("did not answer within 5 s at gpu1 → gpu0"));
}

TEST(PeerReadings, KeepWhyTheGpusDidNotOpen) {
  Answer refused;
  refused.end = End::finished;
  refused.lines = {
      Json::parse(R"({"opened": {"code": 3, "what": "no cuda here", "where": "", "remedy": "get one"}})")};
  const Check check = judge_peers(with_gpus(), peer_readings(refused), {});
  EXPECT_EQ(check.state, State::missing);
  EXPECT_THAT(check.detail, HasSubstr("no cuda here"));
  EXPECT_EQ(check.fix, "get one");
  refused.lines = {Json::parse(R"({"opened": {"code": 2, "what": "no GPU answers", "where": "", "remedy": ""}})")};
  EXPECT_EQ(judge_peers(with_gpus(), peer_readings(refused), {}).state, State::not_applicable)
      << "other checks find that";
}

}  // namespace
}  // namespace sennit::doctor
