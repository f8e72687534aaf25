// Wraps functions that say that parts of a partitioned message are there, or ask whether they have come.
#pragma once

#include "shim/mpi/entry/wrappers.h"

namespace sennit::shim::mpi::wrappers {

/// Returns the request, where its memory is a GPU's and goes in parts; else null.
template <class Abi>
RequestTable::Shared in_parts(typename Abi::Request request) {
  RequestTable& table = drop_in<Abi>().requests;
  const auto open = table.none() ? nullptr : table.find(to_handle(request));
  return open != nullptr && open->partitions != nullptr ? open : nullptr;
}

/// Copies parts `low` to `high` before they are given to the MPI; returns MPI's code where that cannot be.
template <class Abi>
int give_parts(const RequestTable::Shared& open, int low, int high) {
  const auto filled = open->partitions->fill(*open->staged, low, high);
  return filled.ok() ? 0 : drop_in<Abi>().reporting.fail("MPI_Pready", open->comm(), filled);
}

template <class Abi>
int Pready(int partition, typename Abi::Request request) {
  if (const auto open = in_parts<Abi>(request))
    if (const int code = give_parts<Abi>(open, partition, partition); code != 0) return code;
  return Real<Abi>::of(&Pready<Abi>, Entry::Pready)(partition, request);
}

template <class Abi>
int Pready_range(int low, int high, typename Abi::Request request) {
  if (const auto open = in_parts<Abi>(request))
    if (const int code = give_parts<Abi>(open, low, high); code != 0) return code;
  return Real<Abi>::of(&Pready_range<Abi>, Entry::Pready_range)(low, high, request);
}

template <class Abi>
int Pready_list(int length, const int* partitions, typename Abi::Request request) {
  if (const auto open = in_parts<Abi>(request))
    for (int i = 0; i < length; ++i)
      if (const int code = give_parts<Abi>(open, partitions[i], partitions[i]); code != 0) return code;
  return Real<Abi>::of(&Pready_list<Abi>, Entry::Pready_list)(length, partitions, request);
}

template <class Abi>
int Parrived(typename Abi::Request request, int partition, int* flag) {
  // Whoever asks until it has come lets others of its requests go on, as in MPI_Test.
  drop_in<Abi>().progress.make();
  const int code = Real<Abi>::of(&Parrived<Abi>, Entry::Parrived)(request, partition, flag);
  if (code != 0 || *flag == 0) return code;
  const auto open = in_parts<Abi>(request);
  if (open == nullptr) return code;
  const auto brought = open->partitions->bring(*open->staged, partition);
  return brought.ok() ? 0 : drop_in<Abi>().reporting.fail("MPI_Parrived", open->comm(), brought);
}

}  // namespace sennit::shim::mpi::wrappers
