// Damaged documents, for tests of the readers.
#pragma once

#include <random>
#include <string>

namespace sennit {

using Random = std::mt19937_64;

inline std::size_t pick(Random& random, std::size_t count) {
  return std::size_t(random() % count);
}

/// Replaces one number of the text by one of the values that break programs.
inline void swap_number(std::string& text, Random& random) {
  constexpr const char* kNumbers[] = {
      "-1",         "0",   "1e400", "-0.0", "18446744073709551616", "9223372036854775807", "1e9", "1e-30",
      "2147483648", "NaN", "\"7\"", "[]"};
  std::vector<std::size_t> starts;
  const auto digit = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '9'; };
  for (std::size_t i = 1; i < text.size(); ++i)
    if (digit(i) && !digit(i - 1)) starts.push_back(i);
  if (starts.empty()) return;
  const std::size_t at = starts[pick(random, starts.size())];
  std::size_t end = at;
  while (end < text.size() && (digit(end) || text[end] == '.')) ++end;
  text.replace(at, end - at, kNumbers[pick(random, std::size(kNumbers))]);
}

/// `text` with one to three small damages, of the kinds that files and editors do.
inline std::string mutate(std::string text, Random& random) {
  for (std::size_t round = 1 + pick(random, 3); round > 0 && !text.empty(); --round) {
    const std::size_t at = pick(random, text.size());
    switch (pick(random, 6)) {
      case 0: text[at] = char(text[at] ^ (1 << pick(random, 8))); break;
      case 1: text.resize(at); break;
      case 2: swap_number(text, random); break;
      case 3: text.erase(at, 1 + pick(random, 40)); break;
      case 4: text.insert(at, text.substr(pick(random, text.size()), 1 + pick(random, 200))); break;
      default: text[at] = char(random()); break;
    }
  }
  return text;
}

}  // namespace sennit
