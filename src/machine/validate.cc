#include "machine/validate.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "machine/fields.h"

namespace sennit::machine {

namespace {

/// Returns the length of the printable UTF-8 character that `text` starts with; 0 when it starts with none.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : 4;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0u) != 0x80u) return 0;
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool surrogate = first == 0xed && byte(1) >= 0xa0;
  const bool beyond = first == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool is_hex(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0 || (c >= 'a' && c <= 'f'); });
}

/// "0000:1b:00.0"; the domain may be longer than four digits (VMD, some virtual machines).
bool is_pci(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon < 4 || colon > 8 || text.size() != colon + 8) return false;
  return is_hex(text.substr(0, colon)) && is_hex(text.substr(colon + 1, 2)) && text[colon + 3] == ':' &&
         is_hex(text.substr(colon + 4, 2)) && text[colon + 6] == '.' && text[colon + 7] >= '0' &&
         text[colon + 7] <= '7';
}

/// Ids appear in SENNIT_SPLIT ("host0 (sm)=0.1") and in link names ("gpu0>nvswitch0"), so those marks are excluded.
bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
}

bool is_day(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  for (const std::size_t i : {0u, 1u, 2u, 3u, 5u, 6u, 8u, 9u})
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) return false;
  const int month = (text[5] - '0') * 10 + (text[6] - '0');
  const int day = (text[8] - '0') * 10 + (text[9] - '0');
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

class Validator {
 public:
  explicit Validator(const Machine& machine) : machine_(machine) {}

  Status run() {
    header();
    for (std::size_t i = 0; i < machine_.devices.size(); ++i)
      device(machine_.devices[i], fmt::format("devices[{}]", i));
    for (std::size_t i = 0; i < machine_.links.size(); ++i) link(machine_.links[i], fmt::format("links[{}]", i));
    for (std::size_t i = 0; i < machine_.curves.size(); ++i) curve(machine_.curves[i], fmt::format("curves[{}]", i));
    for (std::size_t i = 0; i < machine_.staged.size(); ++i) staged(machine_.staged[i], fmt::format("staged[{}]", i));
    return verdict_.status();
  }

 private:
  void text(std::string_view value, const std::string& where) {
    if (!is_printable(value)) verdict_.refuse(where, "holds bytes that are not text", "Write it as printable UTF-8");
  }

  void header() {
    if (machine_.name.empty()) verdict_.refuse("name", "is empty", "Give the machine a name");
    text(machine_.name, "name");
    text(machine_.description, "description");
    text(machine_.driver, "driver");
    text(machine_.cuda, "cuda");
    for (std::size_t i = 0; i < machine_.references.size(); ++i)
      text(machine_.references[i], fmt::format("references[{}]", i));
    if (!machine_.date.empty() && !is_day(machine_.date))
      verdict_.refuse("date", "is not a day", "Write it as 2026-11-21, or leave it empty");
    if (!machine_.fingerprint.empty() && (machine_.fingerprint.size() != 16 || !is_hex(machine_.fingerprint)))
      verdict_.refuse("fingerprint", "is not 16 lower-case hexadecimal digits",
                      "Leave it empty in hand-written files");
    if (machine_.devices.empty()) verdict_.refuse("devices", "is empty", "List at least one GPU or host memory");
  }

  void unique(std::string_view value, const std::string& where) {
    if (value.empty()) return;
    if (!names_.insert(lower(value)).second)
      verdict_.refuse(where, fmt::format("'{}' names a second device", printable(value)),
                      "Give every device its own id, uuid and pci");
  }

  void device(const Device& one, const std::string& where) {
    if (!is_id(one.id))
      verdict_.refuse(where + ".id", fmt::format("'{}' cannot be an id", printable(one.id)),
                      "Use 1 to 64 letters, digits, '_', '-' or '.'");
    text(one.uuid, where + ".uuid");
    text(one.model, where + ".model");
    if (!one.pci.empty() && !is_pci(one.pci))
      verdict_.refuse(where + ".pci", fmt::format("'{}' is not a PCI address", printable(one.pci)),
                      "Write it in lower case as 0000:1b:00.0, or leave it empty");
    unique(one.id, where + ".id");
    unique(one.uuid, where + ".uuid");
    unique(one.pci, where + ".pci");
    if (one.memory_bytes > std::uint64_t(1) << 60)
      verdict_.refuse(where + ".memory_bytes", fmt::format("is {}", one.memory_bytes), "Write it in bytes");
    if (one.sm_count < 0 || one.copy_engines < 0 || one.numa < -1)
      verdict_.refuse(where, "has a negative count", "Write 0 (or numa -1) where a count is not known");
    if (one.kind != DeviceKind::gpu && (one.sm_count != 0 || one.copy_engines != 0))
      verdict_.refuse(where + ".sm_count", fmt::format("a {} has neither SMs nor copy engines", name(one.kind)),
                      "Leave sm_count and copy_engines out");
    rate(one.read_gbps, where + ".read_gbps", kMostGbps);
    rate(one.write_gbps, where + ".write_gbps", kMostGbps);
    rate(one.read_write_gbps, where + ".read_write_gbps", 2 * kMostGbps);
  }

  void figure(const Figure& one, const std::string& where) {
    text(one.note, where + ".note");
    if (!std::isfinite(one.spread) || one.spread < 0)
      verdict_.refuse(where + ".spread", fmt::format("is {}", one.spread), "Write 0 where it is not known");
  }

  void rate(const Figure& one, const std::string& where, double most) {
    figure(one, where);
    if (!std::isfinite(one.value) || one.value <= 0 || one.value > most)
      verdict_.refuse(where + ".value", fmt::format("is {} GB/s, which no link delivers", one.value),
                      fmt::format("Write GB/s (10^9 bytes/s), above 0 and at most {}", most));
  }

  void rate(const std::optional<Figure>& one, const std::string& where, double most) {
    if (one) rate(*one, where, most);
  }

  void duration(const Figure& one, const std::string& where) {
    figure(one, where);
    if (!std::isfinite(one.value) || one.value < 0 || one.value > 1e6)
      verdict_.refuse(where + ".value", fmt::format("is {} µs", one.value), "Write µs, from 0 to 1000000");
  }

  const Device* known(std::string_view id, const std::string& where) {
    for (const Device& one : machine_.devices)
      if (one.id == id) return &one;
    verdict_.refuse(where, fmt::format("'{}' is not the id of a device", printable(id)),
                    "Use the id of an entry in devices");
    return nullptr;
  }

  void memory(std::string_view id, const std::string& where) {
    const Device* one = known(id, where);
    if (one != nullptr && one->kind != DeviceKind::gpu && one->kind != DeviceKind::host)
      verdict_.refuse(where, fmt::format("'{}' is a {}, which has no memory", one->id, name(one->kind)),
                      "Name a GPU or a host");
  }

  void link(const Link& one, const std::string& where) {
    known(one.from, where + ".from");
    known(one.to, where + ".to");
    if (one.from == one.to)
      verdict_.refuse(where, fmt::format("joins '{}' to itself", printable(one.from)), "Join two devices");
    if (one.count < 1 || one.count > 1024)
      verdict_.refuse(where + ".count", fmt::format("is {}", one.count), "Write how many links there are, 1 to 1024");
    if (!links_.emplace(std::min(one.from, one.to), std::max(one.from, one.to), one.kind).second)
      verdict_.refuse(where,
                      fmt::format("is a second {} bundle between '{}' and '{}'", name(one.kind), one.from, one.to),
                      "Merge them into one and raise its count");
    rate(one.forward_gbps, where + ".forward_gbps", kMostGbps);
    rate(one.backward_gbps, where + ".backward_gbps", kMostGbps);
    rate(one.both_gbps, where + ".both_gbps", 2 * kMostGbps);
    if (one.latency_us) duration(*one.latency_us, where + ".latency_us");
  }

  void curve(const Curve& one, const std::string& where) {
    memory(one.from, where + ".from");
    memory(one.to, where + ".to");
    if (!curves_.emplace(one.from, one.to, one.method, one.traffic).second)
      verdict_.refuse(where, "is a second curve for the same ends, method and traffic", "Keep one of them");
    if (one.points.empty()) verdict_.refuse(where + ".points", "is empty", "Leave the curve out");
    for (std::size_t i = 0; i < one.points.size(); ++i) {
      const Curve::Point& point = one.points[i];
      const std::string at = fmt::format("{}.points[{}]", where, i);
      if (i > 0 && point.bytes <= one.points[i - 1].bytes)
        verdict_.refuse(at + ".bytes", fmt::format("{} follows {}", point.bytes, one.points[i - 1].bytes),
                        "List points by ascending bytes, each size once");
      if (!std::isfinite(point.us) || point.us <= 0 || point.us > 1e9)
        verdict_.refuse(at + ".us", fmt::format("is {}", point.us), "Write the median time in µs");
      // bytes/µs is MB/s; divided by 1000 it is GB/s.
      else if (double(point.bytes) / point.us / 1000 > kMostGbps)
        verdict_.refuse(at + ".us",
                        fmt::format("moves {} bytes in {} µs, faster than any memory", point.bytes, point.us),
                        "Write the median time in µs");
      if (!std::isfinite(point.spread_us) || point.spread_us < 0)
        verdict_.refuse(at + ".spread_us", fmt::format("is {}", point.spread_us), "Write 0 where it is not known");
      if (point.repetitions < 0)
        verdict_.refuse(at + ".repetitions", fmt::format("is {}", point.repetitions),
                        "Write 0 where it is not known");
    }
  }

  void staged(const StagedPath& one, const std::string& where) {
    memory(one.from, where + ".from");
    memory(one.to, where + ".to");
    memory(one.stage, where + ".stage");
    if (one.stage == one.from || one.stage == one.to)
      verdict_.refuse(where + ".stage", fmt::format("'{}' is an end of the path", printable(one.stage)),
                      "Name the memory in between");
    if (!staged_.emplace(one.from, one.to, one.stage, one.method).second)
      verdict_.refuse(where, "is a second entry for the same path and method", "Keep one of them");
    if (one.blocks < 0) verdict_.refuse(where + ".blocks", fmt::format("is {}", one.blocks), "Write 0 for engines");
    duration(one.startup_us, where + ".startup_us");
    rate(one.rate_gbps, where + ".rate_gbps", kMostGbps);
  }

  const Machine& machine_;
  Verdict verdict_;
  std::set<std::string> names_;
  std::set<std::tuple<std::string, std::string, LinkKind>> links_;
  std::set<std::tuple<std::string, std::string, Method, Traffic>> curves_;
  std::set<std::tuple<std::string, std::string, std::string, Method>> staged_;
};

}  // namespace

Status validate(const Machine& machine) {
  return Validator(machine).run();
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character(text);
    if (length == 0) {
      result += '?';
      text.remove_prefix(1);
    } else {
      result += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return result;
}

}  // namespace sennit::machine
