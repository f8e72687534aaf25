#include "plan/closed_forms.h"

#include <bit>
#include <utility>

namespace sennit::plan {

using coll::Operation;

namespace {

using Form = Terms (*)(double n, double m);

double log2_up(double n) {
  return std::bit_width(static_cast<unsigned>(n) - 1);
}

constexpr std::pair<std::pair<Operation, std::string_view>, Form> kForms[] = {
    {{Operation::allreduce, "ring"},
     [](double n, double m) -> Terms {
       return {2 * (n - 1), 2 * (n - 1) / n * m, n - 1, (n - 1) / n * m};
     }},
    {{Operation::allreduce, "two_shot"},
     [](double n, double m) -> Terms {
       return {2 * (n - 1), 2 * (n - 1) / n * m, n - 1, (n - 1) / n * m};
     }},
    {{Operation::allreduce, "one_shot"},
     [](double n, double m) -> Terms {
       return {n - 1, (n - 1) * m, n - 1, (n - 1) * m};
     }},
    {{Operation::allreduce, "recursive_doubling"},
     [](double n, double m) -> Terms {
       return {log2_up(n), log2_up(n) * m, log2_up(n), log2_up(n) * m};
     }},
    {{Operation::allreduce, "reduce_scatter_allgather"},
     [](double n, double m) -> Terms {
       return {2 * log2_up(n), 2 * (n - 1) / n * m, log2_up(n), (n - 1) / n * m};
     }},
    // The root's link carries all others' messages at once; it adds them one after the other.
    {{Operation::allreduce, "linear"},
     [](double n, double m) -> Terms {
       return {2, 2 * (n - 1) * m, n - 1, (n - 1) * m};
     }},
    {{Operation::reduce, "linear"},
     [](double n, double m) -> Terms {
       return {1, (n - 1) * m, n - 1, (n - 1) * m};
     }},
    {{Operation::reduce, "chain"},
     [](double n, double m) -> Terms {
       return {n - 1, (n - 1) * m, n - 1, (n - 1) * m};
     }},
    {{Operation::reduce, "tree"},
     [](double n, double m) -> Terms {
       return {log2_up(n), log2_up(n) * m, log2_up(n), log2_up(n) * m};
     }},
    {{Operation::broadcast, "linear"},
     [](double n, double m) -> Terms {
       return {1, (n - 1) * m, 0, 0};
     }},
    {{Operation::broadcast, "chain"},
     [](double n, double m) -> Terms {
       return {n - 1, (n - 1) * m, 0, 0};
     }},
    {{Operation::broadcast, "tree"},
     [](double n, double m) -> Terms {
       return {log2_up(n), log2_up(n) * m, 0, 0};
     }},
    {{Operation::reduce_scatter, "ring"},
     [](double n, double m) -> Terms {
       return {n - 1, (n - 1) * m, n - 1, (n - 1) * m};
     }},
    {{Operation::reduce_scatter, "direct"},
     [](double n, double m) -> Terms {
       return {n - 1, (n - 1) * m, n - 1, (n - 1) * m};
     }},
    {{Operation::reduce_scatter, "halving"},
     [](double n, double m) -> Terms {
       return {log2_up(n), (n - 1) * m, log2_up(n), (n - 1) * m};
     }},
    {{Operation::allgather, "ring"},
     [](double n, double m) -> Terms {
       return {n - 1, (n - 1) * m, 0, 0};
     }},
    {{Operation::allgather, "direct"},
     [](double n, double m) -> Terms {
       return {n - 1, (n - 1) * m, 0, 0};
     }},
    {{Operation::allgather, "recursive_doubling"},
     [](double n, double m) -> Terms {
       return {log2_up(n), (n - 1) * m, 0, 0};
     }},
    {{Operation::all_to_all, "direct"},
     [](double n, double m) -> Terms {
       return {n - 1, (n - 1) * m, 0, 0};
     }},
    {{Operation::gather, "linear"},
     [](double n, double m) -> Terms {
       return {1, (n - 1) * m, 0, 0};
     }},
    {{Operation::scatter, "linear"},
     [](double n, double m) -> Terms {
       return {1, (n - 1) * m, 0, 0};
     }},
};

}  // namespace

double AlphaBetaGamma::us(const Terms& terms) const {
  constexpr double kPerGbps = 1000;  // bytes/µs
  double sum = terms.messages * message_us + terms.bytes / (gbps * kPerGbps);
  sum += terms.reductions * reduce_us;
  if (reduce_gbps > 0) sum += terms.reduced / (reduce_gbps * kPerGbps);
  return sum;
}

std::optional<Terms> closed_form(Operation operation, std::string_view algorithm, int ranks, double bytes) {
  for (const auto& [which, form] : kForms)
    if (which == std::pair(operation, algorithm)) return form(ranks, bytes);
  return std::nullopt;
}

}  // namespace sennit::plan
