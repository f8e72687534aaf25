#include "base/json.h"

#include <unistd.h>

#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit {

namespace fs = std::filesystem;

Result<Json> parse_json(std::string_view text, std::string_view origin) {
  // The callback-free parser with exceptions off reports no position; a SAX pass does.
  struct Locator : nlohmann::json_sax<Json> {
    std::size_t position = 0;
    std::string message;
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool start_object(std::size_t) override { return true; }
    bool key(string_t&) override { return true; }
    bool end_object() override { return true; }
    bool start_array(std::size_t) override { return true; }
    bool end_array() override { return true; }
    bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception& e) override {
      position = at;
      message = e.what();
      return false;
    }
  };
  // Depth is bounded before the recursive parser sees the text: a hostile document must not exhaust the stack.
  int depth = 0;
  for (const char c : text) {
    depth += (c == '[' || c == '{') ? 1 : (c == ']' || c == '}') ? -1 : 0;
    if (depth > 200)
      return Status(Code::corrupt, "JSON nested deeper than 200 levels", std::string(origin),
                    "Check that this is the file you meant");
  }
  Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_discarded()) return document;
  Locator locator;
  Json::sax_parse(text, &locator);
  return Status(Code::corrupt, fmt::format("not valid JSON at byte {}", locator.position), std::string(origin),
                "The file may be cut off or edited by hand; restore or regenerate it");
}

Result<Json> read_json(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error)
    return Status(Code::not_found, fmt::format("cannot read '{}': {}", file.string(), error.message()), {},
                  "Check the path and its permissions");
  if (size > 64 * MiB)
    return Status(Code::invalid_argument, fmt::format("'{}' has {}", file.string(), format_bytes(size)), {},
                  "Documents of this kind stay far below 64 MiB; check the path");
  std::ifstream in(file, std::ios::binary);
  std::string text(size, '\0');
  if (!in.read(text.data(), std::streamsize(size)))
    return Status(Code::system_error, fmt::format("cannot read '{}'", file.string()), {}, "Check its permissions");
  return parse_json(text, file.string());
}

Status write_json(const fs::path& file, const Json& document) {
  std::error_code error;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
  fs::path draft = file;
  draft += fmt::format(".{}.tmp", ::getpid());
  {
    std::ofstream out(draft, std::ios::binary | std::ios::trunc);
    out << document.dump(2) << '\n';
    if (!out.flush()) {
      fs::remove(draft, error);
      return Status(Code::system_error, fmt::format("cannot write '{}'", file.string()), {},
                    "Check free space and permissions of the folder");
    }
  }
  fs::rename(draft, file, error);
  if (!error) return {};
  const std::string reason = error.message();
  fs::remove(draft, error);
  return Status(Code::system_error, fmt::format("cannot write '{}': {}", file.string(), reason), {},
                "Check free space and permissions of the folder");
}

}  // namespace sennit
