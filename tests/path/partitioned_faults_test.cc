// Partitioned messages that go wrong: cuts that do not match, misuse, ends that wait for ever or lose their peer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "partitioned_parties.h"

namespace sennit::path::partitioned_messages {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Partitioned, DifferentNumbersOfBytesAreToldToBothEnds) {
  between([](Party& party) {
    const PartitionCut cut = party.rank() == 0 ? PartitionCut{18, 5} : PartitionCut{5, 17};
    std::shared_ptr<PartitionedEnd> end;
    if (party.rank() == 0)
      end = send_end(party, cut);
    else
      end = receive_end(party, cut);
    (void)end->start();
    const Status status = end->wait();
    EXPECT_EQ(status.code(), Code::mismatch);
    EXPECT_THAT(status.text(), AllOf(HasSubstr("18 × 5 B (90 B)"), HasSubstr("5 × 17 B (85 B)"), HasSubstr("tag 7")));
    EXPECT_EQ(end->start().code(), Code::mismatch);
    EXPECT_EQ(end->test().status().code(), Code::mismatch);
    EXPECT_TRUE(end->may_close().ok());
    party.service.close(end);
  });
}

TEST(Partitioned, MisuseMovesNothingAndIsNamedAtTheEnd) {
  const PartitionCut cut{4, 100};
  between([&](Party& party) {
    if (party.rank() == 1) {
      const auto receive = receive_end(party, cut);
      for (unsigned start = 1; start <= 2; ++start) {
        must(receive->start());
        must(receive->wait());
        EXPECT_TRUE(holds(party, 0, 400, start));
        party.meet();
      }
      EXPECT_EQ(receive->arrived({2, 5}).status().code(), Code::invalid_argument);
      party.service.close(receive);
      return;
    }
    const auto send = send_end(party, cut);
    EXPECT_THAT(ready(*send, 0).text(), HasSubstr("before start 1"));
    write(party, 0, 400, 1);
    must(send->start());
    EXPECT_THAT(send->start().text(), HasSubstr("start 1 is not over"));
    EXPECT_THAT(ready(*send, 4).text(), AllOf(HasSubstr("partitions 4 to 4"), HasSubstr("Partitions are 0 to 3")));
    must(ready(*send, 2));
    const PartitionRange both[] = {{0, 2}, {2, 3}};
    EXPECT_THAT(send->ready(both, nullptr).text(), HasSubstr("partition 2 is ready twice in start 1"));
    const PartitionRange again[] = {{0, 2}, {1, 2}};
    EXPECT_THAT(send->ready(again, nullptr).text(), HasSubstr("partition 1 is ready twice"));
    EXPECT_EQ(send->may_close().code(), Code::invalid_argument);
    must(send->ready({both, 1}, nullptr));  // nothing of these calls was taken
    must(ready(*send, 3));
    EXPECT_THAT(send->wait().text(), HasSubstr("before start 1")) << "the first misuse is told";
    must(send->wait());
    party.meet();
    write(party, 0, 400, 2);
    must(send->start());
    const PartitionRange all{0, 4};
    must(send->ready({&all, 1}, nullptr));
    must(send->wait());
    party.meet();
    party.service.close(send);
  });
}

TEST(Partitioned, AWaitThatPassesItsLimitNamesWhatIsMissing) {
  const PartitionCut cut{20, 10};
  between(
      [&](Party& party) {
        if (party.rank() == 0) {
          const auto alone = send_end(party, cut, 99);
          must(alone->start());
          const PartitionRange all{0, 20};
          must(alone->ready({&all, 1}, nullptr));
          const Status status = alone->wait();
          EXPECT_EQ(status.code(), Code::timed_out);
          EXPECT_THAT(status.text(),
                      AllOf(HasSubstr("rank 1 has made no end that receives it"), HasSubstr("tag 99")));
          const auto send = send_end(party, cut);
          must(send->start());
          must(ready(*send, 3));
          EXPECT_THAT(send->wait().text(),
                      HasSubstr("partition 0, 1, 2, 4, 5, 6, 7, 8 and 11 more was not made ready"));
          const PartitionRange rest[] = {{0, 3}, {4, 20}};
          must(send->ready(rest, nullptr));
          EXPECT_THAT(send->wait().text(), HasSubstr("rank 1 has not started its end"));
          party.meet();
          must(send->wait());
          return;
        }
        const auto receive = receive_end(party, cut);
        party.meet();
        must(receive->start());
        must(receive->wait());
      },
      std::chrono::milliseconds(300));
}

TEST(Partitioned, AnEndWhosePeerIsFreedFails) {
  const PartitionCut cut{1, 10};
  between([&](Party& party) {
    const bool sends = party.rank() == 0;
    std::shared_ptr<PartitionedEnd> end;
    if (sends)
      end = send_end(party, cut);
    else
      end = receive_end(party, cut);
    must(end->start());
    if (sends) must(ready(static_cast<PartitionedSend&>(*end), 0));
    must(end->wait());
    if (sends) party.service.close(end);
    party.meet();
    if (sends) return;
    must(end->start());
    const Status status = end->wait();
    EXPECT_EQ(status.code(), Code::mismatch);
    EXPECT_THAT(status.text(), HasSubstr("rank 0 has freed its end"));
    EXPECT_TRUE(end->may_close().ok());
    party.service.close(end);
  });
}

}  // namespace
}  // namespace sennit::path::partitioned_messages
