// Reads the members of one JSON object strictly: types are checked, unknown members refused, and the first error is
// kept with the path of its field. Private to this room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "base/status.h"

namespace sennit::machine {

/// The first error of a whole document. Later ones are dropped: they are mostly consequences.
class Verdict {
 public:
  void refuse(const std::string& where, std::string what, std::string remedy) {
    if (status_.ok()) status_ = Status(Code::corrupt, std::move(what), where, std::move(remedy));
  }
  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

/// One object at `path`. Ask for each member once, then call finish().
class Fields {
 public:
  enum class Presence { required, optional };

  Fields(const Json& object, std::string path, Verdict& verdict) : path_(std::move(path)), verdict_(verdict) {
    if (object.is_object()) {
      object_ = &object;
    } else {
      verdict_.refuse(path_.empty() ? "document" : path_, fmt::format("is {} where an object belongs", type(object)),
                      "Write it as {\"member\": value, …}; see schemas/machine.schema.json");
    }
  }

  std::string at(std::string_view member) const {
    return path_.empty() ? std::string(member) : fmt::format("{}.{}", path_, member);
  }

  /// Returns the member, or nullptr when it is absent. Absence of a required one is an error.
  const Json* member(const char* key, Presence presence) {
    known_.emplace_back(key);
    if (object_ == nullptr) return nullptr;
    const auto found = object_->find(key);
    if (found != object_->end()) return &*found;
    if (presence == Presence::required)
      verdict_.refuse(at(key), "is missing", "Add it; see schemas/machine.schema.json");
    return nullptr;
  }

  void text(const char* key, std::string& into, Presence presence = Presence::optional) {
    if (const Json* value = member(key, presence)) {
      if (value->is_string())
        into = value->get_ref<const std::string&>();
      else
        wrong(key, *value, "text in quotes");
    }
  }

  void number(const char* key, double& into, Presence presence = Presence::optional) {
    if (const Json* value = member(key, presence)) {
      if (value->is_number())
        into = value->get<double>();
      else
        wrong(key, *value, "a number");
    }
  }

  /// Whole numbers in [least, most].
  template <class Integer>
  void integer(const char* key, Integer& into, std::int64_t least, std::int64_t most,
               Presence presence = Presence::optional) {
    const Json* value = member(key, presence);
    if (value == nullptr) return;
    if (!value->is_number_integer()) return wrong(key, *value, "a whole number");
    // Unsigned values beyond int64 would wrap when read as signed ones.
    const bool huge = value->is_number_unsigned() && value->get<std::uint64_t>() > std::uint64_t(INT64_MAX);
    const std::int64_t number = huge ? INT64_MAX : value->get<std::int64_t>();
    if (huge || number < least || number > most)
      return verdict_.refuse(at(key), fmt::format("is {}, outside {} to {}", value->dump(), least, most),
                             "Correct the figure and its unit");
    into = static_cast<Integer>(number);
  }

  void boolean(const char* key, bool& into) {
    if (const Json* value = member(key, Presence::optional)) {
      if (value->is_boolean())
        into = value->get<bool>();
      else
        wrong(key, *value, "true or false");
    }
  }

  /// Reads one of the enumerators in `all`, spelt as name() spells them.
  template <class Enum, std::size_t N>
  void choice(const char* key, Enum& into, const Enum (&all)[N], Presence presence = Presence::required) {
    const Json* value = member(key, presence);
    if (value == nullptr) return;
    std::string names;
    for (const Enum one : all) {
      if (value->is_string() && value->get_ref<const std::string&>() == name(one)) {
        into = one;
        return;
      }
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name(one));
    }
    verdict_.refuse(at(key), fmt::format("is {}, which is unknown", shortened(*value)),
                    fmt::format("Use one of: {}", names));
  }

  /// Calls body(element, path) for each element of an array; nothing when it is absent.
  template <class Body>
  void each(const char* key, Presence presence, const Body& body) {
    const Json* value = member(key, presence);
    if (value == nullptr) return;
    if (!value->is_array()) return wrong(key, *value, "a list");
    std::size_t index = 0;
    for (const Json& element : *value) body(element, fmt::format("{}[{}]", at(key), index++));
  }

  /// Refuses members that were not read.
  void finish() {
    if (object_ == nullptr) return;
    for (const auto& [key, value] : object_->items()) {
      bool expected = false;
      for (const std::string& one : known_) expected = expected || one == key;
      if (!expected)
        verdict_.refuse(at(key), "is not a member of this document",
                        "Check its spelling in schemas/machine.schema.json, or take it out");
    }
  }

 private:
  static std::string type(const Json& value) { return std::string(value.type_name()); }
  static std::string shortened(const Json& value) {
    const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    return text.size() <= 40 ? text : text.substr(0, 40) + "…";
  }
  void wrong(const char* key, const Json& value, std::string_view wanted) {
    verdict_.refuse(at(key), fmt::format("is {} where {} belongs", shortened(value), wanted),
                    fmt::format("Write {}", wanted));
  }

  const Json* object_ = nullptr;
  std::string path_;
  Verdict& verdict_;
  std::vector<std::string> known_;
};

}  // namespace sennit::machine
