// Counts what a drop-in did with a program's calls; one class serves MPI and NCCL.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>

namespace sennit::shim {

/// Messages up to these many bytes make up a class; the last one has no end.
inline constexpr std::array<std::uint64_t, 5> kSizeClasses{1 << 10, 16 << 10, 256 << 10, 4 << 20, 64 << 20};
std::size_t size_class(std::uint64_t bytes);
std::string name_of_size_class(std::size_t index);  ///< "to 16 KiB", "above 64 MiB"

/// Texts by small numbers. A text that is known is found without a lock.
class Names {
 public:
  using Number = std::uint16_t;
  static constexpr Number kNone = 0xffff;

  Names() = default;
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;
  ~Names();
  /// kNone: there are too many.
  Number number_of(std::string_view text);
  const std::string& text_of(Number number) const { return *places_[number].load(std::memory_order_acquire); }

  static constexpr std::size_t kPlaces = 1024;  ///< a limit of numbers; half as many texts are told apart

 private:
  static constexpr std::size_t kMost = kPlaces / 2;

  std::array<std::atomic<const std::string*>, kPlaces> places_{};  // by hash, then the next free one
  std::atomic<std::size_t> known_{0};
};

/// Tells an observer how the calling thread's running call is done (front.h).
class HowListener {
 public:
  using Tell = void(const char* how, std::size_t length);

  HowListener() = default;
  /// `place`: where the observer's function stands once there is one.
  explicit HowListener(Tell* const* place) : place_(place) {}
  bool listens() const { return place_ != nullptr && *place_ != nullptr; }
  void tell(std::string_view how) const {
    if (listens()) (*place_)(how.data(), how.size());
  }

 private:
  Tell* const* place_ = nullptr;
};

/// Calls are counted without a lock: a row is a few atomics, which is found by the numbers of its texts.
class Report {
 public:
  /// Counts one call of `operation`. `how`: the plan that took it, or why it was left to the real library.
  void count(std::string_view operation, std::uint64_t bytes, std::string_view how, double microseconds);
  bool empty() const { return all().empty(); }
  /// Returns a table for people, with lines of `rank`; ends in a newline.
  std::string text(std::string_view title) const;

 private:
  struct Row {
    std::uint64_t calls = 0, bytes = 0;
    double microseconds = 0;
  };
  struct Counted {
    std::atomic<std::uint64_t> key{0};  // of operation, size and how, never 0; 0: a free row
    std::atomic<std::uint64_t> calls{0}, bytes{0};
    std::atomic<double> microseconds{0};
  };
  using Key = std::tuple<std::string, std::size_t, std::string>;
  static constexpr std::size_t kRows = 1024;  // a limit: further ones are counted under a lock

  std::map<Key, Row, std::less<>> all() const;

  Names names_;
  std::array<Counted, kRows> counted_{};
  mutable std::mutex mutex_;
  std::map<Key, Row, std::less<>> others_;
};

}  // namespace sennit::shim
