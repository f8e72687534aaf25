#include "comm/handshake.h"

#include <poll.h>
#include <unistd.h>

#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "comm/frame.h"
#include "comm/secret.h"
#include "comm/socket.h"

namespace sennit::comm {

namespace {

constexpr std::size_t kMostStrangers = 256;
constexpr auto kPatience = std::chrono::seconds(5);
constexpr std::size_t kNonceBytes = 32;

Bytes bytes_of(const Digest& digest) {
  return Bytes(digest.begin(), digest.end());
}

bool matches(const Digest& digest, std::span<const std::byte> bytes) {
  Digest other{};
  if (bytes.size() != other.size()) return false;
  std::copy(bytes.begin(), bytes.end(), other.begin());
  return same_digest(digest, other);
}

// Small enough to fit any socket's buffer: sent at once or not at all.
void say(int fd, Kind kind, Bytes body) {
  (void)send_frame(fd, Frame{kind, std::move(body), {}}, Deadline::after({}));
}

struct Stranger {
  UniqueFd fd;
  std::string nonce;
  Deadline deadline;
  FrameReader reader;
};

class Doorman {
 public:
  Doorman(int listener, const Door& door, const std::set<int>& expected, bool same_user)
      : listener_(listener), door_(door), missing_(expected), same_user_(same_user) {}

  Admitted run(Deadline deadline) {
    while (admitted_.status.ok() && !missing_.empty()) {
      if (deadline.passed()) {
        admitted_.status =
            Status(Code::timed_out,
                   fmt::format("{} {} did not come within {:g} s", missing_.size() == 1 ? "rank" : "ranks",
                               fmt::join(missing_, ", "), deadline.seconds()),
                   door_.purpose, "Check that every rank was started; SENNIT_TIMEOUT gives them longer");
        break;
      }
      round(deadline);
    }
    return std::move(admitted_);
  }

 private:
  void round(Deadline deadline) {
    std::vector<pollfd> polled{{listener_, POLLIN, 0}};
    for (const Stranger& stranger : strangers_) polled.push_back({stranger.fd.get(), POLLIN, 0});
    // Members are watched for hang-up only: no rank may speak before all have met.
    for (const auto& [rank, fd] : admitted_.ranks) polled.push_back({fd.get(), POLLRDHUP, 0});
    const int patience = strangers_.empty() ? deadline.poll_ms() : std::min(deadline.poll_ms(), 100);
    if (::poll(polled.data(), polled.size(), patience) < 0) return;
    std::size_t member = 1 + strangers_.size();
    for (const auto& [rank, fd] : admitted_.ranks)
      if (polled[member++].revents != 0)
        admitted_.status = Status(Code::peer_lost, fmt::format("rank {} came and left before all had met", rank),
                                  door_.purpose, fmt::format("Look at what rank {} printed last", rank));
    std::vector<Stranger> staying;
    for (std::size_t i = 0; i < strangers_.size(); ++i)
      if ((polled[1 + i].revents == 0 || hear(strangers_[i])) && strangers_[i].fd && !strangers_[i].deadline.passed())
        staying.push_back(std::move(strangers_[i]));
    strangers_ = std::move(staying);
    if (polled[0].revents != 0) greet();
  }

  void greet() {
    bool any = false;
    while (UniqueFd fd = accept_one(listener_)) {
      any = true;
      if (same_user_ && peer_uid(fd.get()) != ::getuid()) continue;
      Result<std::string> nonce = random_hex(kNonceBytes);
      if (!nonce) continue;
      if (strangers_.size() == kMostStrangers) strangers_.erase(strangers_.begin());
      say(fd.get(), Kind::challenge, Writer().text(*nonce).take());
      strangers_.push_back({std::move(fd), std::move(*nonce), Deadline::after(kPatience), FrameReader()});
    }
    // Out of descriptors, most likely: the listener stays readable, and trying again at once would only spin.
    if (!any) std::this_thread::sleep_for(milliseconds(5));
  }

  // Returns false when the stranger has gone or was turned away; one who was let in leaves an empty descriptor
  // behind.
  bool hear(Stranger& stranger) {
    Result<std::optional<Frame>> frame = stranger.reader.next(stranger.fd.get());
    if (!frame) return false;
    if (!frame->has_value()) return true;
    if ((*frame)->kind != Kind::join) return false;
    Reader reader((*frame)->body);
    Talk talk{door_.purpose, door_.host, int(reader.number()), int(reader.number()), stranger.nonce, reader.text()};
    const auto proof = reader.data();
    if (!reader.finish().ok() || !matches(prove(door_.secret, "guest", talk), proof))
      return refuse(stranger, Status(Code::permission_denied, "it does not know the job's secret", {},
                                     "Give every rank of the job the same SENNIT_SECRET"));
    if (talk.size != door_.size)
      return refuse(stranger,
                    Status(Code::mismatch,
                           fmt::format("it expects {} ranks, rank {} expects {}", talk.size, door_.host, door_.size),
                           {}, "Start all ranks as one job of one size"));
    if (missing_.erase(talk.guest) == 0)
      return refuse(stranger, Status(Code::mismatch, "a rank of this number is here already, or is not expected", {},
                                     "Give every rank its own number, from 0 to size - 1"));
    say(stranger.fd.get(), Kind::welcome, Writer().data(bytes_of(prove(door_.secret, "host", talk))).take());
    admitted_.ranks.emplace(talk.guest, std::move(stranger.fd));
    return true;
  }

  bool refuse(Stranger& stranger, const Status& why) {
    say(stranger.fd.get(), Kind::refused, Writer().status(why).take());
    return false;
  }

  int listener_;
  const Door& door_;
  std::set<int> missing_;
  bool same_user_;
  std::vector<Stranger> strangers_;
  Admitted admitted_;
};

}  // namespace

Admitted admit(int listener, const Door& door, const std::set<int>& expected, bool same_user, Deadline deadline) {
  return Doorman(listener, door, expected, same_user).run(deadline);
}

Status knock(int fd, const Door& door, int rank, Deadline deadline) {
  Result<Frame> challenge = receive_frame(fd, Kind::challenge, deadline);
  if (!challenge) return std::move(challenge).status();
  Result<std::string> nonce = random_hex(kNonceBytes);
  if (!nonce) return nonce.status();
  Reader asked(challenge->body);
  const Talk talk{door.purpose, door.host, rank, door.size, asked.text(), *nonce};
  if (Status status = asked.finish(); !status.ok()) return status;
  Bytes join = Writer()
                   .number(std::uint64_t(rank))
                   .number(std::uint64_t(door.size))
                   .text(*nonce)
                   .data(bytes_of(prove(door.secret, "guest", talk)))
                   .take();
  if (Status status = send_frame(fd, Frame{Kind::join, std::move(join), {}}, deadline); !status.ok()) return status;
  FrameReader reader;
  Result<Frame> answer = receive_frame(fd, reader, deadline);
  if (!answer) return std::move(answer).status();
  Reader heard(answer->body);
  if (answer->kind == Kind::refused) {
    const Status why = heard.status();
    return Status(why.ok() ? Code::permission_denied : why.code(),
                  fmt::format("rank {} turned rank {} away: {}", door.host, rank, why.what()), door.purpose,
                  why.remedy());
  }
  if (answer->kind == Kind::welcome && matches(prove(door.secret, "host", talk), heard.data())) return {};
  return Status(Code::permission_denied,
                fmt::format("whoever answers as rank {} does not know the job's secret", door.host), door.purpose,
                "Give every rank of the job the same SENNIT_SECRET and SENNIT_RENDEZVOUS");
}

}  // namespace sennit::comm
