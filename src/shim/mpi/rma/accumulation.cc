#include "shim/mpi/rma/accumulation.h"

#include "coll/reduce_rows.h"

namespace sennit::shim::mpi {

namespace {

std::uintptr_t number_of(const std::byte* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace

Accumulation Accumulation::piece(std::uint64_t begin, std::uint64_t length) const {
  Accumulation part = *this;
  if (origin != nullptr) part.origin += begin;
  part.target += begin;
  if (result != nullptr) part.result += begin;
  part.bytes = length;
  return part;
}

bool Accumulation::overlaps() const {
  const auto meet = [&](const std::byte* one, const std::byte* other) {
    return one != nullptr && other != nullptr && number_of(one) < number_of(other) + bytes &&
           number_of(other) < number_of(one) + bytes;
  };
  return meet(origin, target) || meet(result, target) || meet(origin, result);
}

bool Accumulation::aligned(const std::byte* given) const {
  return !reduction || (number_of(target) | number_of(given)) % bytes_of(reduction->type) == 0;
}

Status Accumulation::enqueue(device::Lane& lane) const {
  if (result != nullptr)
    if (auto status = lane.copy(result, target, bytes); !status) return status;
  if (origin == nullptr) return {};
  if (!reduction) return lane.copy(target, origin, bytes);
  const std::byte* const rows[] = {origin, target};
  return coll::reduce_rows(rows, target, bytes, *reduction, lane);
}

std::optional<device::Reduction> reduction_of(const Mpi& mpi, Handle element, Handle op) {
  const auto known = mpi.op(op);
  const auto numbers = mpi.numbers(element, op);
  if (!known || !numbers) return std::nullopt;
  device::Reduction reduction;
  reduction.type = numbers->type;
  reduction.op = *known;
  return reduction;
}

}  // namespace sennit::shim::mpi
