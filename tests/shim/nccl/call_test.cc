#include "shim/nccl/call.h"

#include <gtest/gtest.h>

namespace sennit::shim::nccl {
namespace {

// What the made-up NCCL was called with.
Call heard;

Functions made_up() {
  Functions nccl;
  nccl.all_reduce = [](const void* in, void* out, std::size_t count, int type, int op, Comm comm, Stream stream) {
    heard = {Entry::all_reduce, in, out, count, type, op, 0, comm, stream};
    return kSuccess;
  };
  nccl.reduce = [](const void* in, void* out, std::size_t count, int type, int op, int root, Comm comm,
                   Stream stream) {
    heard = {Entry::reduce, in, out, count, type, op, root, comm, stream};
    return kInvalidUsage;
  };
  nccl.bcast = [](void* buffer, std::size_t count, int type, int root, Comm comm, Stream stream) {
    heard = {Entry::bcast, nullptr, buffer, count, type, 0, root, comm, stream};
    return kSuccess;
  };
  nccl.send = [](const void* in, std::size_t count, int type, int peer, Comm comm, Stream stream) {
    heard = {Entry::send, in, nullptr, count, type, 0, peer, comm, stream};
    return kSuccess;
  };
  nccl.recv = [](void* out, std::size_t count, int type, int peer, Comm comm, Stream stream) {
    heard = {Entry::recv, nullptr, out, count, type, 0, peer, comm, stream};
    return kSuccess;
  };
  return nccl;
}

TEST(Call, IsPassedOnAsItIs) {
  char in = 0, out = 0;
  auto* const comm = reinterpret_cast<Comm>(&in);
  auto* const stream = reinterpret_cast<Stream>(&out);
  const Functions nccl = made_up();
  for (const Call& call : {Call{Entry::all_reduce, &in, &out, 5, 7, 2, 0, comm, stream},
                           Call{Entry::bcast, nullptr, &out, 4, 1, 0, 3, comm, stream},
                           Call{Entry::send, &in, nullptr, 3, 2, 0, 1, comm, stream},
                           Call{Entry::recv, nullptr, &out, 2, 3, 0, 2, comm, stream}}) {
    EXPECT_EQ(call_nccl(nccl, call), kSuccess);
    EXPECT_EQ(heard, call) << name_of(call.entry);
  }
  EXPECT_EQ(call_nccl(nccl, {Entry::reduce, &in, &out, 1, 0, 0, 6, comm, stream}), kInvalidUsage) << "what NCCL says";
  EXPECT_EQ(heard.root, 6);
}

TEST(Call, BothNamesOfABroadcastAreOneOperation) {
  EXPECT_EQ(operation_of(Entry::bcast), coll::Operation::broadcast);
  EXPECT_EQ(operation_of(Entry::broadcast), coll::Operation::broadcast);
  EXPECT_EQ(operation_of(Entry::all_to_all), coll::Operation::all_to_all);
  EXPECT_EQ(name_of(Entry::bcast), name_of(Entry::broadcast));
  EXPECT_EQ(operation_of(Entry::send), operation_of(Entry::recv)) << "both ends must agree";
  EXPECT_EQ(switch_of(coll::Operation::sendrecv), "sendrecv");
  EXPECT_EQ(switch_of(coll::Operation::broadcast), name_of(Entry::bcast));
  EXPECT_EQ(switch_of(coll::Operation::all_to_all), name_of(Entry::all_to_all));
  EXPECT_EQ(switch_of(coll::Operation::allreduce), name_of(Entry::all_reduce));
}

TEST(Call, AreTakenWhereSwitchesNameOneAtLeast) {
  Switches switches;
  EXPECT_TRUE(takes_any(switches));
  switches.operations = {"bcast"};
  EXPECT_TRUE(takes_any(switches));
  switches.operations = {"sendrecv"};
  EXPECT_TRUE(takes_any(switches));
  switches.operations = std::vector<std::string>{};
  EXPECT_FALSE(takes_any(switches));
  switches.operations = {"scan"};
  EXPECT_FALSE(takes_any(switches)) << "MPI's alone";
}

TEST(Call, AlikeAreThoseThatDifferInBuffersAndStreams) {
  char one = 0, other = 0;
  auto* const comm = reinterpret_cast<Comm>(&one);
  const Call call{Entry::reduce, &one, &one, 5, 7, 2, 1, comm, nullptr};
  EXPECT_TRUE(call.is_alike({Entry::reduce, &other, &one, 5, 7, 2, 1, comm, reinterpret_cast<Stream>(&one)}));
  for (const Call& different : {Call{Entry::bcast, &one, &one, 5, 7, 2, 1, comm, nullptr},
                                Call{Entry::reduce, &one, &one, 6, 7, 2, 1, comm, nullptr},
                                Call{Entry::reduce, &one, &one, 5, 6, 2, 1, comm, nullptr},
                                Call{Entry::reduce, &one, &one, 5, 7, 3, 1, comm, nullptr},
                                Call{Entry::reduce, &one, &one, 5, 7, 2, 0, comm, nullptr},
                                Call{Entry::reduce, &one, &one, 5, 7, 2, 1, nullptr, nullptr}})
    EXPECT_FALSE(call.is_alike(different));
}

TEST(Call, MessagesAreNoCollectives) {
  EXPECT_TRUE((Call{Entry::send}).is_message() && (Call{Entry::recv}).is_message());
  EXPECT_FALSE((Call{Entry::gather}).is_message());
}

}  // namespace
}  // namespace sennit::shim::nccl
