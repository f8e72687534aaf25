#include "bench/collective/numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "coll/reduce_call.h"

namespace sennit::bench::collective {

namespace {

void encode(device::Type type, double number, std::byte* to) {
  using namespace device;
  const auto put = [&](auto value) { std::memcpy(to, &value, sizeof value); };
  switch (type) {
    case Type::float32: return put(float(number));
    case Type::float64: return put(number);
    case Type::float16: return put(Number<Float16>::narrow(float(number)));
    case Type::bfloat16: return put(Number<Bfloat16>::narrow(float(number)));
    case Type::float8_e4m3: return put(Number<Float8E4m3>::narrow(float(number)));
    case Type::float8_e5m2: return put(Number<Float8E5m2>::narrow(float(number)));
    default: {
      const auto whole = static_cast<std::uint64_t>(number);
      std::memcpy(to, &whole, bytes_of(type));
    }
  }
}

template <class T>
double decode_as(const std::byte* from) {
  T stored;
  std::memcpy(&stored, from, sizeof stored);
  return double(device::Number<T>::widen(stored));
}
double decode(device::Type type, const std::byte* from) {
  using namespace device;
  switch (type) {
    case Type::float64: return decode_as<double>(from);
    case Type::float16: return decode_as<Float16>(from);
    case Type::bfloat16: return decode_as<Bfloat16>(from);
    case Type::float8_e4m3: return decode_as<Float8E4m3>(from);
    case Type::float8_e5m2: return decode_as<Float8E5m2>(from);
    default: return decode_as<float>(from);
  }
}
/// Returns the relative error of a number that is rounded at each of at most 8 steps.
double tolerance(device::Type type) {
  switch (type) {
    case device::Type::float64: return 1e-14;
    case device::Type::float16: return 8e-3;
    case device::Type::bfloat16: return 6e-2;
    case device::Type::float8_e4m3: return 0.3;
    case device::Type::float8_e5m2: return 0.6;
    default: return 1e-5;
  }
}

/// Differs from message to message at places that nothing repeats.
std::uint64_t mixed(std::uint64_t i, unsigned number) {
  return ((i + number * std::uint64_t{1000003}) * 0x9E3779B97F4A7C15u) >> 40;
}

/// Repeats the first period again and again.
void repeat(std::vector<std::byte>& data) {
  for (std::uint64_t at = kPeriod; at < data.size(); at += kPeriod)
    std::memcpy(&data[at], data.data(), std::min<std::uint64_t>(kPeriod, data.size() - at));
}

}  // namespace

std::vector<std::byte> numbers(device::Type type, std::uint64_t bytes, unsigned number) {
  std::vector<std::byte> data(bytes);
  const unsigned width = device::bytes_of(type);
  const unsigned most = width == 1 ? 2 : 4;  // sums of float8 stay exact
  std::byte encoded[4][8];
  for (unsigned n = 0; n < 4; ++n) encode(type, double(n), encoded[n]);
  for (std::uint64_t i = 0; i * width < std::min(bytes, kPeriod); ++i)
    std::memcpy(&data[i * width], encoded[mixed(i, number) % most], width);
  repeat(data);
  return data;
}

std::vector<std::byte> noise(std::uint64_t bytes, unsigned number) {
  std::vector<std::byte> data(bytes);
  for (std::uint64_t i = 0; i < std::min(bytes, kPeriod); ++i) data[i] = static_cast<std::byte>(mixed(i, number));
  repeat(data);
  return data;
}

std::vector<std::byte> given(const Layout& layout, device::Type type) {
  std::vector<std::byte> all;
  for (unsigned to = 0; to < layout.given(); ++to) {
    const unsigned number = layout.number(layout.rank, static_cast<int>(to));
    const auto one =
        coll::reduces(layout.operation) ? numbers(type, layout.message, number) : noise(layout.message, number);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

std::vector<std::byte> expected(const Layout& layout, const device::Reduction& reduction, unsigned index) {
  const std::uint64_t bytes = std::min(layout.message, kPeriod);
  if (!coll::reduces(layout.operation)) return noise(bytes, layout.number(layout.source(index), layout.rank));
  std::vector<std::vector<std::byte>> inputs;
  for (int rank = 0; rank < layout.size; ++rank)
    inputs.push_back(numbers(reduction.type, bytes, layout.number(rank, layout.rank)));
  std::vector<std::byte> result(bytes);
  device::Operands operands;
  for (const auto& input : inputs) operands.from[operands.sources++] = input.data();
  operands.to[operands.destinations++] = result.data();
  device::reduce_on_host(reduction, operands, result.size(), coll::whole(layout.size));
  return result;
}

bool agree(const device::Reduction& reduction, bool reduced, const std::byte* got, const std::byte* right,
           std::uint64_t bytes) {
  if (std::memcmp(got, right, bytes) == 0) return true;
  // Halves, quarters and eighths of small numbers are exact.
  if (std::has_single_bit(reduction.ranks)) return false;
  if (!reduced || reduction.op != device::Operator::average || device::is_integer(reduction.type)) return false;
  const unsigned width = device::bytes_of(reduction.type);
  for (std::uint64_t at = 0; at + width <= bytes; at += width) {
    const double expected_number = decode(reduction.type, right + at);
    if (!(std::abs(decode(reduction.type, got + at) - expected_number) <=
          tolerance(reduction.type) * std::abs(expected_number)))
      return false;
  }
  return true;
}

}  // namespace sennit::bench::collective
