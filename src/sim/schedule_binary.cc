// Writes a schedule in few bytes: numbers as LEB128, seven bits a byte; of offsets and groups what they differ by
// from the ones before, since neighbours are mostly near.
#include <bit>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "sim/schedule.h"

namespace sennit::sim {

using device::Act;
using device::End;
using device::Launch;
using device::Region;
using device::Step;
using device::Strand;

namespace {

constexpr std::string_view kMagic = "sennit-schedule\n";

class Writer {
 public:
  std::string take() { return std::move(text_); }
  void raw(std::string_view bytes) { text_ += bytes; }
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_.push_back(static_cast<char>(0x80 | (value & 0x7F)));
    text_.push_back(static_cast<char>(value));
  }
  /// Small ones of either sign take few bytes.
  void difference(std::uint64_t value, std::uint64_t before) {
    const auto by = static_cast<std::int64_t>(value - before);
    number(static_cast<std::uint64_t>(by) << 1 ^ static_cast<std::uint64_t>(by >> 63));
  }
  void integer(std::int64_t value) { difference(static_cast<std::uint64_t>(value), 0); }
  void text(std::string_view value) {
    number(value.size());
    raw(value);
  }
  void real(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (int byte = 0; byte < 8; ++byte) text_.push_back(static_cast<char>(bits >> (8 * byte) & 0xFF));
  }

 private:
  std::string text_;
};

/// Reads nothing but zeros once it has failed.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool ok() const { return !failed_; }
  std::size_t at() const { return at_; }
  bool done() const { return at_ == text_.size(); }

  bool raw(std::string_view expected) {
    if (failed_ || text_.substr(at_, expected.size()) != expected) return fail();
    at_ += expected.size();
    return true;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (failed_ || at_ >= text_.size()) return fail();
      const auto byte = static_cast<unsigned char>(text_[at_++]);
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    return fail();
  }
  std::uint64_t difference(std::uint64_t before) {
    const std::uint64_t coded = number();
    return before + ((coded >> 1) ^ (0 - (coded & 1)));
  }
  std::int64_t integer() { return static_cast<std::int64_t>(difference(0)); }
  std::string text() {
    const std::uint64_t length = count();
    std::string value(text_.substr(at_, length));
    at_ += length;
    return value;
  }
  double real() {
    if (failed_ || text_.size() - at_ < 8) return fail(), 0.0;
    std::uint64_t bits = 0;
    for (int byte = 0; byte < 8; ++byte)
      bits |= std::uint64_t{static_cast<unsigned char>(text_[at_++])} << (8 * byte);
    return std::bit_cast<double>(bits);
  }
  /// Of things that take a byte at least: never more than are left, so that no reader allocates for nothing.
  std::uint64_t count() {
    const std::uint64_t value = number();
    if (value > text_.size() - at_) return fail();
    return value;
  }

 private:
  bool fail() {
    failed_ = true;
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

void write(Writer& out, const End& end, std::uint64_t& offset) {
  // Nowhere is 0.
  out.number((end.region == device::kNowhere ? 0 : (std::uint64_t{end.region} + 1) << 1) | (end.packets ? 1 : 0));
  out.difference(end.offset, offset);
  offset = end.offset;
}
End read_end(Reader& in, std::uint64_t& offset) {
  const std::uint64_t coded = in.number();
  offset = in.difference(offset);
  const std::uint64_t region = coded >> 1;
  return {region == 0 ? device::kNowhere : static_cast<std::uint32_t>(region - 1), offset, (coded & 1) != 0};
}

void write(Writer& out, const Strand& strand) {
  out.integer(strand.rank);
  out.number(strand.lane);
  out.integer(strand.block);
  out.number(strand.steps.size());
  std::uint64_t offset = 0, group = 0;
  for (const Step& step : strand.steps) {
    out.number(static_cast<std::uint64_t>(step.act));
    out.difference(step.group, group);
    group = step.group;
    out.number(step.bytes);
    out.number(step.value);
    out.number(step.wait_id);
    out.integer(step.peer);
    out.number(step.subject);
    out.number((std::uint64_t{step.raw} << 2) | (step.last ? 2 : 0) | (step.reduces ? 1 : 0));
    out.number(step.sources);
    out.number(step.destinations);
    for (unsigned k = 0; k < step.sources + step.destinations; ++k) write(out, strand.ends[step.ends + k], offset);
  }
}
Strand read_strand(Reader& in) {
  Strand strand;
  strand.rank = static_cast<int>(in.integer());
  strand.lane = static_cast<std::uint32_t>(in.number());
  strand.block = static_cast<int>(in.integer());
  const std::uint64_t steps = in.count();
  std::uint64_t offset = 0, group = 0;
  for (std::uint64_t i = 0; i < steps && in.ok(); ++i) {
    Step step;
    step.act = static_cast<Act>(std::min<std::uint64_t>(in.number(), 255));
    group = in.difference(group);
    step.group = static_cast<std::uint32_t>(group);
    step.bytes = in.number();
    step.value = static_cast<device::Word>(in.number());
    step.wait_id = static_cast<device::Word>(in.number());
    step.peer = static_cast<int>(in.integer());
    step.subject = static_cast<std::uint32_t>(in.number());
    step.ends = static_cast<std::uint32_t>(strand.ends.size());
    const std::uint64_t stage = in.number();
    step.reduces = (stage & 1) != 0;
    step.last = (stage & 2) != 0;
    step.raw = static_cast<std::uint8_t>(stage >> 2);
    step.sources = static_cast<std::uint16_t>(in.count());
    step.destinations = static_cast<std::uint16_t>(in.count());
    for (unsigned k = 0; k < step.sources + step.destinations && in.ok(); ++k)
      strand.ends.push_back(read_end(in, offset));
    strand.steps.push_back(step);
  }
  return strand;
}

}  // namespace

std::string to_binary(const Schedule& schedule) {
  Writer out;
  out.raw(kMagic);
  out.number(kScheduleVersion);
  out.number(static_cast<unsigned>(schedule.recording.ranks));
  out.number(schedule.recording.regions.size());
  for (const Region& each : schedule.recording.regions) {
    out.integer(each.rank);
    out.text(each.name);
    out.number(each.bytes);
  }
  out.number(schedule.recording.launches.size());
  for (const Launch& each : schedule.recording.launches) {
    out.text(each.program);
    out.number(each.first);
    out.number(each.recorded);
    out.number(each.blocks);
    out.number(each.threads);
    out.number(each.early ? 1 : 0);
    out.real(each.fold);
  }
  out.number(schedule.recording.strands.size());
  for (const Strand& each : schedule.recording.strands) write(out, each);
  out.number(schedule.promises.size());
  for (const Promise& each : schedule.promises) {
    std::uint64_t offset = 0;
    write(out, each.result, offset);
    out.number(each.bytes);
    out.integer(each.same_bits);
    out.number(each.sources.size());
    for (const End& source : each.sources) write(out, source, offset);
  }
  return out.take();
}

Result<Schedule> schedule_of(std::string_view binary) {
  Reader in(binary);
  if (!in.raw(kMagic))
    return Status(Code::invalid_argument, "this is no schedule", {}, "Name one that `sennit sim --schedule` wrote");
  if (const std::uint64_t version = in.number(); version != kScheduleVersion)
    return Status(Code::invalid_argument,
                  fmt::format("a schedule of version {}, where {} is read", version, kScheduleVersion), {},
                  "Write it again with this version of sennit");
  Schedule schedule;
  device::Recording& recording = schedule.recording;
  recording.ranks = static_cast<int>(std::min<std::uint64_t>(in.number(), 1 << 20));
  for (std::uint64_t left = in.count(); left > 0 && in.ok(); --left) {
    Region region;
    region.rank = static_cast<int>(in.integer());
    region.name = in.text();
    region.bytes = in.number();
    recording.regions.push_back(std::move(region));
  }
  for (std::uint64_t left = in.count(); left > 0 && in.ok(); --left) {
    Launch launch;
    launch.program = in.text();
    launch.first = static_cast<std::uint32_t>(in.number());
    launch.recorded = static_cast<std::uint32_t>(in.number());
    launch.blocks = static_cast<std::uint32_t>(in.number());
    launch.threads = static_cast<std::uint32_t>(in.number());
    launch.early = in.number() != 0;
    launch.fold = in.real();
    recording.launches.push_back(std::move(launch));
  }
  for (std::uint64_t left = in.count(); left > 0 && in.ok(); --left) recording.strands.push_back(read_strand(in));
  for (std::uint64_t left = in.count(); left > 0 && in.ok(); --left) {
    Promise promise;
    std::uint64_t offset = 0;
    promise.result = read_end(in, offset);
    promise.bytes = in.number();
    promise.same_bits = static_cast<int>(in.integer());
    for (std::uint64_t sources = in.count(); sources > 0 && in.ok(); --sources)
      promise.sources.push_back(read_end(in, offset));
    schedule.promises.push_back(std::move(promise));
  }
  if (!in.ok() || !in.done())
    return Status(Code::corrupt,
                  fmt::format("the schedule ends, or makes no sense, at byte {} of {}", in.at(), binary.size()), {},
                  "Write it again with this version of sennit");
  if (auto status = validate(schedule); !status) return status;
  return schedule;
}

}  // namespace sennit::sim
