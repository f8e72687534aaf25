#include "shim/nccl/comm_info.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "comm/job_place.h"
#include "device/memory.h"
#include "plan/table.h"
#include "shim/map_check.h"

namespace sennit::shim::nccl {

namespace {

/// Returns the error of all ranks where rank `rank` differs from rank 0 in `what`.
Status differs(std::size_t rank, std::string_view what) {
  return Status(Code::mismatch, fmt::format("rank {} has another {} than rank 0", rank, what), {},
                "Give all ranks the same");
}

}  // namespace

plan::Room room_on(unsigned concurrent_blocks, unsigned allowed) {
  const unsigned quarter = std::max(concurrent_blocks / 2, 1U);  // of two an SM
  const unsigned blocks = std::min(quarter, plan::Entry::kBesideKernels);
  return {allowed > 0 ? std::min(blocks, allowed) : blocks, quarter};
}

std::string text_of(const Switches& switches) {
  return fmt::format("{} {}", switches.take == Take::all ? "all" : "measured",
                     switches.operations ? fmt::format("{}", fmt::join(*switches.operations, ",")) : "all");
}

CommInfo CommInfo::of(const Switches& switches, const Config& config, const plan::Room& room,
                      std::uint64_t scratch_bytes) {
  return {room,
          device::this_process(),
          text_of(switches),
          switches.nccl,
          scratch_bytes,
          wants_no_blocks(config),
          config.blocking,
          plan::has_table(),
          {},
          {}};
}

Result<CommInfo> CommInfo::read(std::span<const std::byte> bytes) {
  comm::Reader reader(bytes);
  CommInfo info;
  info.room.blocks = static_cast<unsigned>(reader.number());
  info.room.of_messages = static_cast<unsigned>(reader.number());
  info.process = reader.number();
  info.switches = reader.text();
  info.nccl = reader.text();
  info.scratch_bytes = reader.number();
  info.no_blocks = reader.number() != 0;
  info.blocking = reader.number() != 0;
  info.has_table = reader.number() != 0;
  info.asked = reader.text();
  info.gpu = reader.text();
  if (auto status = reader.finish(); !status) return status;
  return info;
}

comm::Bytes CommInfo::write() const {
  return comm::Writer()
      .number(room.blocks)
      .number(room.of_messages)
      .number(process)
      .text(switches)
      .text(nccl)
      .number(scratch_bytes)
      .number(no_blocks ? 1 : 0)
      .number(blocking ? 1 : 0)
      .number(has_table ? 1 : 0)
      .text(asked)
      .text(gpu)
      .take();
}

void CommInfo::look_at_map(const device::Executor& executor, int device) {
  const auto uuids = asked_gpus();
  const auto job = comm::place_from_environment();
  if (uuids.empty() || !job.ok()) return;
  const auto local = static_cast<std::size_t>(job->local_rank), which = static_cast<std::size_t>(device);
  if (local < uuids.size()) asked = uuids[local];
  if (which < executor.devices().size()) gpu = executor.devices()[which].uuid;
}

void tell_of_map(const std::vector<comm::Bytes>& infos, int rank) {
  const std::size_t expected = asked_gpus().size();
  if (rank != 0 || expected == 0 || infos.size() < expected) return;
  std::vector<GpuOfRank> ranks;
  std::set<std::uint64_t> processes;
  for (const comm::Bytes& each : infos) {
    const auto info = CommInfo::read(each);
    if (!info || !processes.insert(info->process).second) return;
    ranks.push_back({info->asked, info->gpu});
  }
  static std::atomic_flag told;
  if (!told.test_and_set())
    std::fprintf(stderr, "sennit: %s\n", judge_map(ranks, "has a GPU without a UUID").c_str());
}

Result<Agreed> compare(const std::vector<comm::Bytes>& infos, int rank) {
  std::vector<CommInfo> read;
  for (const comm::Bytes& each : infos) {
    auto info = CommInfo::read(each);
    if (!info) return info.status();
    read.push_back(*std::move(info));
    const CommInfo &first = read.front(), &latest = read.back();
    if (latest.switches != first.switches) return differs(read.size() - 1, "SENNIT_TAKE or SENNIT_OPS");
    if (latest.nccl != first.nccl) return differs(read.size() - 1, "NCCL or NCCL_NVLS_ENABLE");
  }
  Agreed agreed;
  agreed.scratch_bytes = read.front().scratch_bytes;
  std::map<std::uint64_t, int> ranks;  // of each process
  for (const CommInfo& info : read) {
    agreed.room.blocks = std::min(agreed.room.blocks, info.room.blocks);
    agreed.room.of_messages = std::min(agreed.room.of_messages, info.room.of_messages);
    agreed.no_blocks = agreed.no_blocks || info.no_blocks;
    agreed.blocking = agreed.blocking && info.blocking;
    agreed.any_table = agreed.any_table || info.has_table;
    agreed.any_siblings = ++ranks[info.process] > 1 || agreed.any_siblings;
  }
  agreed.siblings = ranks[read[static_cast<std::size_t>(rank)].process] > 1;
  return agreed;
}

}  // namespace sennit::shim::nccl
