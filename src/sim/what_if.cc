#include "sim/what_if.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sennit::sim {

namespace {

constexpr std::string_view kForm = "Write it as nvlink.bandwidth=2x or gpu0-gpu1.bandwidth=50";

struct Change {
  std::string_view which;
  double value = 0;
  bool factor = false;
};

Result<Change> parse(std::string_view text) {
  const auto wrong = [&](std::string_view what) {
    return Status(Code::invalid_argument, fmt::format("'{}' {}", text, what), {}, std::string(kForm));
  };
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) return wrong("gives no value");
  const auto name = text.substr(0, equals);
  auto value = text.substr(equals + 1);
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos || name.substr(dot + 1) != "bandwidth") return wrong("names no bandwidth");
  Change change{name.substr(0, dot), 0, value.ends_with('x')};
  if (change.factor) value.remove_suffix(1);
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), change.value);
  if (error != std::errc() || end != value.data() + value.size() || !(change.value > 0) || change.value > 1e9)
    return wrong("gives no positive number");
  return change;
}

void set(machine::Figure& figure, const Change& change) {
  figure.value = change.factor ? figure.value * change.value : change.value;
  figure.source = machine::Source::assumed;
  figure.note = "what if";
}

}  // namespace

Status apply_what_if(machine::Machine& machine, std::string_view text) {
  const auto change = parse(text);
  if (!change) return change.status();
  std::set<std::string> known;
  bool found = false;
  std::set<std::string> touched;  // devices at the ends of what changes
  for (machine::Link& link : machine.links) {
    known.insert(std::string(name(link.kind)));
    const bool by_ends = change->which == link.from + "-" + link.to || change->which == link.to + "-" + link.from;
    if (change->which != name(link.kind) && !by_ends) continue;
    found = true;
    // A GPU's own limits are those towards other GPUs: of its NVLink where it has any.
    const auto has_nvlink = [&](const std::string& id) {
      return std::ranges::any_of(machine.links, [&](const machine::Link& other) {
        return other.kind == machine::LinkKind::nvlink && (other.from == id || other.to == id);
      });
    };
    for (const std::string& end : {link.from, link.to})
      if (link.kind == machine::LinkKind::nvlink || !has_nvlink(end)) touched.insert(end);
    set(link.forward_gbps, *change);
    set(link.backward_gbps, *change);
    if (link.both_gbps && change->factor) set(*link.both_gbps, *change);
    if (!change->factor) link.both_gbps.reset();
  }
  if (!found)
    return Status(Code::invalid_argument, fmt::format("machine '{}' has no link '{}'", machine.name, change->which),
                  {},
                  fmt::format("It has links of kind {}; or name one by its ends, such as {}-{}",
                              fmt::join(known, ", "), machine.links.empty() ? "gpu0" : machine.links.front().from,
                              machine.links.empty() ? "gpu1" : machine.links.front().to));
  machine.curves.clear();
  machine.staged.clear();
  // What a GPU sends and receives over all its links was found to be what these carry.
  for (machine::Device& device : machine.devices)
    if (device.kind == machine::DeviceKind::gpu && touched.contains(device.id))
      for (auto* const limit : {&device.read_gbps, &device.write_gbps, &device.read_write_gbps}) {
        if (*limit && change->factor) set(**limit, *change);
        if (!change->factor) limit->reset();
      }
  return {};
}

}  // namespace sennit::sim
