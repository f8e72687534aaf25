#include "shim/mpi/call/frame.h"

#include <gtest/gtest.h>

#include <vector>

#include "../made_up_mpi.h"

namespace sennit::shim::mpi {
namespace {

using M = MadeUpMpi;

/// Arguments that a made-up function of MPI was called with.
std::vector<Bits> heard;

template <class... A>
int listen(A... a) {
  heard = {to_bits(a)...};
  return 7;
}

template <class... A>
Frame frame_of(Entry entry, A... a) {
  Frame frame;
  frame.of = &description_of(entry);
  frame.bits = {to_bits(a)...};
  frame.function = reinterpret_cast<void*>(&listen<A...>);
  frame.caller = &call_with_bits<A...>;
  frame.pass = [](const Frame& passed) { return passed.call(); };
  return frame;
}

void* handle(Handle of) {
  return from_handle<void*>(of);
}

TEST(Descriptions, AreOfArgumentsThatThereAre) {
  for (const Description& of : kDescriptions) {
    EXPECT_EQ(of.buffers == 0, of.kind >= Kind::own || of.is_without_memory()) << of.name;
    EXPECT_EQ(&description_of(entry_of(of)), &of);
    for (std::size_t i = 0; i < of.buffers; ++i) {
      const BufferOf& buffer = of.buffer[i];
      EXPECT_NE(buffer.address, kAbsent) << of.name;
      EXPECT_EQ(buffer.elements.type == kAbsent, buffer.elements.layout == Layout::bytes) << of.name;
      EXPECT_EQ(buffer.elements.count == kAbsent, buffer.elements.layout == Layout::one) << of.name;
      EXPECT_EQ(buffer.elements.places != kAbsent, buffer.elements.layout >= Layout::placed) << of.name;
      if (buffer.where != Where::everywhere) {
        EXPECT_NE(of.root, kAbsent) << of.name;
      }
    }
    if (of.large) {
      EXPECT_EQ(description_of(of.small).name + std::string("_c"), of.name);
      EXPECT_FALSE(description_of(of.small).large) << of.name;
    }
    if (of.takes_turns()) {
      EXPECT_NE(of.request, kAbsent) << of.name;
    }
  }
  EXPECT_EQ(description_of(Entry::Ssend).nonblocking, Entry::Issend);
  EXPECT_EQ(description_of(Entry::Isend_c).synchronous, Entry::Issend_c);
  EXPECT_TRUE(description_of(Entry::File_write_all).comes_first());
  EXPECT_FALSE(description_of(Entry::File_write).comes_first());
}

TEST(Descriptions, SayWhatFunctionsWithoutBuffersEndAndMake) {
  const Description& some = description_of(Entry::Waitsome);
  EXPECT_EQ(some.kind, Kind::requests);
  EXPECT_EQ(std::vector({some.request_count, some.requests, some.completed, some.indices, some.statuses}),
            (std::vector<Argument>{0, 1, 2, 3, 4}));
  EXPECT_EQ(description_of(Entry::Test).flag, 1);
  EXPECT_TRUE(description_of(Entry::Parrived).request_is_value);
  EXPECT_FALSE(description_of(Entry::Wait).request_is_value);
  EXPECT_EQ(description_of(Entry::Comm_free).freed, 0);
  EXPECT_EQ(description_of(Entry::Comm_free).comm, kAbsent);
  EXPECT_EQ(description_of(Entry::Comm_idup).made, 1);
  EXPECT_EQ(description_of(Entry::Win_create).made, 5);
  EXPECT_EQ(description_of(Entry::Ibarrier).form, Form::nonblocking);
  EXPECT_EQ(description_of(Entry::Barrier_init).form, Form::persistent);
}

TEST(Frame, DescribesACallWithBlocksAtPlaces) {
  const M mpi;
  float sent[5] = {}, received[40] = {};
  const int counts[4] = {5, 6, 7, 8}, places[4] = {30, 20, 10, 0};
  const Frame frame = frame_of(Entry::Allgatherv, sent, 5, handle(M::kFloat), received, counts, places,
                               handle(M::kFloat), handle(M::kComm));
  const Call call = frame.describe(mpi, M::kComm);
  ASSERT_EQ(call.count, 2);
  EXPECT_EQ(call.parts[0].address, sent);
  EXPECT_EQ(call.parts[0].elements.blocks, 1);
  EXPECT_EQ(call.parts[0].count(), 5);
  EXPECT_EQ(call.parts[1].access, Access::out);
  EXPECT_EQ(call.parts[1].elements.blocks, 4);
  EXPECT_EQ(call.parts[1].count(), 26);
  EXPECT_EQ(call.parts[1].elements.places[1], 20);
  EXPECT_EQ(call.root, -1);
}

TEST(Frame, KnowsWhatIsSignificantAtARoot) {
  M mpi;
  float sent[4] = {}, received[16] = {};
  const Frame frame =
      frame_of(Entry::Gather, sent, 4, handle(M::kFloat), received, 4, handle(M::kFloat), 2, handle(M::kComm));
  EXPECT_FALSE(frame.describe(mpi, M::kComm).parts[1].significant);
  mpi.comm.rank = 2;
  EXPECT_TRUE(frame.describe(mpi, M::kComm).parts[1].significant);
  EXPECT_EQ(frame.describe(mpi, M::kComm).root, 2);
}

TEST(Frame, APartMayBeAnotherOneInPlace) {
  const M mpi;
  float received[16] = {};
  const auto elements = [&](const void* sent) {
    return frame_of(Entry::Reduce_scatter_block, sent, received, 4, handle(M::kFloat), handle(M::kSum),
                    handle(M::kComm))
        .describe(mpi, M::kComm)
        .parts[1]
        .count();
  };
  EXPECT_EQ(elements(received), 4);
  EXPECT_EQ(elements(M::in_place()), 16);
}

TEST(Frame, CallsWithOtherMemoryTypesAndRequest) {
  char given[8] = {}, other[8] = {};
  void *request = nullptr, *mine = nullptr;
  const Frame frame =
      frame_of(Entry::Irecv, static_cast<void*>(given), 8, handle(M::kByte), -1, 3, handle(M::kComm), &request);
  StandIns memory;
  memory.at[0] = other;
  EXPECT_EQ(frame.call(memory, &mine), 7);
  EXPECT_EQ(heard, (std::vector<Bits>{to_bits(other), 8, M::kByte, to_bits(-1), 3, M::kComm, to_bits(&mine)}));
  memory.types[0] = M::kGaps;
  (void)frame.call(memory, &mine);
  EXPECT_EQ(heard[2], M::kGaps);
}

TEST(Frame, ATypeOfBothBuffersStays) {
  float given[8] = {}, other[8] = {};
  const Frame frame =
      frame_of(Entry::Allreduce, given, given, 8, handle(M::kFloat), handle(M::kSum), handle(M::kComm));
  StandIns memory;
  memory.at = {other, other};
  memory.types[0] = M::kGaps;
  (void)frame.call(memory, nullptr);
  EXPECT_EQ(heard, (std::vector<Bits>{to_bits(other), to_bits(other), 8, M::kFloat, M::kSum, M::kComm}));
}

TEST(Frame, HandlesMayBeInts) {
  char given[8] = {};
  Frame frame = frame_of(Entry::Send, given, 8, static_cast<int>(0xcc000001), 1, 3, static_cast<int>(0x84000000));
  frame.handles_are_pointers = false;
  EXPECT_EQ(frame.handle(frame.of->comm), 0x84000000u);
  const Call call = frame.describe(M(), frame.handle(frame.of->comm));
  EXPECT_EQ(call.parts[0].elements.type, 0xcc000001u);
  (void)frame.send(nullptr, given, 2, 0x8c000005, nullptr);
  EXPECT_EQ(static_cast<int>(heard[2]), static_cast<int>(0x8c000005));
  EXPECT_EQ(heard[1], 2u);
}

TEST(Frame, VisitsEachArrayThatTheProgramHasGiven) {
  const M mpi;
  float sent[8] = {}, received[64] = {};
  const std::int64_t counts[4] = {1, 2, 3, 4};
  struct Array {
    int argument;
    std::size_t bytes;
    bool known;
    int count;
    bool operator==(const Array&) const = default;
  };
  const auto arrays = [&](const Frame& frame) {
    std::vector<Array> found;
    const Call call(mpi, frame.of->family, frame.of->form, M::kComm);
    frame.visit_arrays(call, [&](Argument i, std::size_t bytes, bool known, int count) {
      found.push_back({i, bytes, known, count});
    });
    return found;
  };
  void* request = nullptr;
  EXPECT_EQ(arrays(frame_of(Entry::Ireduce_scatter_c, sent, received, counts, handle(M::kFloat), handle(M::kSum),
                            handle(M::kComm), &request)),
            (std::vector<Array>{{2, 8, true, 4}}));
  EXPECT_EQ(arrays(frame_of(Entry::Igatherv, sent, 8, handle(M::kFloat), received, counts, counts, handle(M::kFloat),
                            3, handle(M::kComm), &request)),
            (std::vector<Array>{{4, 4, false, 4}, {5, 4, false, 4}}))
      << "a rank that is not the root has given none";
  EXPECT_EQ(
      arrays(frame_of(Entry::Ialltoallw, M::in_place(), counts, counts, counts, received, counts, counts, counts,
                      handle(M::kComm), &request)),
      (std::vector<Array>{
          {1, 4, false, 4}, {2, 4, false, 4}, {3, 8, false, 4}, {5, 4, true, 4}, {6, 4, true, 4}, {7, 8, true, 4}}));
}

}  // namespace
}  // namespace sennit::shim::mpi
