#include "comm/frame.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/other_processes.h"
#include "base/units.h"
#include "comm/socket.h"

namespace sennit::comm {

namespace {

constexpr std::uint32_t kMagic = 0x53'4e'54'00u | kWireVersion;  // "SNT" and the version
constexpr std::uint64_t kStep = 1ull << 20;
constexpr std::uint64_t kCarriesFile = 1;

Status lost() {
  return Status(Code::peer_lost, "the connection ended");
}

void take_file(msghdr& message, UniqueFd& file) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
      file.reset(fd);  // one a frame by the protocol; were there more, the earlier ones are closed here
    }
  }
}

}  // namespace

Bytes encode_header(const Frame& frame) {
  const std::uint64_t flags = frame.file ? kCarriesFile : 0;
  return Writer().number(kMagic | std::uint64_t(frame.kind) << 32 | flags << 48).number(frame.body.size()).take();
}

Status FrameReader::accept_header() {
  Reader reader(buffer_);
  const std::uint64_t first = reader.number();
  length_ = reader.number();
  if (std::uint32_t(first) != kMagic)
    return Status(Code::corrupt, "what came is no message of this version of sennit", {},
                  "Run the same version of sennit on every rank");
  if (length_ > limit_)
    return Status(Code::corrupt,
                  fmt::format("a message of {} bytes came, more than the {} allowed", length_, format_bytes(limit_)));
  frame_.kind = Kind(std::uint16_t(first >> 32));
  carries_file_ = (first >> 48 & kCarriesFile) != 0;
  in_body_ = true;
  filled_ = 0;
  buffer_.clear();
  return {};
}

Result<std::optional<Frame>> FrameReader::next(int fd) {
  for (;;) {
    const std::uint64_t whole = in_body_ ? length_ : kHeaderBytes;
    if (filled_ == whole) {
      if (!in_body_) {
        if (Status status = accept_header(); !status.ok()) return status;
        continue;
      }
      frame_.body = std::move(buffer_);
      if (!carries_file_) frame_.file.reset();
      heard_others();
      std::optional<Frame> done(std::move(frame_));
      frame_ = Frame();
      in_body_ = false;
      filled_ = 0;
      buffer_ = Bytes(kHeaderBytes);
      return done;
    }
    if (filled_ == buffer_.size()) buffer_.resize(std::size_t(std::min(whole, filled_ + kStep)));
    iovec part{buffer_.data() + filled_, buffer_.size() - filled_};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got = ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    if (got > 0) {
      take_file(message, frame_.file);
      filled_ += std::size_t(got);
    } else if (got == 0) {
      return lost();
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return std::optional<Frame>();
    } else if (errno != EINTR) {
      return lost();
    }
  }
}

FrameWriter::FrameWriter(Frame frame) : bytes_(encode_header(frame)), file_(std::move(frame.file)) {
  bytes_.insert(bytes_.end(), frame.body.begin(), frame.body.end());
}

Result<bool> FrameWriter::advance(int fd) {
  tell_others();
  while (sent_ < bytes_.size()) {
    iovec part{bytes_.data() + sent_, bytes_.size() - sent_};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    if (file_) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* c = CMSG_FIRSTHDR(&message);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(sizeof(int));
      const int sent = file_.get();
      std::memcpy(CMSG_DATA(c), &sent, sizeof sent);
    }
    const ssize_t took = ::sendmsg(fd, &message, MSG_NOSIGNAL);
    if (took > 0) {
      file_.reset();  // travels with the first byte
      sent_ += std::size_t(took);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return false;
    } else if (errno != EINTR) {
      return lost();
    }
  }
  return true;
}

Status send_frame(int fd, Frame frame, Deadline deadline) {
  FrameWriter writer(std::move(frame));
  for (;;) {
    const Result<bool> done = writer.advance(fd);
    if (!done) return done.status();
    if (*done) return {};
    if (!wait_for(fd, POLLOUT, deadline)) return Status(Code::timed_out, "the other side does not read");
  }
}

Result<Frame> receive_frame(int fd, FrameReader& reader, Deadline deadline) {
  for (;;) {
    Result<std::optional<Frame>> frame = reader.next(fd);
    if (!frame) return frame.status();
    if (frame->has_value()) return std::move(**frame);
    if (!wait_for(fd, POLLIN, deadline)) return Status(Code::timed_out, "the other side says nothing");
  }
}

Result<Frame> receive_frame(int fd, Kind kind, Deadline deadline) {
  FrameReader reader;
  Result<Frame> frame = receive_frame(fd, reader, deadline);
  if (frame.ok() && frame->kind != kind)
    return Status(Code::corrupt, fmt::format("message {} came where {} was due", int(frame->kind), int(kind)));
  return frame;
}

}  // namespace sennit::comm
