// Passes collectives from C to coll::Collectives.
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "capi/communicator.h"
#include "capi/errors.h"
#include "device/scale.h"

namespace sennit::capi {

namespace {

static_assert(SENNIT_FLOAT8_E5M2 == int(device::Type::float8_e5m2) && SENNIT_FLOAT32 == int(device::Type::float32) &&
                  SENNIT_LOGICAL_XOR == int(device::Operator::logical_xor) &&
                  SENNIT_AVERAGE == int(device::Operator::average),
              "the C API shows the numbers of Type and Operator");

/// Returns an enumerator of the C API's as a number: a C program may pass what a C++ enumeration cannot hold.
template <class Enum>
int number(const Enum& given) {
  int value = 0;
  static_assert(sizeof given == sizeof value);
  std::memcpy(&value, &given, sizeof value);
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
  device::read_scale(reduction, scale);
  return reduction;
}

/// Enqueues `request` on the numbers that the C API's numbers say.
Status enqueue(sennit_comm* comm, coll::Request request, const sennit_type& type, const sennit_operator& op,
               const void* scale, void* stream) {
  const auto found = communicators().find(comm, "comm");
  if (!found) return found.status();
  const auto reduction = read_reduction(number(type), number(op), scale);
  Status status = reduction.status();
  if (status.ok()) {
    request.reduction = *reduction;
    auto lane = (*found)->lane(stream);
    status = lane ? (*found)->collectives().call(request, **lane) : lane.status();
  }
  if (status.ok()) return status;
  const std::string_view operation = coll::name(request.operation);
  if (request.count == 0) return std::move(status).in(std::string(operation));
  return std::move(status).in(fmt::format("{} {} elements", operation, request.count));
}

sennit_result call_reducing(sennit_comm* comm, const coll::Request& request, const sennit_type& type,
                            const sennit_operator& op, const void* scale, void* stream) noexcept {
  return guarded([&] { return enqueue(comm, request, type, op, scale, stream); });
}
sennit_result call_moving(sennit_comm* comm, const coll::Request& request, const sennit_type& type,
                          void* stream) noexcept {
  return guarded([&] { return enqueue(comm, request, type, SENNIT_SUM, nullptr, stream); });
}

coll::Request request_of(coll::Operation operation, const void* input, void* output, std::uint64_t count,
                         int root = coll::kEveryRank) {
  coll::Request request;
  request.operation = operation;
  request.input = input;
  request.output = output;
  request.count = count;
  request.root = root;
  return request;
}

}  // namespace

}  // namespace sennit::capi

using sennit::capi::call_moving;
using sennit::capi::call_reducing;
using sennit::capi::request_of;
using sennit::coll::Operation;

sennit_result sennit_allreduce(sennit_comm* comm, const void* input, void* output, uint64_t count, sennit_type type,
                               sennit_operator op, const void* scale, void* stream) noexcept {
  return call_reducing(comm, request_of(Operation::allreduce, input, output, count), type, op, scale, stream);
}

sennit_result sennit_reduce(sennit_comm* comm, const void* input, void* output, uint64_t count, sennit_type type,
                            sennit_operator op, const void* scale, int root, void* stream) noexcept {
  return call_reducing(comm, request_of(Operation::reduce, input, output, count, root), type, op, scale, stream);
}

sennit_result sennit_reduce_scatter(sennit_comm* comm, const void* input, void* output, uint64_t count,
                                    sennit_type type, sennit_operator op, const void* scale, void* stream) noexcept {
  return call_reducing(comm, request_of(Operation::reduce_scatter, input, output, count), type, op, scale, stream);
}

sennit_result sennit_allgather(sennit_comm* comm, const void* input, void* output, uint64_t count, sennit_type type,
                               void* stream) noexcept {
  return call_moving(comm, request_of(Operation::allgather, input, output, count), type, stream);
}

sennit_result sennit_broadcast(sennit_comm* comm, const void* input, void* output, uint64_t count, sennit_type type,
                               int root, void* stream) noexcept {
  return call_moving(comm, request_of(Operation::broadcast, input, output, count, root), type, stream);
}

sennit_result sennit_gather(sennit_comm* comm, const void* input, void* output, uint64_t count, sennit_type type,
                            int root, void* stream) noexcept {
  return call_moving(comm, request_of(Operation::gather, input, output, count, root), type, stream);
}

sennit_result sennit_scatter(sennit_comm* comm, const void* input, void* output, uint64_t count, sennit_type type,
                             int root, void* stream) noexcept {
  return call_moving(comm, request_of(Operation::scatter, input, output, count, root), type, stream);
}

sennit_result sennit_all_to_all(sennit_comm* comm, const void* input, void* output, uint64_t count, sennit_type type,
                                void* stream) noexcept {
  return call_moving(comm, request_of(Operation::all_to_all, input, output, count), type, stream);
}

sennit_result sennit_all_to_all_v(sennit_comm* comm, const void* input, const uint64_t* send_counts,
                                  const uint64_t* send_offsets, void* output, const uint64_t* receive_counts,
                                  const uint64_t* receive_offsets, sennit_type type, void* stream) noexcept {
  using namespace sennit;
  return capi::guarded([&]() -> Status {
    const auto found = capi::communicators().find(comm, "comm");
    if (!found) return found.status();
    coll::Request request = request_of(Operation::all_to_all_v, input, output, 0);
    const auto ranks = static_cast<std::size_t>((*found)->node().size());
    struct {
      const char* name;
      const uint64_t* given;
      std::span<const std::uint64_t>& taken;
    } const arrays[] = {{"send_counts", send_counts, request.sent},
                        {"send_offsets", send_offsets, request.sent_from},
                        {"receive_counts", receive_counts, request.received},
                        {"receive_offsets", receive_offsets, request.received_to}};
    for (const auto& array : arrays) {
      if (array.given == nullptr) return capi::null_argument(array.name);
      array.taken = {array.given, ranks};
    }
    return capi::enqueue(comm, request, type, SENNIT_SUM, nullptr, stream);
  });
}

sennit_result sennit_barrier(sennit_comm* comm, void* stream) noexcept {
  return call_moving(comm, request_of(Operation::barrier, nullptr, nullptr, 0), SENNIT_INT8, stream);
}
