// Holds what every C++ program of sennit has in common: one JSON document on stdout, progress and one error line on
// stderr, and exit codes that scripts can rely on. The command line in Python reads all three.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/json.h"
#include "base/status.h"

namespace sennit::bench {

/// Exit codes: `failed` is also "worse than asked"; `environment` means that this machine lacks something.
enum class Exit : int { ok = 0, failed = 1, usage = 2, environment = 3 };

/// Returns the code that an error ends a program with: unsupported, permission_denied and out_of_memory are the
/// environment's fault, invalid_argument the caller's, everything else is a failure.
Exit exit_of(const Status& status);
/// Returns the error of something that the user named (a file, a machine) and that cannot be used: usage, whatever
/// its reader calls it.
Status of_arguments(const Status& status);

/// Prints `document` on stdout, indented, and flushes.
void print(const Json& document);

/// Prints {"error": {"code", "what", "where", "remedy"}} on one line of stderr; returns exit_of(status).
Exit fail(const Status& status);

/// Reports progress on stderr, one JSON line a step, when it is switched on; silent otherwise.
class Progress {
 public:
  explicit Progress(bool on = false) : on_(on) {}
  /// {"progress": {"done": 3, "total": 40, "what": "gpu0 → gpu1, 64 MiB"}}. A total of 0: not known.
  void step(long done, long total, std::string_view what) const;

 private:
  bool on_;
};

/// Does what a program or subcommand is for, once its options are parsed: it prints its result itself.
using Body = std::function<Result<Exit>()>;

/// A program, with subcommands or without. Wrong usage becomes an error line and exit code 2.
class Program {
 public:
  /// `description` is one sentence; `examples` are whole command lines, one a line, shown by --help.
  Program(std::string name, std::string description, std::string examples);

  CLI::App& app() { return app_; }

  /// Adds a subcommand; options are added to the App returned. A program with subcommands needs one.
  CLI::App& command(const std::string& name, const std::string& description, Body body);

  /// Parses and runs; returns what main() should. `body` is for programs without subcommands.
  int run(int argc, const char* const* argv, const Body& body = {});

 private:
  CLI::App app_;
  Body chosen_;
};

}  // namespace sennit::bench
