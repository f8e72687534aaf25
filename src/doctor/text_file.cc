#include "doctor/text_file.h"

#include <charconv>
#include <fstream>

#include <fmt/format.h>

namespace sennit::doctor {

namespace {

constexpr std::size_t kMost = 64 << 10;
constexpr int kMostInList = 1 << 16;  // a list cannot make us count for ever

std::optional<long long> number(std::string_view text) {
  long long value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::string> read_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return std::nullopt;
  std::string text(kMost, '\0');
  stream.read(text.data(), std::streamsize(kMost));
  if (stream.bad()) return std::nullopt;
  text.resize(std::size_t(stream.gcount()));
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  text.resize(last == std::string::npos ? 0 : last + 1);
  return text;
}

std::optional<long long> read_number(const std::filesystem::path& file) {
  const std::optional<std::string> text = read_text(file);
  return text ? number(*text) : std::nullopt;
}

std::set<int> parse_list(std::string_view text) {
  std::set<int> numbers;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t dash = part.find('-', 1);
    const auto first = number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostInList) return {};
    for (long long value = *first; value <= *last; ++value) numbers.insert(int(value));
  }
  return numbers;
}

std::string list_text(const std::set<int>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const int first = *at;
    int last = first;
    while (++at != numbers.end() && *at == last + 1) last = *at;
    text += fmt::format("{}{}", text.empty() ? "" : ",", first);
    if (last != first) text += fmt::format("-{}", last);
  }
  return text;
}

}  // namespace sennit::doctor
