#include "place/read_traffic.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>

#include <fmt/format.h>

namespace sennit::place {

namespace {

constexpr double kMostBytes = 0x1p63;
constexpr std::uintmax_t kLargestFile = std::uintmax_t{256} << 20;  // limit: 4 096 ranks of 16 digits each
constexpr std::string_view kMatrixRemedy =
    "Write as many lines as there are ranks, each with as many numbers: the bytes from that rank to each other one";

Status wrong(std::string_view origin, int line, std::string what, std::string_view remedy) {
  return Status(Code::invalid_argument, std::move(what), fmt::format("{}: line {}", origin, line),
                std::string(remedy));
}

/// Calls `each(line number, line)` until it returns an error.
template <class Each>
Status for_lines(std::string_view text, const Each& each) {
  for (int number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (auto status = each(number, line); !status.ok()) return status;
  }
  return {};
}

bool is_separator(char c) {
  return c == ' ' || c == '\t' || c == ',' || c == ';';
}

/// The next word, taken off `line`; empty at its end.
std::string_view next_word(std::string_view& line) {
  std::size_t begin = 0;
  while (begin < line.size() && is_separator(line[begin])) ++begin;
  std::size_t end = begin;
  while (end < line.size() && !is_separator(line[end])) ++end;
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

template <class Number>
bool read_number(std::string_view word, Number& value) {
  const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc{} && rest == word.data() + word.size();
}

bool is_size(double value) {
  return value >= 0 && value < kMostBytes;  // and no NaN
}

}  // namespace

Result<Traffic> parse_matrix(std::string_view text, std::string_view origin) {
  std::vector<double> values;
  int columns = 0, rows = 0;
  const Status status = for_lines(text, [&](int number, std::string_view line) -> Status {
    std::string_view rest = line;
    const std::string_view first = next_word(rest);
    if (first.empty() || first.front() == '#') return {};
    int here = 0;
    for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
      double value = 0;
      if (!read_number(word, value))
        return wrong(origin, number, fmt::format("'{}' is no number", word.substr(0, 40)), kMatrixRemedy);
      if (!is_size(value))
        return wrong(origin, number, fmt::format("{} is no number of bytes", word.substr(0, 40)), kMatrixRemedy);
      values.push_back(value);
      if (++here > kMostRanks)
        return wrong(origin, number, fmt::format("there are more than {} ranks", kMostRanks), kMatrixRemedy);
    }
    if (rows++ == 0) columns = here;
    if (here != columns || rows > columns)
      return wrong(origin, number,
                   here != columns ? fmt::format("{} numbers where the first line has {}", here, columns)
                                   : fmt::format("the matrix has {} columns and more rows", columns),
                   kMatrixRemedy);
    return {};
  });
  if (!status.ok()) return status;
  if (rows == 0 || rows != columns)
    return Status(Code::invalid_argument,
                  rows == 0 ? std::string("there is no matrix")
                            : fmt::format("the matrix has {} columns and {} rows", columns, rows),
                  std::string(origin), std::string(kMatrixRemedy));
  Traffic traffic(rows);
  // Round by round, so that an exchange does not begin with everybody's message to rank 0.
  for (int step = 1; step < rows; ++step)
    for (int from = 0; from < rows; ++from) {
      const int to = (from + step) % rows;
      traffic.add(from, to, values[std::size_t(from) * std::size_t(rows) + std::size_t(to)]);
    }
  return traffic;
}

bool is_monitoring(std::string_view text) {
  bool found = false;
  (void)for_lines(text, [&](int, std::string_view line) -> Status {
    std::string_view rest = line;
    const std::string_view word = next_word(rest);
    if (word.empty() || word.front() == '#') return {};
    found = word.size() == 1 && word.front() >= 'A' && word.front() <= 'Z';
    return Status(Code::aborted, "seen");
  });
  return found;
}

Result<Traffic> parse_monitoring(std::string_view text, std::string_view origin) {
  constexpr std::string_view kRemedy = "Give the files that --mca pml_monitoring_filename names, of all ranks";
  struct Sent {
    double bytes = 0, messages = 0;
  };
  std::map<std::pair<int, int>, Sent> sent;
  int ranks = 0;
  const Status status = for_lines(text, [&](int number, std::string_view line) -> Status {
    std::string_view rest = line;
    const std::string_view kind = next_word(rest);
    if (kind != "E" && kind != "I") return {};
    int from = 0, to = 0;
    double bytes = 0, messages = 0;
    const bool read = read_number(next_word(rest), from) && read_number(next_word(rest), to) &&
                      read_number(next_word(rest), bytes) && next_word(rest) == "bytes" &&
                      read_number(next_word(rest), messages) && next_word(rest) == "msgs";
    if (!read || !is_size(bytes) || !is_size(messages) || from < 0 || to < 0)
      return wrong(origin, number, "this is no line of Open MPI's monitoring", kRemedy);
    if (from >= kMostRanks || to >= kMostRanks)
      return wrong(origin, number, fmt::format("there are more than {} ranks", kMostRanks), kRemedy);
    ranks = std::max({ranks, from + 1, to + 1});
    Sent& each = sent[{from, to}];
    each.bytes += bytes;
    each.messages += messages;
    return {};
  });
  if (!status.ok()) return status;
  if (ranks == 0)
    return Status(Code::invalid_argument, "there are no messages", std::string(origin), std::string(kRemedy));
  Traffic traffic(ranks);
  for (int step = 1; step < ranks; ++step)
    for (int from = 0; from < ranks; ++from)
      if (const auto found = sent.find({from, (from + step) % ranks}); found != sent.end())
        traffic.add(from, found->first.second, found->second.bytes, found->second.messages);
  return traffic;
}

Result<Traffic> read_traffic(const std::vector<std::filesystem::path>& files) {
  std::string text;
  for (const auto& file : files) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error))
      return Status(Code::not_found, "there is no such file", file.string(), "Check the name");
    if (std::filesystem::file_size(file, error) > kLargestFile || text.size() > kLargestFile)
      return Status(Code::invalid_argument, "the file is too large", file.string(),
                    "Give a matrix of bytes from rank to rank");
    std::ifstream in(file, std::ios::binary);
    std::string each{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (in.bad()) return Status(Code::system_error, "the file cannot be read", file.string(), "Try again");
    text += each;
    text += '\n';
  }
  const std::string origin = files.size() == 1 ? files.front().string() : fmt::format("{} files", files.size());
  if (is_monitoring(text)) return parse_monitoring(text, origin);
  if (files.size() > 1)
    return Status(Code::invalid_argument, "several files are no matrix", origin,
                  "Give one file, or all that Open MPI's monitoring wrote");
  return parse_matrix(text, origin);
}

namespace {

/// A whole number of a member that a profile must have.
Result<std::int64_t> count_of(const Json& object, const char* member, std::string_view origin) {
  const auto found = object.is_object() ? object.find(member) : object.end();
  if (!object.is_object() || found == object.end() || !found->is_number_integer() || found->get<std::int64_t>() < 0)
    return Status(Code::corrupt, fmt::format("'{}' is missing, or no count", member), std::string(origin),
                  "Give the document of `sennit report FOLDER --json`");
  return found->get<std::int64_t>();
}

const Json& list_of(const Json& object, const char* member) {
  static const Json none = Json::array();
  const auto found = object.find(member);
  return found != object.end() && found->is_array() ? *found : none;
}

}  // namespace

Result<ProfiledTraffic> traffic_of(const Json& profile, std::string_view origin) {
  const std::string remedy = "Give the document of `sennit report FOLDER --json`";
  if (!profile.is_object() || profile.value("kind", Json()) != "profile")
    return Status(Code::corrupt, "this is no profile", std::string(origin), remedy);
  const auto ranks = count_of(profile, "ranks_of_job", origin);
  if (!ranks) return ranks.status();
  if (*ranks < 1 || *ranks > kMostRanks)
    return Status(Code::corrupt, fmt::format("a job of {} ranks", *ranks), std::string(origin),
                  fmt::format("Profiles of up to {} ranks are mapped", kMostRanks));
  if (const Json& missing = list_of(profile, "missing"); !missing.empty())
    return Status(Code::invalid_argument,
                  fmt::format("the profile lacks {} of {} ranks, the first of them rank {}", missing.size(), *ranks,
                              missing.front().dump()),
                  std::string(origin), "Profile the whole job again; what these ranks sent is not known");
  const auto n = int(*ranks);
  std::map<std::pair<int, int>, std::pair<double, double>> sent;
  for (const Json& each : list_of(profile, "partners")) {
    std::int64_t members[4] = {};
    constexpr const char* kNames[4] = {"from", "to", "bytes", "messages"};
    for (int i = 0; i < 4; ++i) {
      const auto count = count_of(each, kNames[i], origin);
      if (!count) return count.status();
      members[i] = *count;
    }
    if (members[0] >= n || members[1] >= n)
      return Status(Code::corrupt, fmt::format("a message from rank {} to rank {} of {}", members[0], members[1], n),
                    std::string(origin), remedy);
    auto& [bytes, messages] = sent[{int(members[0]), int(members[1])}];
    bytes += double(members[2]);
    messages += double(members[3]);
  }
  ProfiledTraffic found;
  found.traffic = Traffic(n);
  for (int step = 1; step < n; ++step)
    for (int from = 0; from < n; ++from)
      if (const auto pair = sent.find({from, (from + step) % n}); pair != sent.end())
        found.traffic.add(from, pair->first.second, pair->second.first, pair->second.second);
  found.bound.resize(std::size_t(n));
  int told = 0;
  for (const Json& each : list_of(profile, "ranks")) {
    const auto rank = count_of(each, "rank", origin);
    if (!rank || *rank >= n || !each.contains("host") || !each["host"].is_string() || !each.contains("numa_nodes"))
      continue;
    Bound& bound = found.bound[std::size_t(*rank)];
    told += bound.host.empty() ? 1 : 0;
    bound.host = each["host"].get<std::string>();
    for (const Json& node : list_of(each, "numa_nodes"))
      if (node.is_number_integer()) bound.numa_nodes.push_back(int(node.get<std::int64_t>()));
  }
  if (told != n) found.bound.clear();
  for (const Json& row : list_of(profile, "rows")) {
    if (!row.is_object() || !row.contains("function") || !row["function"].is_string()) continue;
    const auto size = count_of(row, "communicator_size", origin), calls = count_of(row, "calls", origin);
    const auto in = count_of(row, "bytes_in", origin), out = count_of(row, "bytes_out", origin);
    if (!size || !calls || !in || !out || *size != n || *calls == 0) continue;
    const double bytes = double(std::max(*in, *out)) / double(*calls);
    if (bytes > 0) found.collectives.push_back({row["function"].get<std::string>(), double(*calls) / n, bytes});
  }
  return found;
}

}  // namespace sennit::place
