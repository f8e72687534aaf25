// Asks questions whose answer may hang or crash (drivers do both) in processes of their own, all at once, each with a
// limit on how long it may stay silent.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/unique_fd.h"

namespace sennit::doctor {

struct Question {
  std::vector<std::string> arguments;  ///< of the program, without its name
  /// Longest silence before the first line: starting eight GPUs without a persistence daemon takes seconds.
  std::chrono::milliseconds opening{15000};
  std::chrono::milliseconds silence{5000};  ///< longest silence between lines
  UniqueFd file;                            ///< handed on as descriptor kPassedFile, and closed here
  std::string program = "/proc/self/exe";   ///< whose arguments these are
  bool plain = false;                       ///< an ordinary program: its standard output is the answer's text
};

enum class End { finished, silent, crashed, not_started };

struct Answer {
  std::vector<Json> lines;  ///< what tell() said, in order
  std::string text;         ///< of a plain question: all it printed, at most 64 KiB
  End end = End::not_started;
  int status = 0;  ///< finished: exit code; crashed: signal; silent: milliseconds waited; not_started: errno

  /// Describes in a few words what went wrong ("did not answer within 5 s", "crashed with signal 11"); empty when the
  /// process finished, whatever it found.
  std::string trouble() const;
  /// Returns the first line that has a member `key`; nullptr when there is none.
  const Json* find(const std::string& key) const;
};

/// Asks all at once; returns when each has ended or was ended. A process that even SIGKILL does not end (it hangs in
/// the driver) is left to the system. No process outlives this one by more than the kill takes.
std::vector<Answer> ask(std::vector<Question> questions);

/// Writes one line of the answer, in the process that answers; the limit on silence starts anew.
void tell(const Json& line);

inline constexpr int kAnswerFile = 3;  ///< where tell() writes, so that chatty libraries cannot disturb it
inline constexpr int kPassedFile = 4;  ///< Question::file

}  // namespace sennit::doctor
