#include "device/trace/executor.h"

#include <sys/mman.h>

#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/units.h"
#include "device/program.h"
#include "device/trace/block.h"

namespace sennit::device {

namespace {

Status not_here(std::string_view what) {
  return Status(Code::unsupported, fmt::format("the trace executor has no {}", what), {},
                "Use the host or the cuda executor");
}

class TraceEvent final : public Event {
 public:
  explicit TraceEvent(std::uint32_t own) : number(own) {}
  Result<bool> done() override { return true; }
  Result<double> since(Event&) override { return not_here("times"); }

  const std::uint32_t number;
  Word records = 0;
};

class TraceLane final : public Lane {
 public:
  TraceLane(std::shared_ptr<Recorder> recorder, int rank)
      : recorder_(std::move(recorder)), strand_(recorder_->add_lane(rank)) {}

  int device() const override { return 0; }
  Queue queue() override { return {0, strand_ + 1, strand_ + 1}; }

  Status copy(void* dst, const void* src, std::uint64_t bytes) override {
    if (bytes == 0) return {};
    recorder_->next_group(strand_);
    recorder_->add(strand_, Act::move).bytes = bytes;
    recorder_->add_source(strand_, src);
    recorder_->add_destination(strand_, dst);
    return {};
  }
  Status post(Word* there, const Word* here) override { return signal(there, *here); }
  Status signal(Word* there, Word value) override {
    recorder_->next_group(strand_);
    recorder_->add(strand_, Act::signal).value = value;
    recorder_->add_destination(strand_, there);
    return {};
  }
  Status launch(const Program& program, const void* arguments, unsigned blocks, unsigned threads) override {
    const Launch launched = recorder_->add_launch(strand_, program, blocks, threads);
    for (unsigned b = 0; b < launched.recorded; ++b) {
      TraceBlock block(*recorder_, launched.first + b, b, blocks);
      program.trace(block, arguments);
    }
    if (launched.recorded < blocks) {
      std::uint64_t recorded = 0, all = 0;
      for (unsigned b = 0; b < launched.recorded; ++b)
        recorded += Recorder::moved(recorder_->recording().strands[launched.first + b]);
      all = recorded;
      for (unsigned b = launched.recorded; b < blocks; ++b) {
        TraceBlock block(*recorder_, recorder_->add_spare(), b, blocks);
        program.trace(block, arguments);
        all += recorder_->drop_spare();
      }
      recorder_->set_fold(static_cast<std::uint32_t>(recorder_->recording().launches.size() - 1),
                          recorded == 0 ? 1.0 * blocks / launched.recorded
                                        : static_cast<double>(all) / static_cast<double>(recorded));
    }
    return {};
  }
  Status record(Event& event) override {
    auto& passed = static_cast<TraceEvent&>(event);
    step(Act::record, passed.number, ++passed.records);
    return {};
  }
  Status wait(Event& event) override {
    const auto& awaited = static_cast<TraceEvent&>(event);
    if (awaited.records != 0) step(Act::wait, awaited.number, awaited.records);
    return {};
  }
  Status synchronize() override { return {}; }
  Result<bool> idle() override { return true; }

 private:
  void step(Act act, std::uint32_t event, Word times) {
    recorder_->next_group(strand_);
    Step& step = recorder_->add(strand_, act);
    step.subject = event;
    step.value = times;
  }

  const std::shared_ptr<Recorder> recorder_;
  const std::uint32_t strand_;
};

}  // namespace

TraceExecutor::TraceExecutor(std::shared_ptr<Recorder> recorder, int rank)
    : recorder_(std::move(recorder)), rank_(rank) {
  DeviceInfo info;
  info.uuid = fmt::format("TRACE-{}", rank);
  info.model = "virtual rank";
  info.copy_engines = 2;
  devices_.push_back(info);
}

Result<Memory> TraceExecutor::reserve(std::string name, std::uint64_t bytes) {
  // Nothing else lies right behind it.
  const std::uint64_t length = bytes + 64 * KiB;
  void* const data = mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return Status(Code::out_of_memory, fmt::format("no addresses left for {} of rank {}", format_bytes(bytes), rank_),
                  {}, "Simulate a smaller message");
  recorder_->add(data, {rank_, std::move(name), bytes});
  return Memory(data, bytes, [length](void* at) { munmap(at, length); });
}

Result<Memory> TraceExecutor::allocate(int, std::size_t bytes) {
  void* const data = std::calloc(1, bytes == 0 ? 1 : bytes);
  if (data == nullptr)
    return Status(Code::out_of_memory, fmt::format("cannot allocate {}", format_bytes(bytes)), {}, "Free memory");
  recorder_->add(data, {rank_, "counts", bytes});
  return Memory(data, bytes, [](void* at) { std::free(at); });
}

Result<Location> TraceExecutor::describe(const void* pointer, std::uint64_t) {
  Location location;
  location.place = Place::device;
  location.device = 0;
  location.base = static_cast<std::byte*>(const_cast<void*>(pointer));
  return location;
}

Result<Shareable> TraceExecutor::share(const void*, std::uint64_t) {
  return not_here("memory to share: all its ranks are in one process");
}
Result<Memory> TraceExecutor::map(const Shareable&, int) {
  return not_here("memory of other processes");
}
Result<std::unique_ptr<Lane>> TraceExecutor::lane(int) {
  return std::unique_ptr<Lane>(new TraceLane(recorder_, rank_));
}
Result<std::unique_ptr<Lane>> TraceExecutor::adopt(int, void*) {
  return not_here("foreign streams");
}
Result<std::unique_ptr<Event>> TraceExecutor::event(int, bool) {
  return std::unique_ptr<Event>(new TraceEvent(recorder_->add_event()));
}

}  // namespace sennit::device
