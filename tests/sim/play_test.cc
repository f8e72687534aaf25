// Graphs on a fabric: what waits for what, and what is shared.
#include "sim/play.h"

#include <gtest/gtest.h>

#include <random>

#include "machine/known.h"

namespace sennit::sim {
namespace {

using Id = Graph::Id;

Graph::Task task_of(const Fabric& fabric, const char* from, const char* to, double bytes, double us = 0) {
  Graph::Task task;
  task.from = fabric.network().index(from);
  task.to = fabric.network().index(to);
  task.bytes = bytes;
  task.us = us;
  task.method = machine::Method::sm;
  return task;
}

TEST(Play, LetsBytesShareALinkAndTasksWaitForWhatTheyNeed) {
  const machine::Machine machine = machine::known_machine("mist", "").value().machine;
  const auto fabric = Fabric::create(machine, 1, 1000);
  ASSERT_TRUE(fabric.ok());
  Graph graph;
  const Id a = graph.add(task_of(*fabric, "gpu0", "gpu1", 72e6));            // alone 1000 µs
  const Id b = graph.add(task_of(*fabric, "gpu0", "gpu1", 36e6));            // shares until 1000, then is done
  const Id c = graph.add(task_of(*fabric, "gpu0", "gpu1", 72e6, 100), {b});  // from 1000 on
  const Id d = graph.all(std::vector<Id>{a, c});
  const auto played = play(graph, *fabric);
  ASSERT_TRUE(played.ok());
  EXPECT_NEAR(played->ends[b], 1000, 1e-2);
  // a has 36e6 left at 1000 and 28.8e6 at 1100, shares with c until 1900; c then has 43.2e6 left.
  EXPECT_NEAR(played->ends[a], 1900, 1e-2) << "36e6 alone for 100 µs (7.2e6), then 28.8e6 at half the rate";
  EXPECT_NEAR(played->ends[c], 2500, 1e-2);
  EXPECT_EQ(played->ends[d], played->ends[c]);
  EXPECT_NEAR(played->us, 2500, 1e-6);
  EXPECT_EQ(played->flows, 3u);
  ASSERT_FALSE(played->critical.empty());
  EXPECT_EQ(played->critical.front().what, "gpu0>gpu1 is full");
  EXPECT_EQ(played->loads.front().resource, "gpu0>gpu1");
  EXPECT_NEAR(played->loads.front().bytes, 180e6, 1);
  EXPECT_NEAR(played->loads.front().busy, 1, 1e-9);
}

TEST(Play, OfAQueueDoesOneAfterTheOther) {
  const machine::Machine machine = machine::known_machine("mist", "").value().machine;
  const auto fabric = Fabric::create(machine, 1, 1000);
  ASSERT_TRUE(fabric.ok());
  Graph graph;
  const std::uint32_t queue = graph.add_queue();
  Graph::Task task;
  task.us = 7;
  task.queue = queue;
  task.what = graph.name("calls");
  Id last = Graph::kNone;
  for (int i = 0; i < 10; ++i) last = graph.add(task);
  const auto played = play(graph, *fabric);
  ASSERT_TRUE(played.ok());
  EXPECT_NEAR(played->ends[last], 70, 1e-4);
  EXPECT_EQ(played->critical.front().what, "calls");
  EXPECT_NEAR(played->critical.front().us, 70, 1e-9) << "through the queue, too";
}

/// LogGP (Alexandrov and others 1995): k messages of n bytes, o of the processor for each at both ends, L on the way,
/// and G a byte, which the link takes one after the other.
TEST(Play, OfABurstOfMessagesIsLogGp) {
  const machine::Machine machine = machine::known_machine("mist", "").value().machine;
  const auto fabric = Fabric::create(machine, 1, 1000);
  ASSERT_TRUE(fabric.ok());
  constexpr double kO = 3, kL = 7, kGap = 1 / 72e3;
  for (const double bytes : {72e3, 720e3}) {  // 1 and 10 µs: the processor holds it up, then the link
    constexpr int kMessages = 20;
    Graph graph;
    const std::uint32_t sender = graph.add_queue(), wire = graph.add_queue(), receiver = graph.add_queue();
    const auto pause = [&](double us, std::uint32_t queue, std::initializer_list<Id> needs) {
      Graph::Task task;
      task.us = us;
      task.queue = queue;
      return graph.add(task, needs);
    };
    Id last = Graph::kNone;
    for (int i = 0; i < kMessages; ++i) {
      Graph::Task message = task_of(*fabric, "gpu0", "gpu1", bytes);
      message.queue = wire;
      const Id sent = graph.add(message, {pause(kO, sender, {})});
      last = pause(kO, receiver, {pause(kL, Graph::kNone, {sent})});
    }
    const double expected = kO + (kMessages - 1) * std::max(kO, bytes * kGap) + bytes * kGap + kL + kO;
    EXPECT_NEAR(play(graph, *fabric)->ends[last], expected, 1e-6 * expected);
  }
}

TEST(Play, MulticastLeavesOnceAndArrivesEverywhere) {
  const machine::Machine machine = machine::known_machine("mist", "").value().machine;
  const auto fabric = Fabric::create(machine, 4, 1000);
  ASSERT_TRUE(fabric.ok());
  const int gpu = fabric->network().index("gpu0");
  Graph graph;
  Graph::Task task;
  task.from = fabric->place(0, gpu);
  task.bytes = 125e6;
  graph.add_multicast(task, {fabric->place(1, gpu), fabric->place(2, gpu), fabric->place(3, gpu)});
  const auto played = play(graph, *fabric);
  ASSERT_TRUE(played.ok()) << played.status().what();
  EXPECT_NEAR(played->us, 10000, 1e-3) << "12.5 GB/s, once";
}

TEST(Play, SaysWhichTaskNeverEnds) {
  machine::Machine machine = machine::known_machine("mist", "").value().machine;
  for (machine::Link& link : machine.links)
    if (link.from == "gpu0" && link.to == "gpu1") link.both_gbps->value = 1e-300;
  const auto fabric = Fabric::create(machine, 1, 1000);
  ASSERT_TRUE(fabric.ok());
  Graph graph;
  graph.add(task_of(*fabric, "gpu0", "gpu1", 1e9));
  const auto played = play(graph, *fabric);
  EXPECT_TRUE(!played.ok() || played->us > 1e100) << "and not 0";
}

TEST(Play, NamesPlacesThatNoLinksJoin) {
  machine::Machine machine = machine::known_machine("mist", "").value().machine;
  std::erase_if(machine.links, [](const machine::Link& link) { return link.kind == machine::LinkKind::socket; });
  const auto fabric = Fabric::create(machine, 1, 1000);
  ASSERT_TRUE(fabric.ok());
  Graph graph;
  graph.add(task_of(*fabric, "gpu0", "gpu2", 1));
  const auto played = play(graph, *fabric);
  ASSERT_FALSE(played.ok());
  EXPECT_EQ(played.status().code(), Code::unsupported);
  EXPECT_NE(played.status().what().find("no links lead from gpu0 to gpu2"), std::string::npos);
}

/// On every random case: what was to be moved was carried, no resource more than it can, and nothing idles for no
/// reason: the whole takes no longer than the sum of all parts alone.
TEST(Play, KeepsBytesAndWork) {
  const machine::Machine machine = machine::known_machine("mist", "").value().machine;
  const auto fabric = Fabric::create(machine, 1, 1000);
  ASSERT_TRUE(fabric.ok());
  const char* const devices[] = {"gpu0", "gpu1", "gpu2", "gpu3", "host0", "host1"};
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 generator(seed);
    const auto random = [&] { return static_cast<unsigned>(generator()); };
    Graph graph;
    double alone = 0, carried = 0;
    for (int i = 0; i < 60; ++i) {
      const unsigned from = random() % 6, to = (from + 1 + random() % 5) % 6;
      Graph::Task task = task_of(*fabric, devices[from], devices[to], 1e5 + random() % 1000000, random() % 20);
      std::vector<Id> needs;
      for (int k = 0; k < 2 && i > 0; ++k) needs.push_back(static_cast<Id>(random() % static_cast<unsigned>(i)));
      if (random() % 3 == 0) needs.clear();
      std::vector<path::Usage> uses;
      ASSERT_TRUE(fabric->add_way(task.from, task.to, task.method, 1, uses));
      double narrowest = kNever;
      for (const path::Usage& use : uses) {
        narrowest = std::min(narrowest, fabric->capacity()[static_cast<std::size_t>(use.resource)] / use.weight);
        carried += use.weight * task.bytes;
      }
      alone += task.us + task.bytes / narrowest;
      graph.add(task, needs);
    }
    const auto played = play(graph, *fabric);
    ASSERT_TRUE(played.ok());
    double bytes = 0, critical = 0;
    for (const Load& load : played->loads) {
      bytes += load.bytes;
      EXPECT_LE(load.busy, 1 + 1e-9) << load.resource;
    }
    EXPECT_NEAR(bytes, carried, 1e-6 * carried);
    EXPECT_LE(played->us, alone);
    for (const Critical& each : played->critical) critical += each.us;
    EXPECT_NEAR(critical, played->us, 1e-6 * played->us);
  }
}

}  // namespace
}  // namespace sennit::sim
