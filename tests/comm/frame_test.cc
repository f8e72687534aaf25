#include "comm/frame.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "soon.h"

namespace sennit::comm {
namespace {

struct Pair {
  UniqueFd a, b;
  Pair() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    a.reset(fds[0]);
    b.reset(fds[1]);
  }
};

Frame text_frame(Kind kind, const std::string& text) {
  return {kind, Writer().text(text).take(), {}};
}

void put_raw(int fd, const Bytes& bytes) {
  ASSERT_EQ(::send(fd, bytes.data(), bytes.size(), 0), ssize_t(bytes.size()));
}

TEST(Frame, ArrivesWhole) {
  Pair pair;
  ASSERT_TRUE(send_frame(pair.a.get(), text_frame(Kind::join, "hello"), soon()).ok());
  ASSERT_TRUE(send_frame(pair.a.get(), {Kind::goodbye, {}, {}}, soon()).ok());
  FrameReader reader;
  const Result<Frame> first = receive_frame(pair.b.get(), reader, soon());
  ASSERT_TRUE(first.ok()) << first.status().text();
  EXPECT_EQ(first->kind, Kind::join);
  EXPECT_EQ(Reader(first->body).text(), "hello");
  EXPECT_EQ(receive_frame(pair.b.get(), reader, soon())->kind, Kind::goodbye);
}

TEST(Frame, ArrivesByteByByte) {
  Pair pair;
  const Frame sent = text_frame(Kind::item, "piece by piece");
  Bytes bytes = encode_header(sent);
  bytes.insert(bytes.end(), sent.body.begin(), sent.body.end());
  FrameReader reader;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_FALSE(reader.next(pair.b.get())->has_value());
    put_raw(pair.a.get(), {bytes[i]});
  }
  EXPECT_EQ(Reader((*reader.next(pair.b.get()))->body).text(), "piece by piece");
}

TEST(Frame, LargerThanAnySocketBufferArrives) {
  Pair pair;
  const Bytes large(20 << 20, std::byte{7});
  std::thread sender([&] { EXPECT_TRUE(send_frame(pair.a.get(), {Kind::item, large, {}}, soon()).ok()); });
  FrameReader reader(kLargestItem);
  const Result<Frame> frame = receive_frame(pair.b.get(), reader, soon());
  sender.join();
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(frame->body, large);
}

TEST(Frame, CarriesAFileOfItsOwnFrameOnly) {
  Pair pair;
  UniqueFd file(::memfd_create("frame-test", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), 12345), 0);
  ASSERT_TRUE(send_frame(pair.a.get(), text_frame(Kind::fetch, "before"), soon()).ok());
  ASSERT_TRUE(send_frame(pair.a.get(), {Kind::file, {}, std::move(file)}, soon()).ok());
  ASSERT_TRUE(send_frame(pair.a.get(), text_frame(Kind::fetch, "after"), soon()).ok());
  FrameReader reader;
  EXPECT_FALSE(receive_frame(pair.b.get(), reader, soon())->file);
  const Result<Frame> with = receive_frame(pair.b.get(), reader, soon());
  ASSERT_TRUE(with->file);
  struct stat info {};
  ASSERT_EQ(::fstat(with->file.get(), &info), 0);
  EXPECT_EQ(info.st_size, 12345);
  EXPECT_NE(::fcntl(with->file.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_FALSE(receive_frame(pair.b.get(), reader, soon())->file);
}

TEST(Frame, IsRefusedWhenTooLargeBeforeAnythingIsAllocated) {
  Pair pair;
  put_raw(pair.a.get(), Writer().number(0x534e5401ull | 11ull << 32).number(1ull << 60).take());
  FrameReader reader;
  EXPECT_EQ(reader.next(pair.b.get()).status().code(), Code::corrupt);
}

TEST(Frame, OfAnotherVersionIsRefused) {
  Pair pair;
  put_raw(pair.a.get(), Writer().number((0x534e5400ull | (kWireVersion + 1)) | 11ull << 32).number(0).take());
  EXPECT_EQ(FrameReader().next(pair.b.get()).status().code(), Code::corrupt);
}

TEST(Frame, OfNoiseIsAnErrorNeverACrash) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    Pair pair;
    Bytes noise = encode_header({Kind(random() % 30), {}, {}});
    for (int flips = int(random() % 4); flips-- > 0;) noise[random() % noise.size()] ^= std::byte(1u << random() % 8);
    noise.resize(random() % (noise.size() + 1));
    if (!noise.empty()) put_raw(pair.a.get(), noise);
    pair.a.reset();
    FrameReader reader;
    for (int frames = 0;; ++frames) {
      const auto frame = reader.next(pair.b.get());
      if (!frame.ok()) break;
      ASSERT_TRUE(frame->has_value());
      ASSERT_LT(frames, 2);
    }
  }
}

TEST(Frame, SaysWhenTheOtherSideEndedOrIsSilent) {
  Pair pair;
  FrameReader reader;
  EXPECT_EQ(receive_frame(pair.b.get(), reader, Deadline::after(milliseconds(20))).status().code(), Code::timed_out);
  EXPECT_EQ(send_frame(pair.a.get(), {Kind::item, Bytes(8 << 20), {}}, Deadline::after(milliseconds(20))).code(),
            Code::timed_out);
  pair.b.reset();
  EXPECT_EQ(send_frame(pair.a.get(), {Kind::item, Bytes(8), {}}, soon()).code(), Code::peer_lost);
}

}  // namespace
}  // namespace sennit::comm
