// Holds the half of sharing.h that touches memory, in processes of their own. For each kind:
//   1. the giver fills memory of its device 0 and sends what is needed to map it (or why there is none);
//   2. the taker maps it, for another device where that reaches device 0, checks the bytes, writes others, answers;
//   3. the giver checks those, and tells how it went.
#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/units.h"
#include "comm/frame.h"
#include "device/executor.h"
#include "doctor/pattern.h"
#include "doctor/sharing.h"
#include "doctor/status_json.h"

namespace sennit::doctor {

namespace {

using comm::Bytes;
using comm::Frame;
using device::Executor;
using device::Memory;
using device::Shareable;

constexpr std::size_t kSharedBytes = MiB;
constexpr std::uint64_t kGiven = 11, kAnswered = 12;  ///< seeds of the two patterns
/// Both open their devices at the same time, so one waits for the other as long as that may take.
constexpr std::chrono::seconds kPatience{12};

/// Status, then what the Shareable says apart from its file.
Frame encode(const Status& status, Shareable shareable) {
  Frame frame;
  frame.kind = comm::Kind::file;
  frame.body = comm::Writer()
                   .status(status)
                   .number(std::uint64_t(shareable.kind))
                   .data(shareable.handle)
                   .number(shareable.files.empty() ? 0 : shareable.files.front().bytes)
                   .number(shareable.offset)
                   .number(shareable.identity)
                   .text(shareable.device)
                   .take();
  if (!shareable.files.empty()) frame.file = std::move(shareable.files.front().fd);
  return frame;
}

Result<Shareable> decode(Frame frame) {
  comm::Reader reader(frame.body);
  const Status status = reader.status();
  Shareable shareable;
  shareable.kind = Shareable::Kind(reader.number());
  const auto handle = reader.data();
  std::copy_n(handle.begin(), std::min(handle.size(), shareable.handle.size()), shareable.handle.begin());
  const std::uint64_t file_bytes = reader.number();
  shareable.offset = reader.number();
  shareable.identity = reader.number();
  shareable.device = reader.text();
  if (frame.file.valid()) shareable.files.push_back({std::move(frame.file), file_bytes});
  if (Status whole = reader.finish(); !whole) return whole;
  if (!status.ok()) return status;
  return shareable;
}

comm::Deadline soon() {
  return comm::Deadline::after(kPatience);
}

/// Receives the taker's outcome, in the giver.
Status receive_outcome() {
  Result<Frame> frame = comm::receive_frame(kPassedFile, comm::Kind::file, soon());
  if (!frame.ok()) return Status(Code::peer_lost, "the process that was to map it ended: " + frame.status().what());
  comm::Reader reader(frame->body);
  const Status outcome = reader.status();
  if (Status whole = reader.finish(); !whole) return whole;
  return outcome;
}

Status give(Executor& executor, Result<Memory> memory) {
  Result<std::unique_ptr<device::Lane>> lane = executor.lane(0);
  Result<Memory> pinned = executor.allocate_pinned(kSharedBytes);
  Status ready = !memory.ok() ? memory.status() : !lane.ok() ? lane.status() : pinned.status();
  if (ready.ok()) ready = put_bytes(**lane, memory->data(), pattern(kSharedBytes, kGiven), *pinned);
  Shareable shareable;
  if (ready.ok()) {
    Result<Shareable> shared = executor.share(memory->data());
    ready = shared.status();
    if (ready.ok()) shareable = std::move(*shared);
  }
  // The taker waits for each kind, so it is told also when there is nothing to take.
  const Status sent = comm::send_frame(kPassedFile, encode(ready, std::move(shareable)), soon());
  if (!ready.ok()) return ready;
  if (!sent.ok()) return sent;
  if (Status outcome = receive_outcome(); !outcome) return outcome;
  Status answered = expect_bytes(**lane, memory->data(), pattern(kSharedBytes, kAnswered), *pinned);
  return answered.ok() ? answered : std::move(answered).in("what the other process wrote");
}

Status use(Executor& executor, const Shareable& shareable) {
  const int last = int(executor.devices().size()) - 1;
  const int device = last > 0 && executor.reaches(last, 0) ? last : 0;
  const Result<Memory> mapped = executor.map(shareable, device);
  if (!mapped.ok()) return mapped.status();
  const Result<std::unique_ptr<device::Lane>> lane = executor.lane(device);
  if (!lane.ok()) return lane.status();
  const Result<Memory> pinned = executor.allocate_pinned(kSharedBytes);
  if (!pinned.ok()) return pinned.status();
  if (Status status = expect_bytes(**lane, mapped->data(), pattern(kSharedBytes, kGiven), *pinned); !status)
    return std::move(status).in("what the other process gave");
  return put_bytes(**lane, mapped->data(), pattern(kSharedBytes, kAnswered), *pinned);
}

Result<std::shared_ptr<Executor>> open(bool host) {
  return host ? device::open_host_executor() : device::open_cuda_executor();
}

Result<Memory> allocate(Executor& executor, Sharing sharing) {
  return sharing == Sharing::file ? executor.allocate_exportable(0, kSharedBytes)
                                  : executor.allocate(0, kSharedBytes);
}

std::vector<Sharing> kinds(bool host) {
  if (host) return {Sharing::host};
  return {Sharing::handle, Sharing::file};
}

}  // namespace

void probe_giver(bool host) {
  Result<std::shared_ptr<Executor>> executor = open(host);
  tell({{"opened", to_json(executor.status())}});
  if (!executor.ok()) return;
  for (const Sharing sharing : kinds(host)) {
    const Status outcome = give(**executor, allocate(**executor, sharing));
    tell({{"sharing", name(sharing)}, {"outcome", to_json(outcome)}});
  }
}

void probe_taker(bool host) {
  Result<std::shared_ptr<Executor>> executor = open(host);
  tell({{"opened", to_json(executor.status())}});
  for (std::size_t i = 0; i < kinds(host).size(); ++i) {
    Result<Frame> frame = comm::receive_frame(kPassedFile, comm::Kind::file, soon());
    if (!frame.ok()) return;  // the giver has told why, or its end will
    Result<Shareable> shareable = decode(std::move(*frame));
    if (!shareable.ok()) continue;  // the giver knows, and waits for no answer
    const Status outcome = executor.ok() ? use(**executor, *shareable) : executor.status();
    Frame answer;
    answer.kind = comm::Kind::file;
    answer.body = comm::Writer().status(outcome).take();
    if (!comm::send_frame(kPassedFile, std::move(answer), soon())) return;
    tell({{"used", i}});
  }
}

}  // namespace sennit::doctor
