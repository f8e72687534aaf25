// What tests go through: every algorithm of every operation.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "coll/algorithms.h"

namespace sennit::coll {

inline constexpr device::Reduction kSum{device::Type::float32, device::Operator::sum};

struct Subject {
  Operation operation;
  Algorithm algorithm;
};
inline std::vector<Subject> all_subjects() {
  std::vector<Subject> subjects;
  for (const Operation operation : all_operations())
    for (const Algorithm algorithm : algorithms_of(operation)) subjects.push_back({operation, algorithm});
  return subjects;
}
/// Those whose every rank calls with a count: not barriers, and not all-to-all-v.
inline std::vector<Subject> counting_subjects() {
  std::vector<Subject> subjects = all_subjects();
  std::erase_if(subjects, [](const Subject& one) {
    return one.operation == Operation::barrier || one.operation == Operation::all_to_all_v;
  });
  return subjects;
}
inline std::string title(const testing::TestParamInfo<Subject>& one) {
  return std::string(name(one.param.operation)) + "_by_" + std::string(name(one.param.algorithm));
}

}  // namespace sennit::coll
