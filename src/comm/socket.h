// Opens sockets the way comm/ uses them: closed on exec, never blocking, never raising SIGPIPE.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "comm/deadline.h"

namespace sennit::comm {

/// system_error (or permission_denied, out_of_memory) for errno, as "cannot WHAT: reason".
Status system_status(const std::string& what, int error, std::string remedy);

/// Listens in Unix's abstract namespace: `name` is no file, and is gone with the last descriptor.
Result<UniqueFd> listen_unix(const std::string& name);
/// Errors: not_found when no process listens there, as seen from this network namespace.
Result<UniqueFd> connect_unix(const std::string& name, Deadline deadline);
/// User at the other end of a Unix connection when it was made; uid_t(-1) when the kernel does not say.
uid_t peer_uid(int fd);
/// Process at the other end of a Unix connection or socket pair; 0 when it is in a PID namespace out of sight.
pid_t peer_pid(int fd);

struct Address {
  std::string host;
  std::string port;
  std::string text() const;  ///< "host:port", "[::1]:port"
};
/// Parses "host:port" and "[v6]:port". Errors: invalid_argument.
Result<Address> parse_address(const std::string& text);

/// Listens on `address`. A loopback address or "localhost" is taken literally; any other host name means every
/// interface, because a host's own name often resolves to an address that other hosts cannot reach. Port "0"
/// lets the kernel choose; local_port() tells which.
Result<UniqueFd> listen_tcp(const Address& address);
int local_port(int fd);
/// Errors: not_found when the name does not resolve, no process listens, or the network does not answer in time.
Result<UniqueFd> connect_tcp(const Address& address, Deadline deadline);

/// Returns the addresses by which other hosts may reach this one, loopback last.
std::vector<std::string> own_addresses();

/// Returns the next waiting connection, or an empty one when no (more) connection waits.
UniqueFd accept_one(int listener);

/// Waits until `events` (poll(2)) or a hang-up; false when the deadline passed first.
bool wait_for(int fd, short events, Deadline deadline);

}  // namespace sennit::comm
