#include "shim/mpi/call/message_size.h"

#include "../translation.h"

namespace sennit::shim::mpi {
namespace {

using M = MadeUpMpi;

constexpr int kInterRoot = -4;  // of MadeUpMpi

/// Rank 1 of 4, as Translate.
class MessageSize : public Translate {
 protected:
  static Elements all(const int* counts) {
    Elements made = run(0, M::kFloat, 4);
    made.counts = {counts, false};
    return made;
  }
  static Elements placed(const int* counts, const int* places) {
    Elements made = all(counts);
    made.places = {places, false};
    return made;
  }
  /// That of sennit's, too.
  static void expect(const Call& call, std::uint64_t bytes) {
    EXPECT_EQ(message_size(call), bytes);
    EXPECT_EQ(work(call).bytes, bytes);
  }
};

TEST_F(MessageSize, AReductionIsAsLongAsWhatIsReduced) {
  for (const Family family : {Family::Allreduce, Family::Scan, Family::Exscan}) {
    Call made = call(family);
    made.add(in(a_, run(10, M::kFloat)));
    made.add(out(b_, run(10, M::kFloat)));
    expect(made, 40);
  }
}

TEST_F(MessageSize, ACallInPlaceIsAsLongAsOneThatIsNot) {
  Call reduced = call(Family::Allreduce);
  reduced.add(in(M::in_place(), run(10, M::kFloat)));
  reduced.add(out(b_, run(10, M::kFloat)));
  expect(reduced, 40);
  Call gathered = call(Family::Allgather);
  gathered.add(in(M::in_place(), run(0, kNoHandle)));
  gathered.add(out(b_, run(3, M::kFloat, 4)));
  expect(gathered, 12);
}

TEST_F(MessageSize, AResultThatIsElsewhereDoesNotCount) {
  Call made = call(Family::Reduce, 0);
  made.add(in(a_, run(10, M::kFloat)));
  made.add(out(b_, run(10, M::kFloat), false));
  expect(made, 40);
}

TEST_F(MessageSize, OfWhatAllRanksGetAMessageIsOneRanks) {
  Call blocks = call(Family::Reduce_scatter_block);
  blocks.add(in(a_, run(3, M::kFloat, 4)));
  blocks.add(out(b_, run(3, M::kFloat)));
  expect(blocks, 12);
  Call exchanged = call(Family::Alltoall);
  exchanged.add(in(a_, run(3, M::kFloat, 4)));
  exchanged.add(out(b_, run(3, M::kFloat, 4)));
  expect(exchanged, 12);
}

TEST_F(MessageSize, PartsOfDifferentLengthsAreOneMessage) {
  const int equal[] = {3, 3, 3, 3}, counts[] = {1, 2, 3, 4};
  Call alike = call(Family::Reduce_scatter);
  alike.add(in(a_, all(equal)));
  alike.add(out(b_, run(3, M::kFloat)));
  expect(alike, 12);
  Call made = call(Family::Reduce_scatter);
  made.add(in(a_, all(counts)));
  made.add(out(b_, run(2, M::kFloat)));
  expect(made, 40);
}

TEST_F(MessageSize, OfDifferentLengthsARankHasTheSumOfMoreOfThem) {
  const int sent[] = {1, 2, 3, 4}, received[] = {2, 2, 2, 2}, places[] = {0, 8, 16, 24};
  Call made = call(Family::Alltoallv);
  made.add(in(a_, placed(sent, places)));
  made.add(out(b_, placed(received, places)));
  expect(made, 40);
  // Of all ranks as long, though each gives another part.
  Call gathered = call(Family::Allgatherv);
  gathered.add(in(a_, run(2, M::kFloat)));
  gathered.add(out(b_, placed(sent, places)));
  EXPECT_EQ(message_size(gathered), 40);
}

TEST_F(MessageSize, DataAloneCounts) {
  Call made = call(Family::Send);
  made.add(in(a_, run(3, M::kGaps)));
  Shape shape;
  ASSERT_EQ(mpi_.shape(M::kGaps, shape), 0);
  ASSERT_LT(shape.size, shape.extent);
  EXPECT_EQ(message_size(made), 3 * shape.size);
}

TEST_F(MessageSize, RoomForBytesIsNoMessage) {
  Call made = call(Family::Pack);
  made.add(in(a_, run(3, M::kFloat)));
  made.add(out(b_, run(256, kNoHandle)));
  EXPECT_EQ(message_size(made), 12);
}

TEST_F(MessageSize, BetweenGroupsTheRootsOtherBufferMayBeAnything) {
  mpi_.comm = {0, 2, true, 3};
  Call made = call(Family::Gather, kInterRoot);
  made.add(in(a_, run(50, M::kFloat)));
  made.add(out(b_, run(4, M::kFloat, 3)));
  EXPECT_EQ(message_size(made), 16);
}

}  // namespace
}  // namespace sennit::shim::mpi
