#include "profile/trace.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/trace_events.h"
#include "profile/document.h"

namespace sennit::profile {

namespace {

using Arguments = std::vector<std::pair<std::string_view, std::string>>;

Arguments arguments_of(const Rank& rank, const Call& call) {
  Arguments said;
  const auto say = [&](std::string_view name, std::string text) {
    if (!text.empty()) said.emplace_back(name, std::move(text));
  };
  if (const std::uint64_t bytes = std::max(call.bytes_in, call.bytes_out); bytes != 0)
    say("bytes", fmt::format("{}", bytes));
  if (call.memory_in != Memory::absent) say("memory in", std::string(name_of(call.memory_in)));
  if (call.memory_out != Memory::absent) say("memory out", std::string(name_of(call.memory_out)));
  if (call.peer >= 0) say("peer", fmt::format("{}", call.peer));
  if (call.tag >= 0) say("tag", fmt::format("{}", call.tag));
  const NamedCommunicator& communicator = rank.communicators[call.communicator];
  if (communicator.size != 0) say("communicator", fmt::format("{:x}, {} ranks", communicator.id, communicator.size));
  if (call.sequence != 0) say("call of the communicator", fmt::format("{}", call.sequence));
  say("operator", rank.reductions[call.reduction]);
  say("phase", rank.phases[call.phase]);
  return said;
}

}  // namespace

Status write_trace(std::ostream& out, const std::vector<std::size_t>& kept, ReadFile read) {
  std::uint64_t calls = 0;
  std::map<std::string, std::uint64_t> begins;  // by clock
  for (const std::size_t file : kept) {
    const Result<Rank> rank = read(file);
    if (!rank) return rank.status();
    calls += rank->calls.size();
    for (const TimedCall& one : rank->calls) {
      const auto [at, is_new] = begins.try_emplace(rank->clock, one.call.begin);
      at->second = std::min(at->second, one.call.begin);
    }
  }
  TraceWriter trace(out, TraceWriter::format_of(calls));
  for (std::uint32_t process = 0; process < kept.size(); ++process) {
    const Result<Rank> rank = read(kept[process]);
    if (!rank) return rank.status();
    trace.name_process(process, rank->rank >= 0 ? fmt::format("rank {} on {}", rank->rank, rank->host)
                                                : fmt::format("process {} on {}", rank->process, rank->host));
    const std::uint64_t begin = begins[rank->clock];
    std::int64_t named = -1;
    for (const TimedCall& one : rank->calls) {
      if (one.thread != named) trace.name_thread(process, one.thread, fmt::format("thread {}", one.thread));
      named = one.thread;
      const std::string& function = rank->functions[one.call.function];
      trace.add({.process = process,
                 .thread = one.thread,
                 .name = function,
                 .category = function.starts_with("nccl") ? "nccl" : "mpi",
                 .begin_us = static_cast<double>(one.call.begin - begin) / 1e3,
                 .length_us = static_cast<double>(one.call.end - one.call.begin) / 1e3,
                 .arguments = arguments_of(*rank, one.call)});
    }
  }
  return {};
}

}  // namespace sennit::profile
