#include "shim/mpi/abi/types.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "device/reduction.h"

namespace sennit::shim::mpi {

namespace {

using device::Operator;
using device::Type;

struct Named {
  std::string_view name;
  Meaning meaning;
};
/// Lists types that are more, or less, than numbers of one of sennit's types.
constexpr std::array kOthers{
    Named{"truth8", {Type::uint8, 1, true}},
    Named{"truth32", {Type::int32, 1, true}},
    Named{"complex64", {Type::float32, 2}},
    Named{"complex128", {Type::float64, 2}},
};

/// The numbers that are tried out, each with each. No sum or product of two is too large for eight bits: what becomes
/// of those may depend on the instructions that an MPI finds (Open MPI's vector ones saturate).
constexpr std::array kSmall{0, 1, 2, 3, 5, 7, 10, 11};
constexpr std::array kSigned{0, 1, 2, 3, -1, -2, -3, 100};
constexpr std::size_t kPairs = kSmall.size() * kSmall.size();
/// More than whole vectors of them, since MPIs reduce what is left over by other instructions.
constexpr std::size_t kTried = kPairs + 3;

int tried(Meaning meaning, Operator op, std::size_t which) {
  if (meaning.truths) return static_cast<int>(which % 2);
  return op == Operator::sum || op == Operator::product ? kSmall[which] : kSigned[which];
}

void store(Type type, int value, std::byte* to) {
  const auto put = [&](auto number) {
    std::memcpy(to, &number, std::min<std::size_t>(sizeof number, bytes_of(type)));
  };
  if (type == Type::float32) return put(static_cast<float>(value));
  if (type == Type::float64) return put(static_cast<double>(value));
  put(static_cast<std::int64_t>(value));
}

/// Returns the type with the same bits that has a sign where `type` has none, and the other way round.
Type other_of(Type type) {
  return is_integer(type) ? static_cast<Type>(static_cast<unsigned>(type) ^ 1U) : type;
}
static_assert((static_cast<unsigned>(Type::int8) ^ 1U) == static_cast<unsigned>(Type::uint8) &&
              (static_cast<unsigned>(Type::int64) ^ 1U) == static_cast<unsigned>(Type::uint64));

}  // namespace

std::optional<Meaning> parse_meaning(std::string_view text) {
  for (const Named& other : kOthers)
    if (other.name == text) return other.meaning;
  const auto type = device::parse_type(text);
  return type ? std::optional(Meaning{*type}) : std::nullopt;
}

unsigned bytes_of(Meaning meaning) {
  return meaning.count * device::bytes_of(meaning.type);
}

std::optional<Numbers> numbers_like(const ReduceLocal& mpis, Meaning meaning, Operator op) {
  if (!device::supports(meaning.type, op)) return std::nullopt;
  const std::size_t each = device::bytes_of(meaning.type);
  std::vector<std::byte> in(kTried * bytes_of(meaning)), before(in.size()), ours(in.size());
  for (std::size_t number = 0; number * each < in.size(); ++number) {
    // The parts of a complex number are not alike.
    const std::size_t pair = (number / meaning.count + 3 * (number % meaning.count)) % kPairs;
    store(meaning.type, tried(meaning, op, pair / kSmall.size()), &in[number * each]);
    store(meaning.type, tried(meaning, op, pair % kSmall.size()), &before[number * each]);
  }
  std::vector<std::byte> theirs = before;
  if (mpis(in.data(), theirs.data(), static_cast<int>(kTried)) != 0) return std::nullopt;
  for (const Type type : {meaning.type, other_of(meaning.type)}) {
    device::Reduction reduction;
    reduction.type = type;
    reduction.op = op;
    device::reduce_on_host(reduction, {{in.data(), before.data()}, 2, {ours.data()}, 1}, in.size(), {});
    if (ours == theirs) return Numbers{type, meaning.count};
  }
  return std::nullopt;
}

}  // namespace sennit::shim::mpi
