// What tests of translate() share: calls of one rank of a made-up MPI.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "made_up_mpi.h"
#include "shim/mpi/call/translate.h"

namespace sennit::shim::mpi {

/// Rank 1 of 4.
class Translate : public testing::Test {
 protected:
  Translate() { mpi_.comm = {1, 4, false, 0}; }

  Call call(Family family, int root = -1, Handle op = MadeUpMpi::kSum) const {
    Call made(mpi_, family, Form::blocking, MadeUpMpi::kComm);
    made.root = root;
    made.op = op;
    return made;
  }
  static Part in(const void* at, const Elements& elements, bool significant = true) {
    return {at, Access::in, significant, elements};
  }
  static Part out(void* at, const Elements& elements, bool significant = true) {
    return {at, Access::out, significant, elements};
  }
  static Work work(const Call& made) {
    auto translated = translate(made);
    const auto* why = std::get_if<WhyNot>(&translated);
    EXPECT_EQ(why, nullptr) << *why;
    Work done = why == nullptr ? std::get<Work>(std::move(translated)) : Work();
    done.settle();
    return done;
  }
  static std::string why_not(const Call& made) {
    auto translated = translate(made);
    const auto* why = std::get_if<WhyNot>(&translated);
    return why != nullptr ? std::string(*why) : "";
  }

  MadeUpMpi mpi_;
  float a_[64] = {}, b_[64] = {};
};

}  // namespace sennit::shim::mpi
