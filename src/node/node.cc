#include "node/node.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/log.h"
#include "machine/document.h"
#include "machine/known.h"
#include "node/device_ids.h"
#include "node/extras.h"

namespace sennit::node {

namespace {

/// Errors: invalid_argument names a variable that would only be passed over where it applies.
Status check_environment() {
  for (const char* name : {"SENNIT_IPC", "SENNIT_PEER"})
    if (auto known = environment_switch(name); !known) return known.status();
  return parse_log_level(environment("SENNIT_LOG")).status();
}

/// Agrees on one machine for the whole node: the leader's, so that all ranks decide from the same document.
Result<machine::Machine> agree_on_machine(comm::Group& group, const device::Executor& executor,
                                          const std::optional<machine::Machine>& given) {
  std::string text;
  Status status = check_environment();
  if (status.ok() && group.rank() == group.leader()) {
    auto found = find_machine(executor, given);
    status = found.status();
    if (found.ok()) text = machine::to_json(*found).dump();
  }
  auto texts = comm::agree(group.exchange(), status, std::as_bytes(std::span(text.data(), text.size())));
  if (!texts) return texts.status();
  const comm::Bytes& chosen = (*texts)[static_cast<std::size_t>(group.leader())];
  const char* const origin = "the leader's document";
  auto document = parse_json({reinterpret_cast<const char*>(chosen.data()), chosen.size()}, origin);
  if (!document) return document.status();
  return machine::from_json(*document, origin);
}

}  // namespace

Result<machine::Machine> find_machine(const device::Executor& executor,
                                      const std::optional<machine::Machine>& given) {
  if (given) return *given;
  auto known = machine::known_machine({}, device::name(executor.kind()), extras_of(executor));
  if (!known) return known.status();
  return std::move(known->machine);
}

Result<std::vector<std::string>> device_ids(const device::Executor& executor, const machine::Machine& machine) {
  std::vector<const machine::Device*> gpus;
  for (const machine::Device& device : machine.devices)
    if (device.kind == machine::DeviceKind::gpu) gpus.push_back(&device);
  // Devices without any identity, as in published descriptions, are taken in their order.
  const bool anonymous =
      std::ranges::all_of(gpus, [](const auto* gpu) { return gpu->uuid.empty() && gpu->pci.empty(); });
  std::vector<std::string> ids;
  const auto& infos = executor.devices();
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const machine::Device* match = infos[i].uuid.empty() ? nullptr : machine.find(infos[i].uuid);
    if (match == nullptr && !infos[i].pci.empty()) match = machine.find(infos[i].pci);
    if (match == nullptr && anonymous && i < gpus.size()) match = gpus[i];
    ids.push_back(match != nullptr ? match->id : std::string());
  }
  // Discovery finds this machine's own devices; only a document that somebody named can be of another machine.
  const bool is_any =
      std::ranges::any_of(gpus, [&](const auto* gpu) { return std::ranges::count(ids, gpu->id) > 0; });
  if (!gpus.empty() && !infos.empty() && !is_any)
    return Status(Code::invalid_argument,
                  fmt::format("none of this process's devices is in the machine '{}'", machine.name), "machine",
                  "Name the document of this machine, or none (unset SENNIT_MACHINE): it is then found by itself");
  return ids;
}

Result<std::unique_ptr<Node>> Node::create(std::unique_ptr<comm::Exchange> exchange,
                                           std::shared_ptr<device::Executor> executor, Options options) {
  std::unique_ptr<Node> node(new Node());
  node->executor_ = std::move(executor);
  auto group = comm::Group::create(std::move(exchange), options.timeout);
  if (!group) return group.status();
  node->group_ = std::move(*group);
  comm::Group& members = *node->group_;
  device::Executor& devices = *node->executor_;
  devices.set_timeout(std::chrono::duration_cast<std::chrono::nanoseconds>(members.limit()));

  const auto count = static_cast<int>(devices.devices().size());
  node->device_ = options.device >= 0 ? options.device : members.node_index(members.rank()) % count;
  Status status;
  if (node->device_ >= count)
    status = Status(Code::invalid_argument, fmt::format("there is no device {}", node->device_), {},
                    fmt::format("Use 0 to {}", count - 1));
  auto lane = status.ok() ? devices.lane(node->device_) : Result<std::unique_ptr<device::Lane>>(status);
  auto agreed = comm::agree(members.exchange(), lane.status(), {});
  if (!agreed) return agreed.status();
  node->lane_ = std::move(*lane);

  auto machine = agree_on_machine(members, devices, options.machine);
  if (!machine) return machine.status();
  auto ids = device_ids(devices, *machine);
  if (auto alike = comm::agree(members.exchange(), ids.status(), {}); !alike) return alike.status();
  node->device_id_ = (*ids)[static_cast<std::size_t>(node->device_)];
  node->machine_ = std::move(*machine);
  node->machine_is_given_ = options.machine.has_value();
  // Whatever ends the group must also end kernels that wait for it.
  node->outlasts_failure_ = options.outlast_failure;
  if (!options.outlast_failure) members.on_abort([executor = node->executor_](const Status&) { executor->abort(); });
  return node;
}

Node::~Node() {
  lane_.reset();
  group_.reset();  // before the executor: its thread may still raise the abort
}

Status Node::check() const {
  if (group_->failed()) return group_->check();
  return executor_->fault();
}

Status Node::admits() const {
  return outlasts_failure_ ? executor_->fault() : check();
}

Status Node::synchronize(device::Lane& lane) {
  auto status = lane.synchronize();
  // A transfer that gave up because a peer died: the peer is the news.
  if (group_->failed()) return group_->check();
  return status;
}

}  // namespace sennit::node
