// Writes values as bytes and reads them: what ranks send each other, little-endian, every length checked on reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sennit::comm {

using Bytes = std::vector<std::byte>;

/// Appends values to a message.
class Writer {
 public:
  Writer& number(std::uint64_t value) {
    for (int i = 0; i < 8; ++i) bytes_.push_back(std::byte(value >> (8 * i)));
    return *this;
  }
  Writer& text(std::string_view value) { return data(std::as_bytes(std::span(value))); }
  Writer& data(std::span<const std::byte> value) {
    number(value.size());
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    return *this;
  }
  /// Long sentences are cut, so that a failure always fits a small frame.
  Writer& status(const Status& value) {
    number(std::uint64_t(value.code()));
    for (const std::string& sentence : {value.what(), value.where(), value.remedy()})
      text(std::string_view(sentence).substr(0, 4000));
    return *this;
  }
  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

/// Takes values off a message in the order they were written. A message that ends early or holds too much
/// makes every later value empty and finish() an error, so that callers check once, at the end.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint64_t number() {
    const auto taken = take(8);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < taken.size(); ++i) value |= std::uint64_t(taken[i]) << (8 * i);
    return value;
  }
  std::span<const std::byte> data() { return take(number()); }
  std::string text() {
    const auto taken = data();
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  Status status() {
    const std::uint64_t code = number();
    if (code > std::uint64_t(Code::aborted)) good_ = false;
    std::string what = text(), where = text(), remedy = text();
    return good_ && code != 0 ? Status(Code(code), std::move(what), std::move(where), std::move(remedy)) : Status();
  }
  /// corrupt unless exactly the whole message was read.
  Status finish() const {
    if (good_ && bytes_.empty()) return {};
    return Status(Code::corrupt, "a message has the wrong length", {},
                  "Run the same version of sennit on every rank");
  }

 private:
  std::span<const std::byte> take(std::uint64_t count) {
    if (!good_ || count > bytes_.size()) {
      good_ = false;
      return {};
    }
    const auto taken = bytes_.first(std::size_t(count));
    bytes_ = bytes_.subspan(std::size_t(count));
    return taken;
  }
  std::span<const std::byte> bytes_;
  bool good_ = true;
};

}  // namespace sennit::comm
