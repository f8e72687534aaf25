#include "bench/program.h"

#include <cstdio>
#include <exception>

#include <fmt/format.h>

namespace sennit::bench {

namespace {

/// Bytes that are not UTF-8 (a file name on the command line) must not turn an error into an exception.
std::string one_line(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Exit exit_of(const Status& status) {
  switch (status.code()) {
    case Code::ok: return Exit::ok;
    case Code::invalid_argument: return Exit::usage;
    case Code::unsupported:
    case Code::permission_denied:
    case Code::out_of_memory: return Exit::environment;
    default: return Exit::failed;
  }
}

Status of_arguments(const Status& status) {
  if (status.ok()) return status;
  return Status(Code::invalid_argument, status.what(), status.where(), status.remedy());
}

void print(const Json& document) {
  fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
  std::fflush(stdout);
}

Exit fail(const Status& status) {
  const Json error = {
      {"code", name(status.code())}, {"what", status.what()}, {"where", status.where()}, {"remedy", status.remedy()}};
  fmt::print(stderr, "{}\n", one_line({{"error", error}}));
  return exit_of(status);
}

void Progress::step(long done, long total, std::string_view what) const {
  if (!on_) return;
  const Json progress = {{"done", done}, {"total", total}, {"what", what}};
  fmt::print(stderr, "{}\n", one_line({{"progress", progress}}));
  std::fflush(stderr);
}

Program::Program(std::string name, std::string description, std::string examples)
    : app_(std::move(description), std::move(name)) {
  if (!examples.empty()) app_.footer("Examples:\n" + std::move(examples));
}

CLI::App& Program::command(const std::string& name, const std::string& description, Body body) {
  CLI::App* command = app_.add_subcommand(name, description);
  command->callback([this, body = std::move(body)] { chosen_ = body; });
  app_.require_subcommand(1);
  return *command;
}

int Program::run(int argc, const char* const* argv, const Body& body) {
  try {
    app_.parse(argc, argv);
  } catch (const CLI::Success& help) {  // --help
    return app_.exit(help);
  } catch (const CLI::ParseError& error) {
    return int(fail(Status(Code::invalid_argument, error.what(), app_.get_name(),
                           fmt::format("See: {} --help", app_.get_name()))));
  }
  const Body& action = chosen_ ? chosen_ : body;
  try {
    const Result<Exit> outcome = action();
    return int(outcome.ok() ? *outcome : fail(outcome.status()));
  } catch (const std::exception& error) {
    // sennit itself reports errors as values; what arrives here comes from a library (no memory, above all).
    return int(fail(Status(Code::system_error, error.what(), app_.get_name(), "Report this: it should not happen")));
  }
}

}  // namespace sennit::bench
