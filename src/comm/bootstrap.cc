#include "comm/bootstrap.h"

#include <optional>
#include <thread>

#include <fmt/format.h>

#include "comm/handshake.h"
#include "comm/rendezvous_file.h"
#include "comm/secret.h"
#include "comm/socket.h"
#include "comm/tcp_exchange.h"

namespace sennit::comm {

namespace {

constexpr const char* kPurpose = "bootstrap";

// Says where to meet and what to prove, however this was learned.
struct Meeting {
  Address address;
  std::string secret;
};

// The rendezvous file's text is "host:port secret".
std::optional<Meeting> parse_meeting(const std::string& text) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string::npos) return std::nullopt;
  Result<Address> address = parse_address(text.substr(0, blank));
  if (!address) return std::nullopt;
  return Meeting{*address, text.substr(blank + 1)};
}

Result<std::unique_ptr<Exchange>> host(const JobPlace& place, UniqueFd listener, Deadline deadline) {
  std::string secret = place.secret;
  std::optional<RendezvousFile> file;
  if (place.rendezvous.empty()) {
    Result<Rendezvous> opened = open_rendezvous();
    if (!opened) return opened.status();
    listener = std::move(opened->listener);
    secret = opened->secret;
    Result<RendezvousFile> published =
        RendezvousFile::publish(runtime_folder(), rendezvous_name(place.job), opened->address + " " + secret);
    if (!published) return published.status();
    file.emplace(std::move(*published));
  } else if (!listener.valid()) {
    Result<Address> address = parse_address(place.rendezvous);
    if (!address) return std::move(address).status().in("SENNIT_RENDEZVOUS");
    Result<UniqueFd> listening = listen_tcp(*address);
    if (!listening) return listening.status();
    listener = std::move(*listening);
  }
  std::set<int> expected;
  for (int rank = 1; rank < place.size; ++rank) expected.insert(rank);
  Admitted admitted = admit(listener.get(), {kPurpose, secret, 0, place.size}, expected, false, deadline);
  // Both go before anyone hears that all have met: a rank that meets again must not find this meeting's traces.
  file.reset();
  listener.reset();
  return host_exchange(place.size, secret, std::move(admitted));
}

// One attempt to reach rank 0. not_found, peer_lost and timed_out are worth another.
Result<UniqueFd> reach(const JobPlace& place, Meeting& meeting, Deadline deadline) {
  if (place.rendezvous.empty()) {
    Result<std::optional<std::string>> text = read_rendezvous(runtime_folder(), rendezvous_name(place.job));
    if (!text) return text.status();
    const std::optional<Meeting> found = text->has_value() ? parse_meeting(**text) : std::nullopt;
    if (!found)
      return Status(
          Code::not_found, fmt::format("no rendezvous file of this job in '{}'", runtime_folder()), {},
          "Check that rank 0 was started and sees the same folder, or set SENNIT_RENDEZVOUS and SENNIT_SECRET");
    meeting = *found;
  }
  Result<UniqueFd> fd = connect_tcp(meeting.address, deadline.at_most(std::chrono::seconds(5)));
  if (!fd) return fd;
  // A port that somebody else has taken meanwhile may accept and then say nothing.
  const Deadline patience = deadline.at_most(std::chrono::seconds(10));
  Status status = knock(fd->get(), {kPurpose, meeting.secret, 0, place.size}, place.rank, patience);
  if (!status.ok()) return status;
  return fd;
}

// When rank 0 was killed before all had met, its file is still there, and reading removes it. The kernel lets go of
// a killed process's connections and locks one by one, hence more than one look.
void clear_traces(const JobPlace& place) {
  for (int tries = 0; tries < 50; ++tries) {
    const auto text = read_rendezvous(runtime_folder(), rendezvous_name(place.job));
    if (!text || !text->has_value()) return;
    std::this_thread::sleep_for(milliseconds(2));
  }
}

Result<std::unique_ptr<Exchange>> join(const JobPlace& place, Deadline deadline) {
  Meeting meeting{{}, place.secret};
  if (!place.rendezvous.empty()) {
    Result<Address> address = parse_address(place.rendezvous);
    if (!address) return std::move(address).status().in("SENNIT_RENDEZVOUS");
    meeting.address = *address;
  }
  milliseconds pause(1);
  for (;;) {
    Result<UniqueFd> fd = reach(place, meeting, deadline);
    if (fd.ok()) {
      auto exchange = guest_exchange(place.rank, place.size, meeting.secret, std::move(*fd));
      if (!exchange && place.rendezvous.empty()) clear_traces(place);
      return exchange;
    }
    const Code code = fd.status().code();
    if (code != Code::not_found && code != Code::peer_lost && code != Code::timed_out) return fd.status();
    if (deadline.passed())
      return Status(
          Code::timed_out, fmt::format("rank {} did not meet rank 0 within {:g} s", place.rank, deadline.seconds()),
          fd.status().what(), fd.status().remedy().empty() ? "Check that rank 0 was started" : fd.status().remedy());
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, milliseconds(20));
  }
}

}  // namespace

Result<Rendezvous> open_rendezvous() {
  Address address{"127.0.0.1", "0"};
  auto listener = listen_tcp(address);
  if (!listener) return listener.status();
  auto secret = random_hex(32);
  if (!secret) return secret.status();
  address.port = std::to_string(local_port(listener->get()));
  return Rendezvous{std::move(*listener), address.text(), *secret};
}

Result<std::unique_ptr<Exchange>> meet_over_tcp(const JobPlace& place, UniqueFd listener) {
  if (place.size < 1 || place.rank < 0 || place.rank >= place.size)
    return Status(Code::invalid_argument, fmt::format("rank {} of {} cannot be", place.rank, place.size));
  if (place.size == 1) return alone();
  if (!place.rendezvous.empty() && place.secret.empty())
    return Status(Code::invalid_argument, "a rendezvous without a secret", {}, "Give all ranks one SENNIT_SECRET");
  if (place.rendezvous.empty() && (place.job.empty() || (place.local_size != 0 && place.local_size != place.size)))
    return Status(Code::unsupported,
                  fmt::format("launcher '{}' gives the {} ranks no address to meet at", place.launcher, place.size),
                  {}, "For ranks on several hosts set SENNIT_RENDEZVOUS=host-of-rank-0:port and one SENNIT_SECRET");
  const Result<Clock::duration> limit = wait_limit();
  if (!limit) return limit.status();
  const Deadline deadline = Deadline::after(*limit);
  return place.rank == 0 ? host(place, std::move(listener), deadline) : join(place, deadline);
}

}  // namespace sennit::comm
