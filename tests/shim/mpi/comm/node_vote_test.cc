// Nodes of two ranks each; words travel when the test lets them.
#include "shim/mpi/comm/node_vote.h"

#include <array>
#include <deque>
#include <random>
#include <thread>

#include <gtest/gtest.h>

namespace sennit::shim::mpi {
namespace {

constexpr std::uint64_t kKey = 7;

struct CouncilNode {
  std::array<comm::Slot, 2> slots{};
  std::vector<CollectiveVote> ranks;
  std::unique_ptr<NodeVote> node_vote;
  CouncilNode() {
    for (int rank = 0; rank < 2; ++rank) ranks.emplace_back(std::vector<comm::Slot*>{&slots[0], &slots[1]}, rank);
  }
  std::uint64_t vote_yes(std::uint32_t signature = 0) {
    ranks[1].vote_yes(signature);
    const auto number = ranks[0].vote_yes(signature);
    node_vote->vote_yes(kKey, number, signature);
    return number;
  }
  void vote_no() {
    ranks[0].vote_no();
    ranks[1].vote_no();
  }
};

/// What is told is kept in order, between every two apart.
struct CouncilWorld {
  struct Told {
    int from, to;
    comm::Bytes word;
  };
  std::vector<std::unique_ptr<CouncilNode>> nodes;
  std::deque<Told> told;
  explicit CouncilWorld(int count) {
    for (int i = 0; i < count; ++i) {
      nodes.push_back(std::make_unique<CouncilNode>());
      nodes.back()->node_vote = std::make_unique<NodeVote>([this, i](int to, comm::Bytes word) {
        told.push_back({i, to, std::move(word)});
      });
      std::vector<int> others;
      for (int other = 0; other < count; ++other)
        if (other != i) others.push_back(other);
      nodes.back()->node_vote->join(kKey, nodes.back()->ranks[0], others);
    }
  }
  CouncilNode& operator[](int i) { return *nodes[static_cast<std::size_t>(i)]; }
  std::optional<bool> outcome(int i, std::uint64_t number) {
    return (*this)[i].node_vote->outcome(kKey, number, now);
  }
  void deliver() {
    while (!told.empty()) {
      const Told one = told.front();
      told.pop_front();
      (*this)[one.to].node_vote->on_message(one.from, one.word);
    }
  }
  NodeVote::Clock::time_point now = NodeVote::Clock::now();
  void later() { now += std::chrono::seconds(1); }
};

TEST(NodeVote, AllNodesMustOffer) {
  CouncilWorld nodes(3);
  const auto number = nodes[0].vote_yes();
  nodes[1].vote_yes();
  nodes.deliver();
  EXPECT_EQ(nodes.outcome(0, number), std::nullopt);
  nodes[2].vote_yes();
  EXPECT_EQ(nodes.outcome(0, number), std::nullopt) << "its word has not come yet";
  nodes.deliver();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(nodes.outcome(i, number), true) << i;
}

TEST(NodeVote, NodesThatGiveOtherThingsDoNotDoIt) {
  CouncilWorld nodes(3);
  const auto number = nodes[0].vote_yes(5);
  nodes[1].vote_yes(6);
  nodes[2].vote_yes(5);
  nodes.deliver();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(nodes.outcome(i, number), false) << i;
  for (int i = 0; i < 3; ++i) nodes[i].vote_yes(7);
  nodes.deliver();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(nodes.outcome(i, number + 1), true) << i;
}

TEST(NodeVote, ANodeThatPassedTellsWhenItIsAsked) {
  CouncilWorld nodes(3);
  nodes[2].vote_no();
  const auto number = nodes[0].vote_yes();
  nodes[1].vote_yes();
  nodes.deliver();
  EXPECT_EQ(nodes.outcome(0, number), std::nullopt);
  EXPECT_TRUE(nodes.told.empty()) << "nobody is asked at once";
  nodes.later();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(nodes.outcome(i, number), std::nullopt);
  nodes.deliver();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(nodes.outcome(i, number), false) << i;
  // The refusal was of that call alone.
  for (int i = 0; i < 3; ++i) nodes[i].vote_yes();
  nodes.deliver();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(nodes.outcome(i, number + 1), true) << i;
}

TEST(NodeVote, WhoHasNotComeYetIsAskedAgain) {
  CouncilWorld nodes(2);
  const auto number = nodes[0].vote_yes();
  for (int i = 0; i < 5; ++i) {
    nodes.later();
    EXPECT_EQ(nodes.outcome(0, number), std::nullopt);
    nodes.deliver();
    EXPECT_EQ(nodes.outcome(0, number), std::nullopt);
  }
  nodes[1].ranks[0].vote_no();
  nodes.later();
  (void)nodes.outcome(0, number);
  nodes.deliver();
  EXPECT_EQ(nodes.outcome(0, number), std::nullopt) << "one of its ranks is still to come";
  nodes[1].ranks[1].vote_yes();
  nodes.later();
  (void)nodes.outcome(0, number);
  nodes.deliver();
  EXPECT_EQ(nodes.outcome(0, number), false);
}

TEST(NodeVote, AnOfferOfALaterCallSaysThatThisOneWasPassed) {
  CouncilWorld nodes(2);
  const auto number = nodes[0].vote_yes();
  nodes[1].vote_no();
  nodes[1].vote_yes();
  nodes.deliver();
  EXPECT_EQ(nodes.outcome(0, number), false);
  EXPECT_EQ(nodes.outcome(1, number + 1), std::nullopt);
  nodes[0].vote_yes();
  nodes.deliver();
  EXPECT_EQ(nodes.outcome(0, number + 1), true);
  EXPECT_EQ(nodes.outcome(1, number + 1), true);
}

TEST(NodeVote, WordsMayComeBeforeItsNodeHasJoined) {
  CouncilWorld nodes(2);
  nodes[1].node_vote->leave(kKey);
  const auto number = nodes[0].vote_yes();
  nodes.deliver();
  nodes.later();
  (void)nodes.outcome(0, number);
  nodes.deliver();
  EXPECT_EQ(nodes.outcome(0, number), std::nullopt) << "who does not know the communicator yet says nothing";
  nodes[1].node_vote->join(kKey, nodes[1].ranks[0], {0});
  EXPECT_EQ(nodes.outcome(1, nodes[1].vote_yes()), true);
}

TEST(NodeVote, WordsOfAnotherKindAreIgnored) {
  CouncilWorld nodes(2);
  nodes[0].node_vote->on_message(1, {});
  nodes[0].node_vote->on_message(1, comm::Bytes(5));
  nodes[0].node_vote->on_message(1, comm::Writer().number(99).number(kKey).number(1).number(1).take());
  EXPECT_EQ(nodes.outcome(0, nodes[0].vote_yes()), std::nullopt);
}

// Many calls on nodes that are threads, each taking part or not by chance: all come to the same answer.
TEST(NodeVote, NodesAlwaysAgree) {
  constexpr int kNodes = 3, kCalls = 400;
  struct Box {
    std::mutex mutex;
    std::deque<std::pair<int, comm::Bytes>> words;
  };
  std::array<Box, kNodes> boxes;
  std::array<CouncilNode, kNodes> nodes;
  std::array<std::array<int, kCalls>, kNodes> answers{};
  std::atomic<int> busy{kNodes};
  for (int i = 0; i < kNodes; ++i) {
    nodes[std::size_t(i)].node_vote = std::make_unique<NodeVote>([&boxes, i](int to, comm::Bytes word) {
      const std::lock_guard lock(boxes[std::size_t(to)].mutex);
      boxes[std::size_t(to)].words.emplace_back(i, std::move(word));
    });
    nodes[std::size_t(i)].node_vote->join(kKey, nodes[std::size_t(i)].ranks[0], {(i + 1) % kNodes, (i + 2) % kNodes});
  }
  std::vector<std::jthread> threads;
  for (int i = 0; i < kNodes; ++i) {
    threads.emplace_back([&, i] {  // the agent's
      Box& box = boxes[std::size_t(i)];
      for (;;) {
        std::deque<std::pair<int, comm::Bytes>> words;
        {
          const std::lock_guard lock(box.mutex);
          words.swap(box.words);
        }
        for (const auto& [from, word] : words) nodes[std::size_t(i)].node_vote->on_message(from, word);
        if (words.empty() && busy == 0) return;
        std::this_thread::yield();
      }
    });
    threads.emplace_back([&, i] {
      CouncilNode& node = nodes[std::size_t(i)];
      std::minstd_rand random(static_cast<unsigned>(i));
      for (int call = 0; call < kCalls; ++call) {
        if (random() % 4 == 0) {
          node.vote_no();
          continue;
        }
        const auto number = node.vote_yes();
        std::optional<bool> answer;
        while (!(answer = node.node_vote->outcome(kKey, number))) std::this_thread::yield();
        answers[std::size_t(i)][std::size_t(call)] = *answer ? 1 : -1;
      }
      --busy;
    });
  }
  threads.clear();
  int together = 0;
  for (std::size_t call = 0; call < kCalls; ++call) {
    int offered = 0, agreed = 0;
    for (const auto& of : answers) {
      offered += of[call] != 0 ? 1 : 0;
      agreed += of[call] > 0 ? 1 : 0;
    }
    EXPECT_EQ(agreed, offered == kNodes ? kNodes : 0) << "call " << call;
    together += agreed == kNodes ? 1 : 0;
  }
  EXPECT_GT(together, kCalls / 10);
}

TEST(NodeVote, AnswersThatComeAfterItLeftLeaveNothing) {
  std::vector<comm::Bytes> words;
  NodeVote asking([&](int, comm::Bytes word) { words.push_back(std::move(word)); });
  std::vector<comm::Bytes> answers;
  NodeVote asked([&](int, comm::Bytes word) { answers.push_back(std::move(word)); });
  CouncilNode node, other;
  asking.join(kKey, node.ranks[0], {1});
  asked.join(kKey, other.ranks[0], {0});
  node.ranks[1].vote_yes();
  const auto number = node.ranks[0].vote_yes();
  other.vote_no();
  asking.vote_yes(kKey, number);
  const auto later = NodeVote::Clock::now() + std::chrono::seconds(10);
  EXPECT_EQ(asking.outcome(kKey, number, later), std::nullopt);  // asks
  for (const auto& word : std::exchange(words, {})) asked.on_message(0, word);
  ASSERT_EQ(answers.size(), 1u);
  asking.on_message(1, answers.front());
  EXPECT_EQ(asking.outcome(kKey, number, later), false);
  asking.leave(kKey);
  asking.on_message(1, answers.front());
  EXPECT_EQ(asking.joined(), 0u);
  asked.leave_all();
  EXPECT_EQ(asked.joined(), 0u);
}

}  // namespace
}  // namespace sennit::shim::mpi
