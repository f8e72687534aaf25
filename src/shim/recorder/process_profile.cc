#include "shim/recorder/process_profile.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/environment.h"
#include "shim/recorder/call_group.h"
#include "shim/recorder/call_memo.h"
#include "shim/recorder/kernel_window.h"
#include "shim/recorder/memory_kinds.h"
#include "shim/recorder/nccl_choices.h"
#include "shim/recorder/profile_file.h"
#include "shim/report.h"

namespace sennit::shim::recorder {

constinit ProcessProfile the_process;
thread_local constinit OwnThread own_thread;

namespace {

struct Process {
  std::mutex mutex;  // of begin_profile() alone
  bool tried = false;
  std::unique_ptr<stage::PointerCache> memories;
  std::unique_ptr<ProfileFile> file;
  pid_t number = 0;                                               ///< of this process; a child of fork() has another
  pthread_key_t thread{};                                         // ends what a thread has
  std::array<std::uint8_t, device::kOperators + 1> reductions{};  ///< the last: of the program's own
  Names hows;
  std::array<std::atomic<std::uint8_t>, Names::kPlaces>
      how{};  ///< the profile's number by that of `hows`; 0: not yet
};

/// Never destroyed: threads may be in calls while the process ends.
Process& process() {
  static auto* const made = new Process;
  return *made;
}

void say(const std::string& what) {
  std::fputs(fmt::format("sennit: this process is not profiled: {}\n", what).c_str(), stderr);
}

bool is_on(std::string_view variable) {
  const auto found = environment_switch(variable);
  return found.ok() && *found;
}

void in_child() {
  the_process.current.store(nullptr, std::memory_order_relaxed);
}

void end_thread(void*) {
  delete std::exchange(own_thread.memos, nullptr);  // a call that still comes has new ones, which stay
  delete std::exchange(own_thread.group, nullptr);
  delete std::exchange(own_thread.kinds, nullptr);
  delete std::exchange(own_thread.choices, nullptr);
}

template <class Of>
Of& own(Of*& of) {
  if (of == nullptr) {
    of = new Of;
    (void)pthread_setspecific(process().thread, of);
  }
  return *of;
}

void at_exit() {
  profile::Recorder* const recorder = current_profile();
  if (recorder == nullptr) return;
  if (recorder->header().end.load(std::memory_order_relaxed) == profile::End::running)
    recorder->end_run(recorder->now(), profile::End::exited);
}

/// After all that was registered to run at the exit, which may still make calls.
__attribute__((destructor)) void at_end() {
  const Process& it = process();
  if (it.file != nullptr && it.number == getpid()) it.file->end();
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
  it.file = ProfileFile::begin(folder, host.data());
  if (it.file == nullptr) return nullptr;
  it.number = getpid();
  it.memories = std::move(*memories);
  profile::Recorder* const recorder = &it.file->recorder();
  recorder->header().accelerated = is_on("SENNIT_DISABLE") ? 0 : 1;
  profile::set(recorder->header().program, program());
  if (const std::string node = environment("SENNIT_NODE"); !node.empty()) profile::set(recorder->header().host, node);
  // The names at index 0 are those of calls without.
  recorder->reduction("");
  for (int op = 0; op < device::kOperators; ++op)
    it.reductions[static_cast<std::size_t>(op)] =
        recorder->reduction(device::name(static_cast<device::Operator>(op)));
  it.reductions.back() = recorder->reduction("the program's own");
  recorder->type("");
  recorder->phase("");
  recorder->how("");
  recorder->communicator({});
  the_process.collects_kernels = wanted_gpu_times() == profile::GpuTimes::kernel;
  (void)pthread_key_create(&it.thread, end_thread);
  the_process.current.store(recorder, std::memory_order_release);
  pthread_atfork(nullptr, nullptr, in_child);
  std::atexit(at_exit);
  return recorder;
}

profile::GpuTimes wanted_gpu_times() {
  static const profile::GpuTimes wanted = [] {
    const std::string said = environment("SENNIT_PROFILE_GPU_TIMES");
    return said == "none"     ? profile::GpuTimes::none
           : said == "all"    ? profile::GpuTimes::all
           : said == "kernel" ? profile::GpuTimes::kernel
                              : profile::GpuTimes::sampled;
  }();
  if (wanted != profile::GpuTimes::kernel) return wanted;
  return the_process.kernels_refused.load(std::memory_order_relaxed) ? profile::GpuTimes::sampled : wanted;
}

void tell_how(std::string_view how) {
  profile::Recorder* const recorder = current_profile();
  if (recorder == nullptr || own_thread.depth == 0) return;
  if (!how.starts_with("NCCL")) own_thread.is_sennits = true;
  Process& it = process();
  const Names::Number number = it.hows.number_of(how);
  std::uint8_t known = number != Names::kNone ? it.how[number].load(std::memory_order_relaxed) : recorder->how(how);
  if (known == 0) it.how[number].store(known = recorder->how(how), std::memory_order_relaxed);
  own_thread.hows_differ = own_thread.hows_differ || (own_thread.how != 0 && own_thread.how != known);
  own_thread.how = known;
}

void begin_phase(std::string_view name) {
  if (profile::Recorder* const recorder = current_profile())
    the_process.phase.store(recorder->phase(name), std::memory_order_relaxed);
}

bool pause_recording(bool paused) {
  profile::Recorder* const recorder = current_profile();
  if (recorder == nullptr) return false;
  the_process.paused.store(paused, std::memory_order_relaxed);
  recorder->pause(paused);
  pause_kernels(*recorder, paused);
  return true;
}

CallMemos& memos_of(OwnThread& own) {
  return recorder::own(own.memos);
}
CallGroup& group_of(OwnThread& own) {
  return recorder::own(own.group);
}
NcclChoices& choices_of(OwnThread& own) {
  return recorder::own(own.choices);
}
MemoryKinds& kinds_of(OwnThread& own) {
  return recorder::own(own.kinds);
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

}  // namespace sennit::shim::recorder

extern "C" __attribute__((visibility("default"))) void sennit_observe_how(const char* how, std::size_t length) {
  sennit::shim::recorder::tell_how({how, length});
}

extern "C" __attribute__((visibility("default"))) void sennit_profile_phase(const char* name) {
  sennit::shim::recorder::begin_phase(name != nullptr ? name : "");
}

extern "C" __attribute__((visibility("default"))) int sennit_profile_pause(int paused) {
  return sennit::shim::recorder::pause_recording(paused != 0) ? 1 : 0;
}
