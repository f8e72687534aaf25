#include "base/trace_events.h"

#include <cmath>

#include "base/json.h"

namespace sennit {

namespace {

// Numbers of fields in Perfetto's protos/perfetto/trace/, and of what they may be.
namespace packet {
constexpr std::uint32_t kTimestamp = 8, kSequence = 10, kEvent = 11, kInterned = 12, kFlags = 13, kTrack = 60;
}
namespace track {
constexpr std::uint32_t kUuid = 1, kName = 2, kParent = 5;
}
namespace event {
constexpr std::uint32_t kCategory = 3, kAnnotation = 4, kType = 9, kName = 10, kTrack = 11;
}
namespace interned {
constexpr std::uint32_t kCategories = 1, kNames = 2, kAnnotationNames = 3;  // of each:
constexpr std::uint32_t kId = 1, kText = 2;
}  // namespace interned
namespace annotation {
constexpr std::uint32_t kName = 1, kString = 6;
}
constexpr std::uint64_t kSliceBegin = 1, kSliceEnd = 2;
constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;

void put_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}
void put(std::string& to, std::uint32_t field, std::uint64_t value) {
  put_varint(to, std::uint64_t{field} << 3);
  put_varint(to, value);
}
void put(std::string& to, std::uint32_t field, std::string_view bytes) {
  put_varint(to, std::uint64_t{field} << 3 | 2);
  put_varint(to, bytes.size());
  to += bytes;
}

/// A process has a track, and so has each of its threads; 0 is no track.
std::uint64_t track_of(std::uint32_t process) {
  return (std::uint64_t{process} + 1) << 32;
}
std::uint64_t track_of(std::uint32_t process, std::uint32_t thread) {
  return track_of(process) + thread + 1;
}

std::uint64_t ns_of(double us) {
  return us > 0 ? static_cast<std::uint64_t>(std::llround(us * 1e3)) : 0;
}

/// A name of a program's may be no UTF-8.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

TraceWriter::TraceWriter(std::ostream& out, Format format) : out_(out), format_(format) {
  if (format_ == Format::json) out_ << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
}

TraceWriter::~TraceWriter() {
  if (format_ == Format::json) out_ << "\n]}\n";
}

void TraceWriter::write_json(std::string_view event) {
  out_ << (is_first_ ? "\n" : ",\n") << event;
  is_first_ = false;
}

void TraceWriter::write_packet(std::string content) {
  put(content, packet::kSequence, 1);
  put(content, packet::kFlags, is_first_ ? kStateCleared : kNeedsState);
  is_first_ = false;
  std::string framed;
  put(framed, 1, content);
  out_ << framed;
}

void TraceWriter::name_track(std::uint64_t id, std::uint64_t parent, std::string_view name) {
  std::string descriptor, content;
  put(descriptor, track::kUuid, id);
  if (parent != 0) put(descriptor, track::kParent, parent);
  put(descriptor, track::kName, name);
  put(content, packet::kTrack, descriptor);
  write_packet(std::move(content));
}

void TraceWriter::name_process(std::uint32_t process, std::string_view name) {
  if (format_ == Format::protobuf) return name_track(track_of(process), 0, name);
  write_json(
      text_of({{"name", "process_name"}, {"ph", "M"}, {"pid", process}, {"tid", 0}, {"args", {{"name", name}}}}));
}

void TraceWriter::name_thread(std::uint32_t process, std::uint32_t thread, std::string_view name) {
  if (format_ == Format::protobuf) return name_track(track_of(process, thread), track_of(process), name);
  write_json(
      text_of({{"name", "thread_name"}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}}));
}

std::uint64_t TraceWriter::intern(Interned& known, std::uint32_t kind, std::string_view text, std::string& data) {
  if (const auto found = known.find(text); found != known.end()) return found->second;
  const std::uint64_t id = known.size() + 1;
  known.emplace(text, id);
  std::string entry;
  put(entry, interned::kId, id);
  put(entry, interned::kText, text);
  put(data, kind, entry);
  return id;
}

void TraceWriter::add(const TraceSlice& slice) {
  if (format_ == Format::json) {
    Json arguments = Json::object();
    for (const auto& [name, said] : slice.arguments) arguments[std::string(name)] = said;
    return write_json(text_of({{"name", slice.name},
                               {"cat", slice.category},
                               {"ph", "X"},
                               {"pid", slice.process},
                               {"tid", slice.thread},
                               {"ts", slice.begin_us},
                               {"dur", slice.length_us},
                               {"args", arguments}}));
  }
  const std::uint64_t id = track_of(slice.process, slice.thread);
  std::string begin, data, first;
  put(begin, event::kCategory, intern(categories_, interned::kCategories, slice.category, data));
  put(begin, event::kName, intern(names_, interned::kNames, slice.name, data));
  put(begin, event::kType, kSliceBegin);
  put(begin, event::kTrack, id);
  for (const auto& [name, said] : slice.arguments) {
    std::string argument;
    put(argument, annotation::kName, intern(arguments_, interned::kAnnotationNames, name, data));
    put(argument, annotation::kString, said);
    put(begin, event::kAnnotation, argument);
  }
  put(first, packet::kTimestamp, ns_of(slice.begin_us));
  if (!data.empty()) put(first, packet::kInterned, data);
  put(first, packet::kEvent, begin);
  write_packet(std::move(first));
  std::string end, last;
  put(end, event::kType, kSliceEnd);
  put(end, event::kTrack, id);
  put(last, packet::kTimestamp, ns_of(slice.begin_us + slice.length_us));
  put(last, packet::kEvent, end);
  write_packet(std::move(last));
}

}  // namespace sennit
