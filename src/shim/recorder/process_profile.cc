#include "shim/recorder/process_profile.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include <fmt/format.h>

#include "base/environment.h"

namespace sennit::shim::recorder {

namespace {

struct Process {
  std::mutex mutex;  // of begin_profile() alone
  bool tried = false;
  std::atomic<profile::Recorder*> current{nullptr};
  std::unique_ptr<stage::PointerCache> memories;
  std::atomic<int> in_calls{0};
  std::array<std::uint8_t, device::kOperators + 1> reductions{};  ///< the last: of the program's own
};

/// Never destroyed: threads may be in calls while the process ends.
Process& process() {
  static auto* const made = new Process;
  return *made;
}

thread_local int depth = 0;

void say(const std::string& what) {
  std::fputs(fmt::format("sennit: this process is not profiled: {}\n", what).c_str(), stderr);
}

bool is_on(std::string_view variable) {
  const auto found = environment_switch(variable);
  return found.ok() && *found;
}

void in_child() {
  process().current.store(nullptr, std::memory_order_relaxed);
}

void at_exit() {
  profile::Recorder* const recorder = current_profile();
  if (recorder == nullptr) return;
  if (recorder->header().end.load(std::memory_order_relaxed) == profile::End::running)
    recorder->end_run(profile::now_ns(), profile::End::exited);
}

std::string program() {
  std::array<char, 4096> path{};
  const auto bytes = readlink("/proc/self/exe", path.data(), path.size() - 1);
  return bytes > 0 ? std::string(path.data(), static_cast<std::size_t>(bytes)) : std::string();
}

}  // namespace

profile::Recorder* begin_profile() {
  Process& it = process();
  const std::lock_guard lock(it.mutex);
  if (it.tried) return current_profile();
  it.tried = true;
  const std::string folder = environment("SENNIT_PROFILE");
  if (folder.empty()) {
    say("SENNIT_PROFILE names no folder. Start the program by sennit profile");
    return nullptr;
  }
  auto memories = stage::PointerCache::open(is_on("SENNIT_EMULATE"));
  if (!memories) {
    say(memories.status().text());
    return nullptr;
  }
  std::array<char, 64> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host = {'?'};
  auto made = profile::Recorder::create(std::filesystem::path(folder) /
                                        fmt::format("{}-{}.sennit-profile", host.data(), getpid()));
  if (!made) {
    say(made.status().text());
    return nullptr;
  }
  it.memories = std::move(*memories);
  profile::Recorder* const recorder = made->release();  // as long as the process: see process()
  recorder->header().accelerated = is_on("SENNIT_DISABLE") ? 0 : 1;
  profile::set(recorder->header().program, program());
  // The names at index 0 are those of calls without.
  recorder->how("");
  recorder->reduction("");
  for (int op = 0; op < device::kOperators; ++op)
    it.reductions[static_cast<std::size_t>(op)] =
        recorder->reduction(device::name(static_cast<device::Operator>(op)));
  it.reductions.back() = recorder->reduction("the program's own");
  recorder->type("");
  recorder->phase("");
  recorder->communicator({});
  it.current.store(recorder, std::memory_order_release);
  pthread_atfork(nullptr, nullptr, in_child);
  std::atexit(at_exit);
  return recorder;
}

profile::Recorder* current_profile() {
  return process().current.load(std::memory_order_acquire);
}

profile::Memory memory_of(const void* address) {
  if (address == nullptr) return profile::Memory::absent;
  switch (process().memories->kind_of(address).kind) {
    case stage::Whereabouts::Kind::host: return profile::Memory::host;
    case stage::Whereabouts::Kind::pinned: return profile::Memory::pinned;
    case stage::Whereabouts::Kind::managed: return profile::Memory::managed;
    case stage::Whereabouts::Kind::device: return profile::Memory::device;
  }
  return profile::Memory::host;
}

std::uint8_t reduction_of(std::optional<device::Operator> op) {
  const auto& known = process().reductions;
  return op ? known[static_cast<std::size_t>(*op)] : known.back();
}

InCall::InCall() : outermost_(depth++ == 0) {
  if (outermost_)
    others_ =
        static_cast<std::uint8_t>(std::clamp(process().in_calls.fetch_add(1, std::memory_order_relaxed), 0, 255));
}

InCall::~InCall() {
  --depth;
  if (outermost_) process().in_calls.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace sennit::shim::recorder
