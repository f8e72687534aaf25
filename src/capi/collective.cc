// sennit_allreduce: from C to coll::Collectives.
#include <cstring>

#include <fmt/format.h>

#include "capi/communicator.h"
#include "capi/errors.h"

namespace sennit::capi {

namespace {

static_assert(SENNIT_FLOAT8_E5M2 == int(device::Type::float8_e5m2) && SENNIT_FLOAT32 == int(device::Type::float32) &&
                  SENNIT_LOGICAL_XOR == int(device::Operator::logical_xor) &&
                  SENNIT_AVERAGE == int(device::Operator::average),
              "the C API shows the numbers of Type and Operator");

template <class T>
T read(const void* scale) {
  T value;
  std::memcpy(&value, scale, sizeof value);
  return value;
}

/// Errors: invalid_argument (numbers that name nothing, a scale missing).
Result<device::Reduction> read_reduction(int type, int op, const void* scale) {
  if (type < 0 || type >= device::kTypes)
    return Status(Code::invalid_argument, fmt::format("there is no type {}", type), {}, "Use a sennit_type");
  if (op < 0 || op >= device::kOperators)
    return Status(Code::invalid_argument, fmt::format("there is no operator {}", op), {}, "Use a sennit_operator");
  device::Reduction reduction{device::Type(type), device::Operator(op)};
  if (reduction.op != device::Operator::premultiplied_sum) return reduction;
  if (scale == nullptr) return null_argument("scale");
  switch (reduction.type) {
    case device::Type::int8: reduction.integer_scale = read<std::int8_t>(scale); break;
    case device::Type::uint8: reduction.integer_scale = read<std::uint8_t>(scale); break;
    case device::Type::int16: reduction.integer_scale = read<std::int16_t>(scale); break;
    case device::Type::uint16: reduction.integer_scale = read<std::uint16_t>(scale); break;
    case device::Type::int32: reduction.integer_scale = read<std::int32_t>(scale); break;
    case device::Type::uint32: reduction.integer_scale = read<std::uint32_t>(scale); break;
    case device::Type::int64:
    case device::Type::uint64: reduction.integer_scale = read<std::int64_t>(scale); break;
    case device::Type::float64: reduction.real_scale = read<double>(scale); break;
    default: reduction.real_scale = double(read<float>(scale));
  }
  return reduction;
}

}  // namespace

}  // namespace sennit::capi

sennit_result sennit_allreduce(sennit_comm* comm, const void* input, void* output, uint64_t count, sennit_type type,
                               sennit_operator op, const void* scale, void* stream) noexcept {
  using namespace sennit;
  return capi::guarded([&]() -> Status {
    const auto found = capi::communicators().find(comm, "comm");
    if (!found) return found.status();
    // As bytes: a C program may pass numbers that a C++ enumeration cannot hold.
    auto reduction = capi::read_reduction(capi::read<int>(&type), capi::read<int>(&op), scale);
    Status status = reduction.status();
    if (status.ok()) {
      auto lane = (*found)->lane(stream);
      status = lane ? (*found)->collectives().allreduce(input, output, count, *reduction, **lane) : lane.status();
    }
    if (status.ok()) return status;
    return std::move(status).in(fmt::format("allreduce {} elements", count));
  });
}
