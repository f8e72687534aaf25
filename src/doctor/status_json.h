// Writes errors as JSON and reads them, on their way from a process that answers to the one that asked.
#pragma once

#include <string>

#include "base/json.h"
#include "base/status.h"

namespace sennit::doctor {

/// Null when ok.
inline Json to_json(const Status& status) {
  if (status.ok()) return nullptr;
  return {
      {"code", int(status.code())}, {"what", status.what()}, {"where", status.where()}, {"remedy", status.remedy()}};
}

inline Status status_of(const Json& told) {
  if (!told.is_object()) return {};
  return Status(Code(told.value("code", int(Code::system_error))), told.value("what", ""), told.value("where", ""),
                told.value("remedy", ""));
}

/// Returns the remedy an error brings, unless it sends people to the doctor, where they are: then `otherwise`.
inline std::string remedy_of(const Status& status, const std::string& otherwise) {
  const bool circular = status.remedy().find("sennit doctor") != std::string::npos;
  return status.remedy().empty() || circular ? otherwise : status.remedy();
}

}  // namespace sennit::doctor
