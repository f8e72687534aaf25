// Names the NCCL that tables' times were measured beside.
#pragma once

#include <string>
#include <string_view>

namespace sennit {

/// "2.28.9", of ncclGetVersion()'s number.
std::string nccl_version_text(int version);

/// Returns the text for what NCCL's times depend on besides the machine: its version, and whether it may use NVLink
/// multicast, where the environment says so: "2.28.9", "2.28.9 with NCCL_NVLS_ENABLE=0".
std::string nccl_name(std::string_view version);

}  // namespace sennit
