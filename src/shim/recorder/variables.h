// Performance variables of the program's MPI (MPI_T), such as the lengths of its queues, looked at now and then while
// the program is in a call. Which there are is the MPI's affair; one that cannot be read is named, and left out.
#pragma once

#include <dlfcn.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "profile/recorder.h"
#include "shim/mpi/abi/library.h"

namespace sennit::shim::recorder {

/// Returns true if one of the patterns fits the name. They are those of a shell, with commas between.
inline bool is_wanted(const std::string& name, std::string_view patterns) {
  while (!patterns.empty()) {
    const std::size_t comma = std::min(patterns.find(','), patterns.size());
    if (fnmatch(std::string(patterns.substr(0, comma)).c_str(), name.c_str(), FNM_CASEFOLD) == 0) return true;
    patterns.remove_prefix(std::min(comma + 1, patterns.size()));
  }
  return false;
}

/// Between MPI_Init and MPI_Finalize. sample() is thread-safe.
template <class Abi>
class Variables {
 public:
  /// A thread looks at the clock once in so many calls.
  static constexpr unsigned kCalls = 64;

  /// After MPI_Init. Variables that cannot be had are named in the profile.
  void begin(profile::Recorder& recorder, const mpi::Library<Abi>& library, void* handle, std::string_view patterns) {
    world_ = mpi::from_handle<typename Abi::Comm>(library.comm_world());
    int provided = 0, known = 0;
    constexpr int kMultiple = Abi::kFlavour == mpi::Flavour::standard ? 4096 : 3;
    if (patterns == "none" || !look_up(handle) || of_.init_thread(kMultiple, &provided) != 0) return;
    if (of_.get_num(&known) != 0 || of_.session_create(&session_) != 0) {
      (void)of_.finalize();
      return;
    }
    for (int i = 0; i < known; ++i) add(recorder, handle, i, patterns);
    every_ = static_cast<std::uint64_t>(1e6 / recorder.header().ns_per_tick.load(std::memory_order_relaxed));
    if (all_.empty()) return end();
    ready_.store(true, std::memory_order_release);
  }

  /// At most each ms.
  void sample(profile::Recorder& recorder, std::uint64_t now) {
    if (!ready_.load(std::memory_order_acquire) || now < next_.load(std::memory_order_relaxed)) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || !ready_.load(std::memory_order_relaxed)) return;
    next_.store(now + every_, std::memory_order_relaxed);
    for (One& one : all_)
      if (!one.failed && of_.read(session_, one.handle, room_.data()) == 0)
        recorder.sample(one.index, now, value_of(one));
      else
        one.failed = true;
  }

  /// Before MPI_Finalize.
  void end() {
    const std::lock_guard lock(mutex_);
    ready_.store(false, std::memory_order_relaxed);
    if (session_ == nullptr) return;
    for (One& one : all_) (void)of_.handle_free(session_, &one.handle);
    all_.clear();
    (void)of_.session_free(&session_);
    session_ = nullptr;
    (void)of_.finalize();
  }

 private:
  struct Functions {
    int (*init_thread)(int, int*);
    int (*finalize)();
    int (*get_num)(int*);
    int (*get_info)(int index, char* name, int* name_length, int* verbosity, int* kind, typename Abi::Datatype* type,
                    void** names, char* text, int* text_length, int* bind, int* readonly, int* continuous,
                    int* atomic);
    int (*session_create)(void** session);
    int (*session_free)(void** session);
    int (*handle_alloc)(void* session, int index, void* object, void** handle, int* count);
    int (*handle_free)(void* session, void** handle);
    int (*start)(void* session, void* handle);
    int (*read)(void* session, void* handle, void* values);
  };
  enum class Kind : std::uint8_t { none, int32, uint32, int64, uint64, real };
  struct One {
    std::uint16_t index = 0;
    Kind kind = Kind::none;
    int count = 0;
    void* handle = nullptr;
    bool failed = false;
  };

  bool look_up(void* library) {
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          dlsym(library, fmt::format("MPI_T_{}", name).c_str()));
      return function != nullptr;
    };
    return find(of_.init_thread, "init_thread") && find(of_.finalize, "finalize") &&
           find(of_.get_num, "pvar_get_num") && find(of_.get_info, "pvar_get_info") &&
           find(of_.session_create, "pvar_session_create") && find(of_.session_free, "pvar_session_free") &&
           find(of_.handle_alloc, "pvar_handle_alloc") && find(of_.handle_free, "pvar_handle_free") &&
           find(of_.start, "pvar_start") && find(of_.read, "pvar_read");
  }

  static Kind kind_of(typename Abi::Datatype type, void* library) {
    constexpr std::pair<std::string_view, Kind> kKinds[] = {{"MPI_INT", Kind::int32},
                                                            {"MPI_UNSIGNED", Kind::uint32},
                                                            {"MPI_UNSIGNED_LONG", Kind::uint64},
                                                            {"MPI_UNSIGNED_LONG_LONG", Kind::uint64},
                                                            {"MPI_COUNT", Kind::int64},
                                                            {"MPI_DOUBLE", Kind::real}};
    for (const mpi::Predefined& one : mpi::kPredefined)
      for (const auto& [name, kind] : kKinds)
        if (one.name == name && mpi::Library<Abi>::predefined(one, library) == mpi::to_handle(type)) return kind;
    return Kind::none;
  }

  void add(profile::Recorder& recorder, void* from, int at, std::string_view patterns) {
    constexpr int kNoObject = Abi::kFlavour == mpi::Flavour::mpich     ? 9700
                              : Abi::kFlavour == mpi::Flavour::openmpi ? 0
                                                                       : 1;
    std::array<char, 256> name{}, text{};
    int name_length = name.size(), text_length = text.size();
    int verbosity = 0, kind = 0, bind = 0, readonly = 0, continuous = 0, atomic = 0;
    typename Abi::Datatype type{};
    void* names = nullptr;
    const int told = of_.get_info(at, name.data(), &name_length, &verbosity, &kind, &type, &names, text.data(),
                                  &text_length, &bind, &readonly, &continuous, &atomic);
    const std::string known = told == 0 ? std::string(name.data()) : fmt::format("variable {}", at);
    if (!is_wanted(known, patterns)) return;
    const auto fail = [&](const std::string& why) { (void)recorder.variable(known, why); };
    if (told != 0) return fail(fmt::format("MPI_T_pvar_get_info fails with {}", told));
    One made{.kind = kind_of(type, from)};
    if (made.kind == Kind::none) return fail("its values are no numbers");
    if (bind != kNoObject && bind != kNoObject + 1) return fail("it is of no communicator");
    void* const object = bind == kNoObject ? nullptr : static_cast<void*>(&world_);
    if (const int code = of_.handle_alloc(session_, at, object, &made.handle, &made.count); code != 0)
      return fail(fmt::format("MPI_T_pvar_handle_alloc fails with {}", code));
    room_.resize(std::max(room_.size(), static_cast<std::size_t>(std::max(made.count, 1))));
    int code = continuous == 0 ? of_.start(session_, made.handle) : 0;
    if (code == 0) code = of_.read(session_, made.handle, room_.data());
    if (code != 0) {
      (void)of_.handle_free(session_, &made.handle);
      return fail(fmt::format("MPI_T_pvar_read fails with {}", code));
    }
    made.index = recorder.variable(known, {});
    all_.push_back(made);
  }

  /// Returns the sum of a variable's values, such as one for each rank of a communicator.
  std::uint64_t value_of(const One& one) const {
    std::uint64_t sum = 0;
    const auto add = [&]<class T>(const T*) {
      for (int i = 0; i < one.count; ++i) {
        T value;
        std::memcpy(&value, reinterpret_cast<const char*>(room_.data()) + static_cast<std::size_t>(i) * sizeof(T),
                    sizeof(T));
        if (value > T{}) sum += static_cast<std::uint64_t>(value);
      }
    };
    switch (one.kind) {
      case Kind::int32: add(static_cast<const std::int32_t*>(nullptr)); break;
      case Kind::uint32: add(static_cast<const std::uint32_t*>(nullptr)); break;
      case Kind::int64: add(static_cast<const std::int64_t*>(nullptr)); break;
      case Kind::uint64: add(static_cast<const std::uint64_t*>(nullptr)); break;
      case Kind::real: add(static_cast<const double*>(nullptr)); break;
      case Kind::none: break;
    }
    return sum;
  }

  Functions of_{};
  typename Abi::Comm world_{};
  std::atomic<bool> ready_{false};
  std::atomic<std::uint64_t> next_{0};  ///< when it is to be looked again, by the recorder's clock
  std::uint64_t every_ = 0;             ///< ticks
  std::mutex mutex_;                    ///< of all below; who does not get it goes on
  void* session_ = nullptr;
  std::vector<One> all_;
  std::vector<std::uint64_t> room_;
};

}  // namespace sennit::shim::recorder
