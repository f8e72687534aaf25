// Keeps the arrays among a call's arguments. MPI lets a call that ends in a request use them until it is over, but
// MPIs have read them when the call returns, and programs (mpi4py) rely on that: a call that is made later has
// copies.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "shim/mpi/call/call.h"

namespace sennit::shim::mpi {

class Arrays {
 public:
  /// `known`: whether the program has given one, of `count` elements of `bytes` bytes.
  void add(const void* data, std::size_t bytes, bool known, int count) {
    const bool any = known && data != nullptr && count > 0;
    all_.push_back({data, any ? bytes * static_cast<std::size_t>(count) : 0});
  }
  /// Returns an array, numbered in the order in which they came.
  const void* get(std::size_t index) const { return all_[index].data; }

  /// These from now on are copies, also where `call` refers to them. They live as long as any copy of this object.
  void keep(Call& call) {
    kept_ = std::make_shared<std::vector<std::vector<std::byte>>>();
    for (One& one : all_) {
      const auto* const given = static_cast<const std::byte*>(one.data);
      const void* kept = nullptr;
      if (one.bytes != 0) kept = kept_->emplace_back(given, given + one.bytes).data();
      for (int i = 0; i < call.count && given != nullptr; ++i) {
        Elements& elements = call.parts[static_cast<std::size_t>(i)].elements;
        for (const void** refers : {&elements.counts.data, &elements.places.data, &elements.types})
          if (*refers == given) *refers = kept;
      }
      one.data = kept;
    }
  }

 private:
  struct One {
    const void* data;
    std::size_t bytes;
  };
  std::vector<One> all_;
  std::shared_ptr<std::vector<std::vector<std::byte>>> kept_;
};

}  // namespace sennit::shim::mpi
