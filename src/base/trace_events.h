// Traces of events that viewers of timelines open: Perfetto (ui.perfetto.dev) and chrome://tracing. They are written
// as JSON that both read, and where there are many events as Perfetto's own protobuf: JSON of several 100 MB is more
// than a viewer loads.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace sennit {

/// A slice says what a thread did for a while. `process`: a group of rows, `thread`: a row; times in µs.
struct TraceSlice {
  std::uint32_t process = 0, thread = 0;
  std::string_view name, category;
  double begin_us = 0, length_us = 0;
  std::span<const std::pair<std::string_view, std::string>> arguments{};
};

class TraceWriter {
 public:
  enum class Format { json, protobuf };
  static constexpr std::uint64_t kMostJson = 200'000;  ///< slices
  static Format format_of(std::uint64_t slices) { return slices > kMostJson ? Format::protobuf : Format::json; }

  /// Errors are those of `out`, which the caller asks.
  TraceWriter(std::ostream& out, Format format);
  /// Ends the trace.
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  /// Names a process, and before its first slice a thread of a process that has a name.
  void name_process(std::uint32_t process, std::string_view name);
  void name_thread(std::uint32_t process, std::uint32_t thread, std::string_view name);
  /// Slices of one thread come in the order of their begins; they lie beside each other, or within.
  void add(const TraceSlice& slice);

 private:
  using Interned = std::map<std::string, std::uint64_t, std::less<>>;

  void write_json(std::string_view event);
  void write_packet(std::string packet);
  void name_track(std::uint64_t id, std::uint64_t parent, std::string_view name);
  std::uint64_t intern(Interned& known, std::uint32_t kind, std::string_view text, std::string& data);

  std::ostream& out_;
  const Format format_;
  bool is_first_ = true;
  Interned names_, categories_, arguments_;
};

}  // namespace sennit
