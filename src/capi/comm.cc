// Passes sennit_comm_* from C to capi::Communicator.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "capi/caller_exchange.h"
#include "capi/communicator.h"
#include "capi/errors.h"
#include "capi/machine.h"
#include "comm/bootstrap.h"

namespace sennit::capi {

namespace {

/// Reads the caller's options over the defaults, whichever of both knows more fields.
Result<sennit_options> read(const sennit_options* given) {
  sennit_options options = SENNIT_OPTIONS_INIT;
  if (given == nullptr) return options;
  const std::size_t size = given->struct_size;
  if (size < offsetof(sennit_options, exchange) || size > 4096)
    return Status(Code::invalid_argument, fmt::format("options.struct_size is {}", size), {},
                  "Start from SENNIT_OPTIONS_INIT");
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  if (size > sizeof options && std::any_of(bytes + sizeof options, bytes + size, [](auto byte) { return byte != 0; }))
    return Status(Code::unsupported, "an option is set that this version of sennit does not know", {},
                  fmt::format("Use the library that came with the header; this is {}", sennit_version()));
  std::memcpy(&options, given, std::min(size, sizeof options));
  return options;
}

Result<Communicator::Options> inner_options(const sennit_options& options) {
  Communicator::Options inner;
  node::Node::Options& made = inner.node;
  if (options.device < -1)
    return Status(Code::invalid_argument, fmt::format("options.device is {}", options.device), {},
                  "Use the index of a device, or -1");
  made.device = options.device;
  if (!(options.timeout_seconds >= 0 && options.timeout_seconds <= 1e6))
    return Status(Code::invalid_argument, fmt::format("options.timeout_seconds is {}", options.timeout_seconds), {},
                  "Use 0 to 1000000");
  if (options.timeout_seconds > 0)
    made.timeout = std::chrono::ceil<comm::Clock::duration>(std::chrono::duration<double>(options.timeout_seconds));
  if (options.machine != nullptr) {
    auto machine = machines().find(options.machine, "options.machine");
    if (!machine) return machine.status();
    made.machine = **machine;
  }
  if (options.messages != 0 && options.messages != 1)
    return Status(Code::invalid_argument, fmt::format("options.messages is {}", options.messages), {}, "Use 0 or 1");
  inner.messages = options.messages == 1;
  if (options.most_blocks < 0)
    return Status(Code::invalid_argument, fmt::format("options.most_blocks is {}", options.most_blocks), {},
                  "Use the number of a GPU's blocks that a call may take, or 0");
  inner.most_blocks = static_cast<unsigned>(options.most_blocks);
  return inner;
}

Result<std::unique_ptr<comm::Exchange>> meet(const sennit_options& options) {
  if (options.exchange != nullptr) return over(*options.exchange);
  auto place = comm::place_from_environment();
  if (!place) return place.status();
  return comm::meet_over_tcp(*place);
}

Status create(const sennit_options* given, sennit_comm** comm) {
  if (comm == nullptr) return null_argument("comm");
  auto options = read(given);
  if (!options) return options.status();
  auto inner = inner_options(*options);
  if (!inner) return inner.status();
  auto exchange = meet(*options);
  if (!exchange) return exchange.status();
  auto made = Communicator::create(std::move(*exchange), std::move(*inner));
  if (!made) return made.status();
  *comm = communicators().add(std::move(*made));
  return {};
}

/// At its end a communicator's handle is void, with those of its windows and partitioned messages, and the
/// communicator with it.
struct Voided {
  const sennit_comm* handle;
  std::shared_ptr<Communicator> communicator;

  ~Voided() {
    registrations().drop([&](const Registration& each) { return each.communicator == communicator; });
    partitioned_messages().drop([&](const PartitionedMessage& each) { return each.communicator == communicator; });
    (void)communicators().take(handle, "comm");
  }
};

/// -1, with the error kept, when `comm` is not a communicator.
template <class Ask>
int ask(const sennit_comm* comm, Ask question) noexcept {
  int answer = -1;
  (void)guarded([&]() -> Status {
    const auto found = communicators().find(comm, "comm");
    if (!found) return found.status();
    answer = question((*found)->node());
    return {};
  });
  return answer;
}

}  // namespace

}  // namespace sennit::capi

using namespace sennit;
using namespace sennit::capi;

sennit_result sennit_comm_create(const sennit_options* options, sennit_comm** comm) noexcept {
  return guarded([&]() -> Status { return create(options, comm).in("create communicator"); });
}

sennit_result sennit_comm_split(sennit_comm* comm, int color, int key, sennit_comm** split) noexcept {
  return guarded([&]() -> Status {
    if (split == nullptr) return null_argument("split");
    *split = nullptr;
    const auto found = communicators().find(comm, "comm");
    if (!found) return found.status();
    auto made = (*found)->split(color, key);
    if (!made) return std::move(made).status().in("split communicator");
    if (*made != nullptr) *split = communicators().add(std::move(*made));
    return {};
  });
}

sennit_result sennit_comm_destroy(sennit_comm* comm) noexcept {
  return guarded([&]() -> Status {
    if (comm == nullptr) return {};
    auto found = communicators().find(comm, "comm");
    if (!found) return found.status();
    if (!(*found)->begins_to_leave())
      return Status(Code::invalid_argument, "comm is being destroyed by another thread", {}, "Destroy it once");
    const auto executor = (*found)->executor();
    const device::SetUp set_up(executor.get());  // another thread may be capturing
    // Its handle stays until all ranks have come: the exchange function may ask whether they still can.
    const Voided voided{comm, *std::move(found)};
    return voided.communicator->leave().in("destroy communicator");
  });
}

int sennit_comm_rank(const sennit_comm* comm) noexcept {
  return ask(comm, [](node::Node& node) { return node.rank(); });
}

int sennit_comm_size(const sennit_comm* comm) noexcept {
  return ask(comm, [](node::Node& node) { return node.size(); });
}

int sennit_comm_device(const sennit_comm* comm) noexcept {
  return ask(comm, [](node::Node& node) { return node.device(); });
}

int sennit_comm_node_size(const sennit_comm* comm) noexcept {
  return ask(comm, [](node::Node& node) { return int(node.group().node_ranks().size()); });
}

int sennit_comm_same_node(const sennit_comm* comm, int rank) noexcept {
  int answer = -1;
  (void)guarded([&]() -> Status {
    const auto found = communicators().find(comm, "comm");
    if (!found) return found.status();
    node::Node& node = (*found)->node();
    if (rank < 0 || rank >= node.size())
      return Status(Code::invalid_argument, fmt::format("there is no rank {}", rank), {},
                    fmt::format("Ranks are 0 to {}", node.size() - 1));
    answer = node.group().same_node(rank) ? 1 : 0;
    return {};
  });
  return answer;
}

sennit_result sennit_comm_check(const sennit_comm* comm) noexcept {
  return guarded([&]() -> Status {
    const auto found = communicators().find(comm, "comm");
    return found ? (*found)->check() : found.status();
  });
}

sennit_result sennit_comm_abort(sennit_comm* comm, const char* why) noexcept {
  return guarded([&]() -> Status {
    const auto found = communicators().find(comm, "comm");
    if (!found) return found.status();
    (*found)->node().group().abort(Status(Code::aborted, why != nullptr ? why : "no reason given"));
    return {};
  });
}

sennit_result sennit_comm_barrier(sennit_comm* comm) noexcept {
  return guarded([&]() -> Status {
    const auto found = communicators().find(comm, "comm");
    return found ? (*found)->barrier().in("barrier") : found.status();
  });
}
