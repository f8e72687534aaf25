#include "shim/nccl/translate.h"

#include <array>

namespace sennit::shim::nccl {

std::optional<device::Type> type_of(int type) {
  using enum device::Type;
  // In the order of ncclDataType_t.
  constexpr std::array types{int8,    uint8,   int32,   uint32,   int64,       uint64,
                             float16, float32, float64, bfloat16, float8_e4m3, float8_e5m2};
  if (type < 0 || type >= static_cast<int>(types.size())) return std::nullopt;
  return types[static_cast<std::size_t>(type)];
}

std::optional<device::Operator> operator_of(int op) {
  using enum device::Operator;
  constexpr std::array operators{sum, product, max, min, average};
  if (op < 0 || op >= static_cast<int>(operators.size())) return std::nullopt;
  return operators[static_cast<std::size_t>(op)];
}

int result_of(const Status& status) {
  switch (status.code()) {
    case Code::ok: return kSuccess;
    case Code::invalid_argument: return kInvalidArgument;
    case Code::mismatch: return kInvalidUsage;
    case Code::peer_lost: return kRemoteError;
    case Code::device_error:
    case Code::out_of_memory: return kUnhandledCudaError;
    case Code::aborted: return kInternalError;
    default: return kSystemError;
  }
}

}  // namespace sennit::shim::nccl
