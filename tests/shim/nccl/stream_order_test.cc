#include "shim/nccl/stream_order.h"

#include <gtest/gtest.h>

#include <thread>

#include "node/node.h"

namespace sennit::shim::nccl {
namespace {

/// The host's one lane stands for all streams.
struct Order : testing::Test {
  std::shared_ptr<device::Executor> executor = *device::open_host_executor();
  std::unique_ptr<node::Node> node = *node::Node::create(comm::alone(), executor, {});
  coll::Collectives collectives{*node};
  StreamOrder order{*executor, 0, collectives, &node->lane()};

  const Stream one = reinterpret_cast<Stream>(0x1000), other = reinterpret_cast<Stream>(0x2000);
};

TEST_F(Order, OursIsPutBehindNcclsOnAnotherStreamOnce) {
  EXPECT_FALSE(*order.order_ours_after(one)) << "it is the first";
  EXPECT_FALSE(*order.order_ours_after(other)) << "Collectives keeps the order of sennit's own";
  ASSERT_TRUE(order.order_nccl_after(one).ok());
  EXPECT_TRUE(*order.order_ours_after(other));
  EXPECT_FALSE(*order.order_ours_after(one)) << "NCCL's is before the one before";
  ASSERT_TRUE(order.order_nccl_after(one).ok());
  EXPECT_FALSE(*order.order_ours_after(one)) << "the stream keeps the order";
}

TEST_F(Order, BehindAForkBothAreTheLatest) {
  EXPECT_FALSE(*order.fork(one, other)) << "NCCL had none before";
  EXPECT_TRUE(*order.order_ours_after(one)) << "NCCL's was on the other stream";
  ASSERT_TRUE(order.order_nccl_after(other).ok());
  EXPECT_TRUE(*order.fork(one, other));
  EXPECT_FALSE(*order.order_ours_after(other));
}

TEST_F(Order, EachThreadsDefaultStreamIsAnotherOne) {
  const Stream per_thread = reinterpret_cast<Stream>(2);
  ASSERT_TRUE(order.order_nccl_after(per_thread).ok());
  std::thread([&] { EXPECT_TRUE(*order.order_ours_after(per_thread)); }).join();
}

}  // namespace
}  // namespace sennit::shim::nccl
