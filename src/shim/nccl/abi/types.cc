#include "shim/nccl/abi/types.h"

#include <array>

namespace sennit::shim::nccl {

namespace {

/// In the order of ncclDataType_t.
constexpr std::array kTypes = [] {
  using enum device::Type;
  return std::array{int8,    uint8,   int32,   uint32,   int64,       uint64,
                    float16, float32, float64, bfloat16, float8_e4m3, float8_e5m2};
}();
/// In the order of ncclRedOp_t.
constexpr std::array kOperators = [] {
  using enum device::Operator;
  return std::array{sum, product, max, min, average};
}();

template <class Value, std::size_t N>
std::optional<Value> at(const std::array<Value, N>& all, int number) {
  if (number < 0 || number >= static_cast<int>(N)) return std::nullopt;
  return all[static_cast<std::size_t>(number)];
}

}  // namespace

std::optional<device::Type> type_of(int type) {
  return at(kTypes, type);
}

std::optional<device::Operator> operator_of(int op) {
  return at(kOperators, op);
}

int result_of(const Status& status) {
  switch (status.code()) {
    case Code::ok: return kSuccess;
    case Code::invalid_argument: return kInvalidArgument;
    case Code::mismatch: return kInvalidUsage;
    case Code::peer_lost:
    case Code::aborted: return kRemoteError;
    case Code::device_error:
    case Code::out_of_memory: return kUnhandledCudaError;
    default: return kSystemError;
  }
}

}  // namespace sennit::shim::nccl
