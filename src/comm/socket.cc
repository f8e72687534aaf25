#include "comm/socket.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>

#include <fmt/format.h>

namespace sennit::comm {

namespace {

constexpr int kFlags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
// One connection a rank may wait here before it is accepted; the kernel lowers this to net.core.somaxconn.
constexpr int kBacklog = 4096;

struct UnixAddress {
  sockaddr_un address{};
  socklen_t length = 0;
  explicit UnixAddress(const std::string& name) {
    address.sun_family = AF_UNIX;  // sun_path[0] stays 0: the abstract namespace
    const std::size_t copied = std::min(name.size(), sizeof(address.sun_path) - 1);
    std::memcpy(address.sun_path + 1, name.data(), copied);
    length = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + copied);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Result<AddressList> resolve(const Address& address, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const char* host = address.host.empty() ? nullptr : address.host.c_str();
  const int error = ::getaddrinfo(host, address.port.c_str(), &hints, &list);
  if (error == 0) return AddressList(list, ::freeaddrinfo);
  return Status(Code::not_found, fmt::format("cannot resolve '{}': {}", address.text(), ::gai_strerror(error)), {},
                "Check the host name and port in SENNIT_RENDEZVOUS");
}

void set(int fd, int level, int option, int value) {
  ::setsockopt(fd, level, option, &value, sizeof value);
}

// A host that vanishes without a word (power, cable) is noticed in about four seconds of silence.
void watch_connection(int fd) {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

Status finish_connect(int fd, Deadline deadline) {
  if (!wait_for(fd, POLLOUT, deadline)) return Status(Code::not_found, "no answer in time");
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  return error == 0 ? Status() : Status(Code::not_found, std::strerror(error));
}

ucred credentials(int fd) {
  ucred who{};
  socklen_t length = sizeof who;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0) who.uid = uid_t(-1);
  return who;
}

bool is_loopback(const Address& address) {
  return address.host == "localhost" || address.host == "::1" || address.host.starts_with("127.");
}

}  // namespace

Status system_status(const std::string& what, int error, std::string remedy) {
  const Code code = error == EACCES || error == EPERM                       ? Code::permission_denied
                    : error == ENOMEM || error == EMFILE || error == ENFILE ? Code::out_of_memory
                                                                            : Code::system_error;
  if (error == EMFILE || error == ENFILE) remedy = "Raise the limit of open files (ulimit -n)";
  return Status(code, fmt::format("cannot {}: {}", what, std::strerror(error)), {}, std::move(remedy));
}

Result<UniqueFd> listen_unix(const std::string& name) {
  UniqueFd fd(::socket(AF_UNIX, kFlags, 0));
  const UnixAddress address(name);
  if (fd && ::bind(fd.get(), address.get(), address.length) == 0 && ::listen(fd.get(), kBacklog) == 0) return fd;
  return system_status("listen on a Unix socket", errno, "Check that the container allows AF_UNIX sockets");
}

Result<UniqueFd> connect_unix(const std::string& name, Deadline deadline) {
  const UnixAddress address(name);
  for (;;) {
    UniqueFd fd(::socket(AF_UNIX, kFlags, 0));
    if (!fd) return system_status("open a Unix socket", errno, "Check that the container allows AF_UNIX sockets");
    if (::connect(fd.get(), address.get(), address.length) == 0) return fd;
    const int error = errno;
    // EAGAIN: so many are connecting that the queue is full. A Unix socket cannot be polled for that.
    if ((error == EAGAIN || error == EINTR) && !deadline.passed()) {
      std::this_thread::sleep_for(milliseconds(1));
      continue;
    }
    return Status(Code::not_found, fmt::format("cannot reach Unix socket @{}: {}", name, std::strerror(error)));
  }
}

uid_t peer_uid(int fd) {
  return credentials(fd).uid;
}
pid_t peer_pid(int fd) {
  return credentials(fd).pid;
}

std::string Address::text() const {
  return host.find(':') == std::string::npos ? host + ":" + port : "[" + host + "]:" + port;
}

Result<Address> parse_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon != std::string::npos && colon > 0 && colon + 1 < text.size()) {
    Address address{text.substr(0, colon), text.substr(colon + 1)};
    const bool digits = address.port.find_first_not_of("0123456789") == std::string::npos;
    const bool bracketed = address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']';
    if (bracketed) address.host = address.host.substr(1, address.host.size() - 2);
    if (digits && address.port.size() <= 5 && std::stoi(address.port) <= 65535 &&
        (bracketed || address.host.find_first_of(":[]") == std::string::npos))
      return address;
  }
  return Status(Code::invalid_argument, fmt::format("'{}' is not host:port", text), {},
                "Write it like node01:29400 or [fe80::1]:29400");
}

Result<UniqueFd> listen_tcp(const Address& address) {
  Address where = address;
  int flags = 0;
  if (!is_loopback(address)) {
    where.host.clear();
    flags = AI_PASSIVE;
  }
  Result<AddressList> list = resolve(where, flags);
  if (!list) return list.status();
  int error = EADDRNOTAVAIL;
  // IPv6 first where it exists: with V6ONLY off it takes IPv4 connections too.
  for (const bool want_v6 : {true, false})
    for (const addrinfo* one = list->get(); one != nullptr; one = one->ai_next) {
      if ((one->ai_family == AF_INET6) != want_v6) continue;
      UniqueFd fd(::socket(one->ai_family, kFlags, 0));
      if (!fd) continue;
      // REUSEADDR: the launcher keeps the port reserved by a socket that is bound and never listens.
      set(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
      if (want_v6 && flags == AI_PASSIVE) set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
      if (::bind(fd.get(), one->ai_addr, one->ai_addrlen) == 0 && ::listen(fd.get(), kBacklog) == 0) return fd;
      error = errno;
    }
  return system_status("listen at " + address.text(), error, "Choose a free port in SENNIT_RENDEZVOUS");
}

int local_port(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
  return ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
}

Result<UniqueFd> connect_tcp(const Address& address, Deadline deadline) {
  Result<AddressList> list = resolve(address, 0);
  if (!list) return list.status();
  std::string reason = "no address";
  for (const addrinfo* one = list->get(); one != nullptr; one = one->ai_next) {
    UniqueFd fd(::socket(one->ai_family, kFlags, 0));
    if (!fd) continue;
    Status outcome;
    if (::connect(fd.get(), one->ai_addr, one->ai_addrlen) != 0)
      outcome = errno == EINPROGRESS || errno == EINTR ? finish_connect(fd.get(), deadline)
                                                       : Status(Code::not_found, std::strerror(errno));
    // The kernel may give a client the very port it calls, and join the socket to itself.
    if (outcome.ok() && std::to_string(local_port(fd.get())) == address.port && is_loopback(address))
      outcome = Status(Code::not_found, "nobody listens there");
    if (outcome.ok()) {
      watch_connection(fd.get());
      return fd;
    }
    reason = outcome.what();
  }
  return Status(Code::not_found, fmt::format("cannot connect to {}: {}", address.text(), reason), {},
                "Check that rank 0 runs there and that no firewall stands between");
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) == 0) {
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || !(one->ifa_flags & IFF_UP) || (one->ifa_flags & IFF_LOOPBACK)) continue;
      char text[INET6_ADDRSTRLEN] = {};
      if (one->ifa_addr->sa_family == AF_INET) {
        ::inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof text);
      } else if (one->ifa_addr->sa_family == AF_INET6) {
        const in6_addr& address = reinterpret_cast<sockaddr_in6*>(one->ifa_addr)->sin6_addr;
        // Link-local addresses mean nothing without the interface's number, which differs between hosts.
        if (!IN6_IS_ADDR_LINKLOCAL(&address)) ::inet_ntop(AF_INET6, &address, text, sizeof text);
      }
      if (*text != '\0') found.emplace_back(text);
    }
    ::freeifaddrs(list);
  }
  found.emplace_back("127.0.0.1");
  return found;
}

UniqueFd accept_one(int listener) {
  for (;;) {
    UniqueFd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      watch_connection(fd.get());  // without effect on Unix sockets
      return fd;
    }
    if (errno != EINTR && errno != ECONNABORTED) return {};
  }
}

bool wait_for(int fd, short events, Deadline deadline) {
  for (;;) {
    pollfd one{fd, events, 0};
    const int ready = ::poll(&one, 1, deadline.poll_ms());
    if (ready > 0) return true;
    if ((ready == 0 || errno != EINTR) && deadline.passed()) return false;
  }
}

}  // namespace sennit::comm
