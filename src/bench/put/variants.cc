#include "bench/put/variants.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "bench/put/nccl.h"
#include "comm/exchange.h"
#include "path/engine_channel.h"

namespace sennit::bench::put {

namespace {

using Shares = std::vector<std::pair<std::string, double>>;

/// sennit itself, with the computed split or a forced one.
class Sennit final : public Variant {
 public:
  Sennit(Rig& rig, Shares shares) : rig_(rig), shares_(std::move(shares)) {}
  std::string name() const override { return "sennit"; }
  Status prepare(const Case&) override {
    rig_.one_sided().transfer_engine().plans().force(shares_);
    return {};
  }
  Status enqueue(int side, bool sends, bool, const Message& message) override {
    if (!sends) return {};
    Side& from = rig_.side(side);
    const std::byte* source = from.source.data() + message.source;
    path::OneSided& messages = rig_.one_sided();
    if (rig_.in_one_process())
      return messages.copy(rig_.side(1 - side).destination.data() + message.destination, source, message.bytes,
                           *from.lane);
    return messages.put(rig_.window(), 1 - side, message.destination, source, message.bytes, *from.lane);
  }
  Status finish(int side) override { return rig_.node().synchronize(*rig_.side(side).lane); }

 private:
  Rig& rig_;
  const Shares shares_;
};

/// The path by way of host memory alone, driven by copy engines in chunks, as sennit's own share of that path is.
class HostPath final : public Variant {
 public:
  HostPath(Rig& rig, const Job& job) : rig_(rig), job_(job) {}
  std::string name() const override { return "host"; }
  bool covers(const Case& what) const override { return what.bytes <= kLargestHostPath; }

  Status prepare(const Case& what) override {
    for (int number = 0; number < 2; ++number) {
      if (!rig_.owns(number)) continue;
      const Endpoint& from = number == 0 ? job_.from : job_.to;
      const Endpoint& to = number == 0 ? job_.to : job_.from;
      const auto found = best_host_path(rig_.node().machine(), from, to, what.bytes);
      if (!found) return Status(Code::unsupported, "no path by way of host memory");
      chunk_ = std::clamp<std::uint64_t>(found->chunk_bytes, kLeastChunk, kMostChunk);
      auto& channel = channels_[std::size_t(number)];
      if (channel != nullptr && channel->slot_bytes() >= chunk_) continue;
      channel.reset();
      auto made =
          path::EngineChannel::create(rig_.node().executor(), {from.device, path::kHost, to.device}, chunk_, kSlots);
      if (!made) return made.status();
      channel = std::move(*made);
    }
    return {};
  }

  Status enqueue(int side, bool sends, bool, const Message& message) override {
    if (!sends) return {};
    auto target = rig_.target(side, message.destination, message.bytes);
    if (!target) return target.status();
    Side& from = rig_.side(side);
    path::EngineChannel& channel = *channels_[std::size_t(side)];
    const auto source = path::End::local(from.source.data() + message.source, from.device);
    auto status = channel.start(*target, source, message.bytes, chunk_, nullptr);
    while (status.ok() && !channel.finished()) status = channel.step();
    return status;
  }
  Status finish(int side) override { return channels_[std::size_t(side)]->last_lane().synchronize(); }

 private:
  /// Limits of the staging memory: 32 MiB in all.
  static constexpr std::uint64_t kLeastChunk = 64 * 1024, kMostChunk = 8 * 1024 * 1024;
  static constexpr unsigned kSlots = 4;

  Rig& rig_;
  const Job& job_;
  std::array<std::unique_ptr<path::EngineChannel>, 2> channels_;  // by the side that sends
  std::uint64_t chunk_ = kLeastChunk;
};

/// The copy engine alone: what cudaMemcpyAsync to the peer's mapped memory does.
class Engine final : public Variant {
 public:
  explicit Engine(Rig& rig) : rig_(rig) {}
  std::string name() const override { return "engine"; }
  Status prepare(const Case&) override { return {}; }
  Status enqueue(int side, bool sends, bool, const Message& message) override {
    if (!sends) return {};
    auto target = rig_.target(side, message.destination, message.bytes);
    if (!target) return target.status();
    Side& from = rig_.side(side);
    return from.lane->copy(target->seen_from(from.lane->device()), from.source.data() + message.source,
                           message.bytes);
  }
  Status finish(int side) override { return rig_.side(side).lane->synchronize(); }

 private:
  Rig& rig_;
};

/// Says why this process cannot run a variant; empty when it can.
Missing missing_here(Rig& rig, const Job& job, const std::string& name) {
  if (name == "engine") {
    for (int side = 0; side < 2; ++side) {
      if (!rig.owns(side)) continue;
      auto target = rig.target(side, 0, 1);
      if (!target || target->data == nullptr)
        return "engine is left out: the peer's memory cannot be mapped here; see what `sennit doctor` says of IPC.";
    }
  }
  if (name == "host") {
    if (!best_host_path(rig.node().machine(), job.from, job.to, job.cases.front().bytes))
      return fmt::format("host is left out: no path by way of host memory leads from {} to {}; choose two GPUs.",
                         job.from.id, job.to.id);
    for (int side = 0; side < 2; ++side) {
      if (!rig.owns(side)) continue;
      auto target = rig.target(side, 0, 1);
      if (!target || target->at_owner == nullptr)
        return "host is left out: the peer's GPU is not visible to this process; widen CUDA_VISIBLE_DEVICES.";
    }
  }
  return {};
}

/// Returns the first reason that any rank has.
Result<Missing> agree_missing(comm::Group& group, const Missing& mine) {
  auto all = group.exchange().all_gather(std::as_bytes(std::span(mine.data(), mine.size())));
  if (!all) return all.status();
  for (const comm::Bytes& each : *all)
    if (!each.empty()) return Missing(reinterpret_cast<const char*>(each.data()), each.size());
  return Missing();
}

}  // namespace

std::optional<path::Candidate> best_host_path(const machine::Machine& machine, const Endpoint& from,
                                              const Endpoint& to, std::uint64_t bytes) {
  auto found = path::candidates(machine, from.id, to.id, bytes);
  if (!found) return std::nullopt;
  for (path::Candidate& candidate : *found) {
    if (candidate.route.stops.size() != 3 || candidate.route.method != machine::Method::engine) continue;
    const machine::Device* stage = machine.find(candidate.route.stops[1]);
    if (stage != nullptr && stage->kind == machine::DeviceKind::host) return std::move(candidate);
  }
  return std::nullopt;
}

Result<Variants> make_variants(Rig& rig, const Job& job) {
  auto shares = path::parse_forced(job.split);
  if (!shares) return std::move(shares).status().in("--split");
  Variants variants;
  for (const std::string& name : job.variants) {
    auto missing = agree_missing(rig.node().group(), missing_here(rig, job, name));
    if (!missing) return missing.status();
    std::unique_ptr<Variant> made;
    if (missing->empty()) {
      if (name == "sennit") made = std::make_unique<Sennit>(rig, *shares);
      if (name == "engine") made = std::make_unique<Engine>(rig);
      if (name == "host") made = std::make_unique<HostPath>(rig, job);
      if (name == "nccl") {
        auto nccl = open_nccl(rig, job);
        if (!nccl) return nccl.status();
        made = std::move(nccl->variant);
        *missing = nccl->missing;
        if (made != nullptr) variants.versions["nccl"] = nccl->version;
      }
    }
    if (made != nullptr)
      variants.list.push_back(std::move(made));
    else
      variants.missing.push_back(std::move(*missing));
  }
  return variants;
}

}  // namespace sennit::bench::put
