#include "bench/partitioned/probe.h"

#include <algorithm>
#include <array>
#include <thread>

#include <fmt/format.h>

#include "base/units.h"
#include "bench/partitioned/memory.h"
#include "bench/partitioned/threads.h"

namespace sennit::bench::partitioned {

namespace {

/// The other partition is ready so much later, and more for each byte: long enough for the first one to arrive
/// meanwhile where ranks have a core each and a link carries 0.2 GB/s.
constexpr double kLaterUs = 20e3, kLaterUsPerByte = 5e-3;
constexpr int kTries = 3;  // of each size; a partition is early if it is so in most

constexpr std::array<std::pair<std::string_view, Question>, 4> kQuestions = {
    {{"early", Question::early},
     {"start_all", Question::start_all},
     {"before_start", Question::before_start},
     {"while_waiting", Question::while_waiting}}};

void pass(double us) {
  for (const double until = now_us() + us; now_us() < until;) std::this_thread::yield();
}

class Probe {
 public:
  Probe(Link& link, const std::function<void(const std::string&)>& began) : link_(link), began_(began) {}

  Result<Json> early(const std::vector<std::uint64_t>& sizes) {
    Json answers = Json::array();
    for (const std::uint64_t bytes : sizes) {
      began_(format_bytes(bytes));
      const std::uint64_t whole = std::max<std::uint64_t>(2, bytes / 2 * 2);
      auto leads = leads_of(whole);
      if (!leads) return leads.status();
      if (!link_.sends()) continue;
      std::ranges::sort(*leads);
      const double lead = (*leads)[leads->size() / 2];
      answers.push_back({{"bytes", whole}, {"early", lead > 0}, {"lead_us", lead}});
    }
    return answers;
  }

  /// The sender starts both at once and the receiver one after the other, again and again: requests have met by the
  /// second time.
  Result<Json> start_all() {
    began_("MPI_Startall of two messages");
    std::vector<std::byte> one(kSmall), other(kSmall);
    auto first = link_.open(BackEnd::mpi, {one.data(), kSmall, 2}, 0);
    if (!first) return first.status();
    auto second = link_.open(BackEnd::mpi, {other.data(), kSmall, 2}, 1);
    if (!second) return second.status();
    Status wrong;
    const auto note = [&](Status status) {
      if (wrong.ok()) wrong = std::move(status);
    };
    for (int attempt = 0; attempt < kTries; ++attempt) {
      prepare(one, attempt);
      prepare(other, attempt + 1);
      if (auto status = link_.meet(); !status) return status;
      if (link_.sends()) {
        if (const int code = link_.start_all(**first, **second); code != 0)
          note(Status(Code::system_error, fmt::format("MPI_Startall returned {}", code)));
      } else {
        (*first)->begin();
        (*second)->begin();
      }
      // All partitions are ready before either message is waited for: a wait would let the requests meet.
      for (End* const each : {first->get(), second->get()})
        for (const int partition : {0, 1})
          if (link_.sends()) note(ready(*each, partition));
      (*first)->finish();
      (*second)->finish();
      note(check(one, attempt));
      note(check(other, attempt + 1));
    }
    return ends({wrong, (*first)->status(), (*second)->status()});
  }

  Result<Json> before_start() {
    began_("partitions that are ready before the receiver starts");
    std::vector<std::byte> message(kSmall);
    auto end = link_.open(BackEnd::mpi, {message.data(), kSmall, 2});
    if (!end) return end.status();
    prepare(message, 0);
    if (link_.sends()) {
      (*end)->begin();
      for (const int partition : {0, 1})
        if (auto status = ready(**end, partition); !status) return status;
    } else {
      pass(kLaterUs);
      (*end)->begin();
    }
    (*end)->finish();
    return ends({check(message, 0), (*end)->status()});
  }

  Result<Json> while_waiting() {
    if (!link_.is_thread_multiple())
      return Status(Code::unsupported, "this MPI gives no MPI_THREAD_MULTIPLE", {},
                    "Call it from one thread at a time");
    began_("partitions that are ready while another thread waits");
    std::vector<std::byte> message(kSmall);
    auto end = link_.open(BackEnd::mpi, {message.data(), kSmall, 2});
    if (!end) return end.status();
    prepare(message, 0);
    (*end)->begin();
    Status status, heard;
    if (link_.sends()) {
      // The receiver answers once the message is there: the thread that waits for that waits for the other one, too.
      std::thread waiting([&] {
        int answer = 0;
        heard = link_.hear_one(answer);
      });
      pass(kLaterUs);
      for (const int partition : {0, 1})
        if (status.ok()) status = ready(**end, partition);
      (*end)->finish();
      waiting.join();
    } else {
      (*end)->finish();
      status = link_.tell_one(0);
    }
    return ends({check(message, 0), (*end)->status(), status, heard});
  }

 private:
  static constexpr std::uint64_t kSmall = 4 * KiB;

  void prepare(std::span<std::byte> message, int number) {
    link_.sends() ? fill(message, number) : spoil(message, number);
  }
  Status check(std::span<const std::byte> message, int number) const {
    const auto wrong = link_.sends() ? std::nullopt : first_wrong(message, number);
    if (!wrong) return {};
    return Status(Code::corrupt, fmt::format("byte {} was wrong", *wrong), "rank 1");
  }
  static Status ready(End& end, int partition) {
    const int code = end.ready(partition);
    return code == 0 ? Status() : Status(Code::system_error, fmt::format("MPI_Pready returned {}", code));
  }
  /// Both ranks have come to the end: whether bytes were right is the receiver's to say.
  Result<Json> ends(std::initializer_list<Status> all) {
    const auto wrong = std::ranges::find_if(all, [](const Status& each) { return !each.ok(); });
    int works = wrong == all.end() ? 1 : 0;
    if (link_.sends()) {
      int theirs = 0;
      if (auto status = link_.hear_one(theirs); !status) return status;
      works = works != 0 && theirs != 0 ? 1 : 0;
    } else if (auto status = link_.tell_one(works); !status) {
      return status;
    }
    return Json{{"works", works != 0}};
  }

  /// Returns how much earlier than the second partition's MPI_Pready the first partition is there, in µs, of each
  /// try; on the sender.
  Result<std::vector<double>> leads_of(std::uint64_t bytes) {
    std::vector<double> leads;
    std::vector<std::byte> message(bytes);
    auto end = link_.open(BackEnd::mpi, {message.data(), bytes, 2});
    if (!end) return end.status();
    for (int attempt = 0; attempt < kTries; ++attempt) {
      prepare(message, attempt);
      double at = 0;
      if (!link_.sends()) (*end)->begin();
      if (auto status = link_.meet(); !status) return status;
      if (link_.sends()) {
        (*end)->begin();
        if (auto status = ready(**end, 0); !status) return status;
        pass(kLaterUs + kLaterUsPerByte * double(bytes));
        at = now_us();
        if (auto status = ready(**end, 1); !status) return status;
      } else {
        while (!(*end)->arrived(0)) {
        }
        at = now_us();
        if (auto status = check(std::span(message).first(bytes / 2), attempt); !status) return status;
      }
      (*end)->finish();
      if (auto status = check(message, attempt); !status) return status;
      if (!(*end)->status().ok()) return (*end)->status();
      if (!link_.sends()) {
        if (auto status = link_.tell_one(at); !status) return status;
        continue;
      }
      double arrived = 0;
      if (auto status = link_.hear_one(arrived); !status) return status;
      leads.push_back(at - arrived);
    }
    return leads;
  }

  Link& link_;
  const std::function<void(const std::string&)>& began_;
};

}  // namespace

std::string_view name(Question question) {
  return std::ranges::find(kQuestions, question, &std::pair<std::string_view, Question>::second)->first;
}

Result<Question> parse_question(std::string_view text) {
  const auto found = std::ranges::find(kQuestions, text, &std::pair<std::string_view, Question>::first);
  if (found != kQuestions.end()) return found->second;
  return Status(Code::invalid_argument, fmt::format("there is no question '{}'", text), "--probe",
                "Use early, start_all, before_start or while_waiting");
}

Result<Json> probe(Link& link, Question question, const std::vector<std::uint64_t>& sizes,
                   const std::function<void(const std::string& what)>& began) {
  if (const std::string why = link.lacks(BackEnd::mpi, 1); !why.empty())
    return Status(Code::unsupported, why, {}, "Use an MPI of version 4.0 or later");
  Probe one(link, began);
  switch (question) {
    case Question::early: return one.early(sizes);
    case Question::start_all: return one.start_all();
    case Question::before_start: return one.before_start();
    case Question::while_waiting: break;
  }
  return one.while_waiting();
}

}  // namespace sennit::bench::partitioned
