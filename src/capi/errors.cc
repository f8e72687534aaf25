#include "capi/errors.h"

#include <string>

#include <fmt/format.h>

namespace sennit::capi {

namespace {

constexpr bool same(sennit_result result, Code code) {
  return int(result) == int(code);
}
static_assert(same(SENNIT_OK, Code::ok) && same(SENNIT_INVALID_ARGUMENT, Code::invalid_argument) &&
                  same(SENNIT_NOT_FOUND, Code::not_found) && same(SENNIT_UNSUPPORTED, Code::unsupported) &&
                  same(SENNIT_OUT_OF_MEMORY, Code::out_of_memory) &&
                  same(SENNIT_PERMISSION_DENIED, Code::permission_denied) &&
                  same(SENNIT_TIMED_OUT, Code::timed_out) && same(SENNIT_PEER_LOST, Code::peer_lost) &&
                  same(SENNIT_MISMATCH, Code::mismatch) && same(SENNIT_CORRUPT, Code::corrupt) &&
                  same(SENNIT_DEVICE_ERROR, Code::device_error) && same(SENNIT_SYSTEM_ERROR, Code::system_error) &&
                  same(SENNIT_ABORTED, Code::aborted),
              "the C API shows the numbers of Code");

/// The latest failure of this thread. `text` may point to static text when there was no memory for more.
struct LastError {
  std::string kept;
  const char* text = "";
};

LastError& last_error() {
  thread_local LastError last;
  return last;
}

}  // namespace

sennit_result report(const Status& status) noexcept {
  if (status.ok()) return SENNIT_OK;
  LastError& last = last_error();
  try {
    last.kept = status.text();
    last.text = last.kept.c_str();
  } catch (...) {
    last.text = status.code() == Code::out_of_memory ? "out_of_memory: no memory" : "no memory to say what failed";
  }
  return sennit_result(int(status.code()));
}

Status null_argument(std::string_view parameter) {
  return Status(Code::invalid_argument, fmt::format("{} is null", parameter), {},
                fmt::format("Pass {} as sennit.h says", parameter));
}

}  // namespace sennit::capi

const char* sennit_result_name(sennit_result result) noexcept {
  if (result < SENNIT_OK || result > SENNIT_ABORTED) return "unknown";
  return sennit::name(sennit::Code(int(result))).data();  // of a literal, hence terminated
}

const char* sennit_last_error(void) noexcept {
  return sennit::capi::last_error().text;
}

const char* sennit_version(void) noexcept {
  return SENNIT_VERSION;
}
