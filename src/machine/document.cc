#include "machine/document.h"

#include "machine/catalogue.h"
#include "machine/fields.h"
#include "machine/validate.h"

namespace sennit::machine {

namespace {

using Presence = Fields::Presence;

constexpr Source kSources[] = {Source::measured, Source::specification, Source::assumed};
constexpr DeviceKind kDeviceKinds[] = {DeviceKind::gpu, DeviceKind::host, DeviceKind::pcie_switch,
                                       DeviceKind::nvswitch, DeviceKind::nic};
constexpr LinkKind kLinkKinds[] = {LinkKind::nvlink, LinkKind::pcie, LinkKind::socket, LinkKind::network};
constexpr Method kMethods[] = {Method::engine, Method::sm};
constexpr Traffic kTraffics[] = {Traffic::one_way, Traffic::both_ways, Traffic::all_at_once};

Json to_json(const Figure& figure) {
  return {{"value", figure.value}, {"source", name(figure.source)}, {"spread", figure.spread}, {"note", figure.note}};
}

void add(Json& object, const char* key, const std::optional<Figure>& figure) {
  if (figure) object[key] = to_json(*figure);
}

Json to_json(const Device& device) {
  Json object = {{"id", device.id},
                 {"kind", name(device.kind)},
                 {"uuid", device.uuid},
                 {"pci", device.pci},
                 {"model", device.model},
                 {"memory_bytes", device.memory_bytes},
                 {"sm_count", device.sm_count},
                 {"copy_engines", device.copy_engines},
                 {"numa", device.numa}};
  add(object, "read_gbps", device.read_gbps);
  add(object, "write_gbps", device.write_gbps);
  add(object, "read_write_gbps", device.read_write_gbps);
  return object;
}

Json to_json(const Link& link) {
  Json object = {{"from", link.from},
                 {"to", link.to},
                 {"kind", name(link.kind)},
                 {"count", link.count},
                 {"forward_gbps", to_json(link.forward_gbps)},
                 {"backward_gbps", to_json(link.backward_gbps)}};
  add(object, "both_gbps", link.both_gbps);
  add(object, "latency_us", link.latency_us);
  object["shared"] = link.shared;
  object["peer_access"] = link.peer_access;
  return object;
}

Json to_json(const Curve& curve) {
  Json points = Json::array();
  for (const Curve::Point& point : curve.points)
    points.push_back({{"bytes", point.bytes},
                      {"us", point.us},
                      {"spread_us", point.spread_us},
                      {"repetitions", point.repetitions}});
  return {{"from", curve.from},
          {"to", curve.to},
          {"method", name(curve.method)},
          {"traffic", name(curve.traffic)},
          {"points", std::move(points)}};
}

Json to_json(const StagedPath& staged) {
  return {{"from", staged.from},
          {"to", staged.to},
          {"stage", staged.stage},
          {"method", name(staged.method)},
          {"startup_us", to_json(staged.startup_us)},
          {"rate_gbps", to_json(staged.rate_gbps)},
          {"chunk_bytes", staged.chunk_bytes},
          {"blocks", staged.blocks}};
}

template <class T>
Json list(const std::vector<T>& values) {
  Json array = Json::array();
  for (const T& value : values) array.push_back(to_json(value));
  return array;
}

Figure read_figure(const Json& value, const std::string& path, Verdict& verdict) {
  Figure figure;
  Fields fields(value, path, verdict);
  fields.number("value", figure.value, Presence::required);
  fields.choice("source", figure.source, kSources);
  fields.number("spread", figure.spread);
  fields.text("note", figure.note);
  fields.finish();
  return figure;
}

void read_figure(Fields& fields, const char* key, Figure& into, Verdict& verdict) {
  if (const Json* value = fields.member(key, Presence::required)) into = read_figure(*value, fields.at(key), verdict);
}

void read_figure(Fields& fields, const char* key, std::optional<Figure>& into, Verdict& verdict) {
  if (const Json* value = fields.member(key, Presence::optional)) into = read_figure(*value, fields.at(key), verdict);
}

Device read_device(const Json& value, const std::string& path, Verdict& verdict) {
  Device device;
  Fields fields(value, path, verdict);
  fields.text("id", device.id, Presence::required);
  fields.choice("kind", device.kind, kDeviceKinds);
  fields.text("uuid", device.uuid);
  fields.text("pci", device.pci);
  fields.text("model", device.model);
  fields.integer("memory_bytes", device.memory_bytes, 0, std::int64_t(1) << 60);
  fields.integer("sm_count", device.sm_count, 0, 100000);
  fields.integer("copy_engines", device.copy_engines, 0, 1000);
  fields.integer("numa", device.numa, -1, 100000);
  read_figure(fields, "read_gbps", device.read_gbps, verdict);
  read_figure(fields, "write_gbps", device.write_gbps, verdict);
  read_figure(fields, "read_write_gbps", device.read_write_gbps, verdict);
  fields.finish();
  return device;
}

Link read_link(const Json& value, const std::string& path, Verdict& verdict) {
  Link link;
  Fields fields(value, path, verdict);
  fields.text("from", link.from, Presence::required);
  fields.text("to", link.to, Presence::required);
  fields.choice("kind", link.kind, kLinkKinds);
  fields.integer("count", link.count, 1, 1024);
  read_figure(fields, "forward_gbps", link.forward_gbps, verdict);
  read_figure(fields, "backward_gbps", link.backward_gbps, verdict);
  read_figure(fields, "both_gbps", link.both_gbps, verdict);
  read_figure(fields, "latency_us", link.latency_us, verdict);
  fields.boolean("shared", link.shared);
  fields.boolean("peer_access", link.peer_access);
  fields.finish();
  return link;
}

Curve read_curve(const Json& value, const std::string& path, Verdict& verdict) {
  Curve curve;
  Fields fields(value, path, verdict);
  fields.text("from", curve.from, Presence::required);
  fields.text("to", curve.to, Presence::required);
  fields.choice("method", curve.method, kMethods);
  fields.choice("traffic", curve.traffic, kTraffics);
  fields.each("points", Presence::required, [&](const Json& element, const std::string& at) {
    Curve::Point point;
    Fields inner(element, at, verdict);
    inner.integer("bytes", point.bytes, 0, std::int64_t(1) << 60, Presence::required);
    inner.number("us", point.us, Presence::required);
    inner.number("spread_us", point.spread_us);
    inner.integer("repetitions", point.repetitions, 0, 1'000'000'000);
    inner.finish();
    curve.points.push_back(point);
  });
  fields.finish();
  return curve;
}

StagedPath read_staged(const Json& value, const std::string& path, Verdict& verdict) {
  StagedPath staged;
  Fields fields(value, path, verdict);
  fields.text("from", staged.from, Presence::required);
  fields.text("to", staged.to, Presence::required);
  fields.text("stage", staged.stage, Presence::required);
  fields.choice("method", staged.method, kMethods);
  read_figure(fields, "startup_us", staged.startup_us, verdict);
  read_figure(fields, "rate_gbps", staged.rate_gbps, verdict);
  fields.integer("chunk_bytes", staged.chunk_bytes, 0, std::int64_t(1) << 60);
  fields.integer("blocks", staged.blocks, 0, 100000);
  fields.finish();
  return staged;
}

}  // namespace

Json to_json(const Machine& machine) {
  Json references = Json::array();
  for (const std::string& reference : machine.references) references.push_back(reference);
  return {{"version", kVersion},
          {"name", machine.name},
          {"description", machine.description},
          {"fingerprint", machine.fingerprint},
          {"driver", machine.driver},
          {"cuda", machine.cuda},
          {"date", machine.date},
          {"references", std::move(references)},
          {"devices", list(machine.devices)},
          {"links", list(machine.links)},
          {"curves", list(machine.curves)},
          {"staged", list(machine.staged)}};
}

Result<Machine> from_json(const Json& document, std::string_view origin) {
  Verdict verdict;
  Machine machine;
  Fields fields(document, "", verdict);
  // The version comes first: a document of another version would otherwise fail for a reason that misleads.
  if (const Json* version = fields.member("version", Presence::required)) {
    if (verdict.ok() && *version != Json(kVersion))
      return Status(Code::unsupported,
                    fmt::format("version {} of the machine document; this sennit reads version {}",
                                version->dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 40), kVersion),
                    fmt::format("{}: version", origin), "Regenerate the file with this sennit, or update sennit");
  }
  fields.text("name", machine.name, Presence::required);
  fields.text("description", machine.description);
  fields.text("fingerprint", machine.fingerprint);
  fields.text("driver", machine.driver);
  fields.text("cuda", machine.cuda);
  fields.text("date", machine.date);
  fields.each("references", Presence::optional, [&](const Json& element, const std::string& at) {
    if (element.is_string())
      machine.references.push_back(element.get<std::string>());
    else
      verdict.refuse(at, "is not text", "Write a publication or data sheet in quotes");
  });
  fields.each("devices", Presence::required, [&](const Json& element, const std::string& at) {
    machine.devices.push_back(read_device(element, at, verdict));
  });
  fields.each("links", Presence::optional, [&](const Json& element, const std::string& at) {
    machine.links.push_back(read_link(element, at, verdict));
  });
  fields.each("curves", Presence::optional, [&](const Json& element, const std::string& at) {
    machine.curves.push_back(read_curve(element, at, verdict));
  });
  fields.each("staged", Presence::optional, [&](const Json& element, const std::string& at) {
    machine.staged.push_back(read_staged(element, at, verdict));
  });
  fields.finish();
  if (!verdict.ok()) return Status(verdict.status()).in(origin);
  if (Status status = validate(machine); !status.ok()) return std::move(status).in(origin);
  return machine;
}

Result<Machine> load(const std::string& name_or_file) {
  const bool is_file = name_or_file.find('/') != std::string::npos || name_or_file.ends_with(".json");
  std::filesystem::path file = name_or_file;
  if (!is_file) {
    Result<std::filesystem::path> shipped = shipped_file(name_or_file);
    if (!shipped.ok()) return std::move(shipped).status();
    file = *shipped;
  }
  const Result<Json> document = read_json(file);
  if (!document.ok()) return document.status();
  return from_json(*document, file.filename().string());
}

}  // namespace sennit::machine
