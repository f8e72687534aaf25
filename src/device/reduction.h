// Reduces several numbers to one: it has a rule for each operator and type, and applies it to packs of numbers as
// memory holds them.
//
// Sources are combined in the order given, always from the first to the last, in the type that device/number.h
// computes in, and rounded once at the end: equal sources give equal bits, on every rank.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "device/number.h"
#include "device/type.h"

namespace sennit::device {

/// Most sources, or destinations, of one step: a limit, since kernels hold a value of each in registers.
inline constexpr unsigned kMostOperands = 8;

/// An operator with all that it needs; plain data, passed to kernels.
struct Reduction {
  Type type = Type::float32;
  Operator op = Operator::sum;
  std::uint32_t ranks = 1;         ///< whose inputs are reduced: what average divides by
  double real_scale = 1;           ///< premultiplied_sum of floating-point types
  std::int64_t integer_scale = 1;  ///< and of integers
};

/// Returns whether kernels have loops of their own for the reduction: for sums, also scaled ones, of the types that
/// training sends.
SENNIT_DEVICE constexpr bool is_fast(const Reduction& reduction) {
  const bool adds = reduction.op == Operator::sum || reduction.op == Operator::average ||
                    reduction.op == Operator::premultiplied_sum;
  return adds &&
         (reduction.type == Type::float32 || reduction.type == Type::float16 || reduction.type == Type::bfloat16);
}

/// Says where in a collective a step stands: some operators treat a rank's own input and the final result
/// differently.
struct Stage {
  unsigned raw = 0;   ///< bit k: source k is an input as its rank gave it, not the result of an earlier step
  bool last = false;  ///< what this step stores is the collective's result
};

/// Bytes that move together; numbers do not straddle packs.
template <unsigned kBytes>
struct alignas(kBytes) Pack {
  std::uint32_t word[kBytes / 4];
};

namespace rules {

/// Integers are added and multiplied modulo 2^n, in an unsigned type that no promotion makes signed.
template <class T, bool = std::is_integral_v<T>>
struct Arithmetic {
  using Value = typename Number<T>::Computed;
};
template <class T>
struct Arithmetic<T, true> {
  using Value = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
};

template <class T>
SENNIT_DEVICE typename Arithmetic<T>::Value widen(T stored) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<typename Arithmetic<T>::Value>(stored);
  else
    return Number<T>::widen(stored);
}
template <class T>
SENNIT_DEVICE T narrow(typename Arithmetic<T>::Value value) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(value);
  else
    return Number<T>::narrow(value);
}

template <class T>
struct Sum {
  using Stored = T;
  using Value = typename Arithmetic<T>::Value;
  SENNIT_DEVICE Value lift(T stored, bool) const { return widen(stored); }
  SENNIT_DEVICE Value combine(Value a, Value b) const { return a + b; }
  SENNIT_DEVICE T lower(Value value, bool) const { return narrow<T>(value); }
};

/// Returns the product, rounded: compilers may not make one step of it and the sum that it goes into, which would
/// give other bits here than there.
template <class Value>
SENNIT_DEVICE Value product_of(Value a, Value b) {
#ifdef __CUDA_ARCH__
  if constexpr (std::is_same_v<Value, float>) return __fmul_rn(a, b);
  if constexpr (std::is_same_v<Value, double>) return __dmul_rn(a, b);
#endif
  return a * b;
}

/// Multiplies inputs by the scale, and what is no input by 1, which changes no number: so one loop serves a sum, an
/// average and a premultiplied sum.
template <class T>
struct ScaledSum {
  using Stored = T;
  using Value = typename Arithmetic<T>::Value;
  Value scale;
  SENNIT_DEVICE Value lift(T stored, bool raw) const { return product_of(widen(stored), raw ? scale : Value(1)); }
  SENNIT_DEVICE Value combine(Value a, Value b) const { return a + b; }
  SENNIT_DEVICE T lower(Value value, bool) const { return narrow<T>(value); }
};

/// Integers alone: the sum is divided, towards zero.
template <class T>
struct DividedSum {
  using Stored = T;
  using Value = typename Arithmetic<T>::Value;
  std::uint32_t ranks;
  SENNIT_DEVICE Value lift(T stored, bool) const { return widen(stored); }
  SENNIT_DEVICE Value combine(Value a, Value b) const { return a + b; }
  SENNIT_DEVICE T lower(Value value, bool last) const {
    const T sum = narrow<T>(value);
    if (!last) return sum;
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    return static_cast<T>(static_cast<Wide>(sum) / static_cast<Wide>(ranks));
  }
};

template <class T>
struct Product {
  using Stored = T;
  using Value = typename Arithmetic<T>::Value;
  SENNIT_DEVICE Value lift(T stored, bool) const { return widen(stored); }
  SENNIT_DEVICE Value combine(Value a, Value b) const { return a * b; }
  SENNIT_DEVICE T lower(Value value, bool) const { return narrow<T>(value); }
};

/// Computes a minimum or maximum; of a number and NaN it takes the number, as the GPU's own instructions do.
template <class T, bool kMin>
struct Extreme {
  using Stored = T;
  using Value = typename Number<T>::Computed;
  SENNIT_DEVICE Value lift(T stored, bool) const { return Number<T>::widen(stored); }
  SENNIT_DEVICE Value combine(Value a, Value b) const {
    if constexpr (std::is_floating_point_v<Value>) {
      if (a != a) return b;
      if (b != b) return a;
    }
    return (kMin ? b < a : a < b) ? b : a;
  }
  SENNIT_DEVICE T lower(Value value, bool) const { return Number<T>::narrow(value); }
};
template <class T>
using Min = Extreme<T, true>;
template <class T>
using Max = Extreme<T, false>;

template <Operator kOp>
struct Bitwise {
  using Stored = std::uint32_t;
  using Value = std::uint32_t;
  SENNIT_DEVICE Value lift(Value stored, bool) const { return stored; }
  SENNIT_DEVICE Value combine(Value a, Value b) const {
    return kOp == Operator::bit_and ? a & b : kOp == Operator::bit_or ? a | b : a ^ b;
  }
  SENNIT_DEVICE Value lower(Value value, bool) const { return value; }
};

/// A number alone stays as it is, as with MPI's.
template <class T, Operator kOp>
struct Logical {
  using Stored = T;
  using Value = T;
  SENNIT_DEVICE T lift(T stored, bool) const { return stored; }
  SENNIT_DEVICE T combine(T first, T second) const {
    const bool a = first != 0, b = second != 0;
    const bool result = kOp == Operator::logical_and ? a && b : kOp == Operator::logical_or ? a || b : a != b;
    return static_cast<T>(result ? 1 : 0);
  }
  SENNIT_DEVICE T lower(T value, bool) const { return value; }
};

/// Returns what a reduction's inputs are multiplied with, for a sum, a premultiplied sum, or an average of
/// floating-point numbers.
template <class T>
SENNIT_DEVICE typename Arithmetic<T>::Value scale_of(const Reduction& reduction) {
  using Value = typename Arithmetic<T>::Value;
  if (reduction.op == Operator::sum) return Value(1);
  if constexpr (std::is_integral_v<T>)
    return static_cast<Value>(reduction.integer_scale);
  else if (reduction.op == Operator::average)
    return Value(1) / static_cast<Value>(reduction.ranks);
  else
    return static_cast<Value>(reduction.real_scale);
}

/// Calls visit(rule) with the operator's rule for numbers stored as T.
template <class T, class Visit>
SENNIT_DEVICE void with_arithmetic(const Reduction& reduction, Visit& visit) {
  switch (reduction.op) {
    case Operator::sum: return visit(Sum<T>{});
    case Operator::product: return visit(Product<T>{});
    case Operator::min: return visit(Min<T>{});
    case Operator::max: return visit(Max<T>{});
    case Operator::average:
      if constexpr (std::is_integral_v<T>) return visit(DividedSum<T>{reduction.ranks});
      [[fallthrough]];
    default: return visit(ScaledSum<T>{scale_of<T>(reduction)});
  }
}

/// Calls visit(rule) with the rule of an operator that only integers have; T is unsigned, since signs make no
/// difference.
template <class T, class Visit>
SENNIT_DEVICE void with_logic(const Reduction& reduction, Visit& visit) {
  switch (reduction.op) {
    case Operator::bit_and: return visit(Bitwise<Operator::bit_and>{});
    case Operator::bit_or: return visit(Bitwise<Operator::bit_or>{});
    case Operator::bit_xor: return visit(Bitwise<Operator::bit_xor>{});
    case Operator::logical_and: return visit(Logical<T, Operator::logical_and>{});
    case Operator::logical_or: return visit(Logical<T, Operator::logical_or>{});
    default: return visit(Logical<T, Operator::logical_xor>{});
  }
}

/// Calls visit(rule) with the one rule that `reduction` names.
template <class Visit>
SENNIT_DEVICE void with_rule(const Reduction& reduction, Visit visit) {
  if (reduction.op >= Operator::bit_and) switch (bytes_of(reduction.type)) {
      case 1: return with_logic<std::uint8_t>(reduction, visit);
      case 2: return with_logic<std::uint16_t>(reduction, visit);
      case 4: return with_logic<std::uint32_t>(reduction, visit);
      default: return with_logic<std::uint64_t>(reduction, visit);
    }
  switch (reduction.type) {
    case Type::int8: return with_arithmetic<std::int8_t>(reduction, visit);
    case Type::uint8: return with_arithmetic<std::uint8_t>(reduction, visit);
    case Type::int16: return with_arithmetic<std::int16_t>(reduction, visit);
    case Type::uint16: return with_arithmetic<std::uint16_t>(reduction, visit);
    case Type::int32: return with_arithmetic<std::int32_t>(reduction, visit);
    case Type::uint32: return with_arithmetic<std::uint32_t>(reduction, visit);
    case Type::int64: return with_arithmetic<std::int64_t>(reduction, visit);
    case Type::uint64: return with_arithmetic<std::uint64_t>(reduction, visit);
    case Type::float16: return with_arithmetic<Float16>(reduction, visit);
    case Type::bfloat16: return with_arithmetic<Bfloat16>(reduction, visit);
    case Type::float32: return with_arithmetic<float>(reduction, visit);
    case Type::float64: return with_arithmetic<double>(reduction, visit);
    case Type::float8_e4m3: return with_arithmetic<Float8E4m3>(reduction, visit);
    case Type::float8_e5m2: return with_arithmetic<Float8E5m2>(reduction, visit);
  }
}

}  // namespace rules

/// A rule known when compiled: what hot loops inline. `from` holds `sources` packs, at least one.
template <class Rule>
struct Fixed {
  Rule rule;

  template <unsigned kBytes>
  SENNIT_DEVICE Pack<kBytes> operator()(const Pack<kBytes> (&from)[kMostOperands], unsigned sources,
                                        Stage stage) const {
    using Stored = typename Rule::Stored;
    constexpr unsigned kNumbers = kBytes / sizeof(Stored);
    typename Rule::Value value[kNumbers];
    Stored stored[kNumbers];
    std::memcpy(stored, &from[0], kBytes);
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (unsigned i = 0; i < kNumbers; ++i) value[i] = rule.lift(stored[i], (stage.raw & 1) != 0);
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (unsigned k = 1; k < kMostOperands; ++k) {
      if (k >= sources) break;
      std::memcpy(stored, &from[k], kBytes);
      const bool raw = (stage.raw >> k & 1) != 0;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
      for (unsigned i = 0; i < kNumbers; ++i) value[i] = rule.combine(value[i], rule.lift(stored[i], raw));
    }
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (unsigned i = 0; i < kNumbers; ++i) stored[i] = rule.lower(value[i], stage.last);
    Pack<kBytes> result;
    std::memcpy(&result, stored, kBytes);
    return result;
  }
};

/// Any rule, looked up for every pack in one function that all share: one copy of each rule's code instead of one a
/// loop. Beside memory at the far end of a link the look-up costs nothing; see docs/tune/collectives.md.
struct AnyRule {
  Reduction reduction;

  template <unsigned kBytes>
  SENNIT_DEVICE Pack<kBytes> operator()(const Pack<kBytes> (&from)[kMostOperands], unsigned sources,
                                        Stage stage) const;
};

/// Reduces one pack by the rule that `reduction` names.
Pack<8> reduce_pack_on_host(const Reduction& reduction, const Pack<8> (&from)[kMostOperands], unsigned sources,
                            Stage stage);
#ifdef __CUDACC__
__noinline__ __device__ inline Pack<8> reduce_pack_on_gpu(const Reduction& reduction,
                                                          const Pack<8> (&from)[kMostOperands], unsigned sources,
                                                          Stage stage) {
  Pack<8> result{};
  rules::with_rule(reduction, [&](auto rule) { result = Fixed<decltype(rule)>{rule}(from, sources, stage); });
  return result;
}
#endif

template <unsigned kBytes>
SENNIT_DEVICE Pack<kBytes> AnyRule::operator()(const Pack<kBytes> (&from)[kMostOperands], unsigned sources,
                                               Stage stage) const {
  Pack<kBytes> result;
  for (unsigned part = 0; part < kBytes / 8; ++part) {
    Pack<8> some[kMostOperands];
    for (unsigned k = 0; k < sources; ++k)
      for (unsigned w = 0; w < 2; ++w) some[k].word[w] = from[k].word[part * 2 + w];
#ifdef __CUDA_ARCH__
    const Pack<8> reduced = reduce_pack_on_gpu(reduction, some, sources, stage);
#else
    const Pack<8> reduced = reduce_pack_on_host(reduction, some, sources, stage);
#endif
    for (unsigned w = 0; w < 2; ++w) result.word[part * 2 + w] = reduced.word[w];
  }
  return result;
}

/// Says what is reduced, and where the result goes: a destination may be one of the sources.
struct Operands {
  const void* from[kMostOperands] = {};
  unsigned sources = 0;
  void* to[kMostOperands] = {};
  unsigned destinations = 0;
};
/// `bytes` bytes, whole numbers, of each source into each destination.
void reduce_on_host(const Reduction& reduction, const Operands& operands, std::uint64_t bytes, Stage stage);

}  // namespace sennit::device
