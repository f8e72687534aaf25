// Implements large counts (MPI 4.0) for a library that lacks them: the generated substitutes of its missing functions
// stand on this.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "shim/mpi/entry/process.h"

namespace sennit::shim::mpi::wrappers {

/// Large counts as an MPI without them takes them.
class Narrow {
 public:
  int operator()(std::int64_t value) {
    fits_ = fits_ && value == static_cast<int>(value);
    return static_cast<int>(value);
  }
  /// Narrows an array; `known`: whether the program has given one.
  const int* operator()(const std::int64_t* values, bool known, int count) {
    if (!known || values == nullptr) return nullptr;
    arrays_.emplace_back();
    for (int i = 0; i < count; ++i) arrays_.back().push_back((*this)(values[i]));
    return arrays_.back().data();
  }
  bool fits() const { return fits_; }
  bool any_arrays() const { return !arrays_.empty(); }

 private:
  bool fits_ = true;
  std::vector<std::vector<int>> arrays_;
};

/// The arrays stay until the request has completed.
template <class Abi>
void keep_until_done(Narrow& narrow, typename Abi::Request request, Form form) {
  if (!narrow.any_arrays()) return;
  RequestTable& requests = drop_in<Abi>().requests;
  const auto open = requests.find(to_handle(request));
  auto kept = std::make_shared<Narrow>(std::move(narrow));
  if (open != nullptr) {
    open->kept = std::move(kept);
    return;
  }
  auto made = std::make_shared<OpenRequest>();
  made->kept = std::move(kept);
  made->persistent = form == Form::persistent;
  requests.add(to_handle(request), std::move(made));
}

}  // namespace sennit::shim::mpi::wrappers
