#include "base/status.h"

namespace sennit {

std::string_view name(Code code) {
  switch (code) {
    case Code::ok: return "ok";
    case Code::invalid_argument: return "invalid_argument";
    case Code::not_found: return "not_found";
    case Code::unsupported: return "unsupported";
    case Code::out_of_memory: return "out_of_memory";
    case Code::permission_denied: return "permission_denied";
    case Code::timed_out: return "timed_out";
    case Code::peer_lost: return "peer_lost";
    case Code::mismatch: return "mismatch";
    case Code::corrupt: return "corrupt";
    case Code::device_error: return "device_error";
    case Code::system_error: return "system_error";
    case Code::aborted: return "aborted";
  }
  return "unknown";
}

Status Status::in(std::string_view frame) && {
  if (!ok()) where_ = where_.empty() ? std::string(frame) : std::string(frame) + ": " + where_;
  return std::move(*this);
}

std::string Status::text() const {
  if (ok()) return "ok";
  std::string line = std::string(name(code_)) + ": " + what_;
  if (!where_.empty()) line += " (" + where_ + ")";
  if (!remedy_.empty()) line += ". " + remedy_;
  return line;
}

}  // namespace sennit
