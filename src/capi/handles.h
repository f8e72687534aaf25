// Gives C programs handles to hold. A handle is a number disguised as a pointer: it is looked up, never followed, and
// no number is given out twice, so destroyed, foreign and made-up handles are errors instead of crashes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "capi/errors.h"

namespace sennit::capi {

static_assert(sizeof(void*) == 8, "a handle holds 16 bits that say its kind, and a number of 48");

/// The living objects behind handles of one kind. `Magic` fills the upper bits with an address that no x86-64 or Arm
/// process can have: following such a handle faults at once. Thread-safe; whoever found an object keeps it alive.
template <class Handle, class Object, std::uint16_t Magic>
class Handles {
 public:
  explicit Handles(std::string_view what) : what_(what) {}

  Handle* add(std::shared_ptr<Object> object) {
    const std::unique_lock lock(mutex_);
    const std::uintptr_t number = std::uintptr_t(Magic) << 48 | next_;
    objects_.emplace(number, std::move(object));
    next_ += 16;  // looks aligned, for languages that keep flags in the low bits of a pointer
    return reinterpret_cast<Handle*>(number);
  }

  /// Errors: invalid_argument, naming `parameter`.
  Result<std::shared_ptr<Object>> find(const Handle* handle, std::string_view parameter) const {
    if (handle == nullptr) return null_argument(parameter);
    const std::shared_lock lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    if (found == objects_.end()) return unknown(parameter);
    return found->second;
  }

  /// Returns the object as find() does, and makes the handle void from now on.
  Result<std::shared_ptr<Object>> take(const Handle* handle, std::string_view parameter) {
    const std::unique_lock lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    if (found == objects_.end()) return unknown(parameter);
    auto object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

  /// Voids the handles of all objects for which `doomed` holds.
  template <class Predicate>
  void drop(Predicate doomed) {
    const std::unique_lock lock(mutex_);
    std::erase_if(objects_, [&](const auto& each) { return doomed(*each.second); });
  }

 private:
  Status unknown(std::string_view parameter) const {
    return Status(Code::invalid_argument, fmt::format("{} is no {}", parameter, what_), {},
                  "It was destroyed before, or comes from elsewhere");
  }

  const std::string_view what_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::uintptr_t, std::shared_ptr<Object>> objects_;
  std::uintptr_t next_ = 16;
};

}  // namespace sennit::capi
