// Wraps the second halves of collective operations on files (MPI_File_write_all_end): what was begun with host memory
// in the place of GPU memory ends with it, and what was read goes to the GPU.
#pragma once

#include "shim/mpi/entry/wrappers.h"

namespace sennit::shim::mpi::wrappers {

template <class Abi, class Function>
int end_split(Function* own, Entry entry, typename Abi::File file, const void* buffer, typename Abi::Status* status) {
  const auto real = Real<Abi>::of(own, entry);
  DropIn& here = drop_in<Abi>();
  const auto staged = here.staging.split_files().take(to_handle(file));
  // The function that ends a write takes a pointer to what is not constant, too.
  if (staged == nullptr) return real(file, const_cast<void*>(buffer), status);
  const int code = real(file, staged->memory()[0], status);
  if (code != 0) return code;
  const auto given = staged->copy_out(-1);
  return given.ok() ? 0 : here.reporting.fail("a collective operation on a file", kNoHandle, given);
}

template <class Abi>
int File_read_all_end(typename Abi::File fh, void* buf, typename Abi::Status* status) {
  return end_split<Abi>(&File_read_all_end<Abi>, Entry::File_read_all_end, fh, buf, status);
}
template <class Abi>
int File_read_at_all_end(typename Abi::File fh, void* buf, typename Abi::Status* status) {
  return end_split<Abi>(&File_read_at_all_end<Abi>, Entry::File_read_at_all_end, fh, buf, status);
}
template <class Abi>
int File_read_ordered_end(typename Abi::File fh, void* buf, typename Abi::Status* status) {
  return end_split<Abi>(&File_read_ordered_end<Abi>, Entry::File_read_ordered_end, fh, buf, status);
}
template <class Abi>
int File_write_all_end(typename Abi::File fh, const void* buf, typename Abi::Status* status) {
  return end_split<Abi>(&File_write_all_end<Abi>, Entry::File_write_all_end, fh, buf, status);
}
template <class Abi>
int File_write_at_all_end(typename Abi::File fh, const void* buf, typename Abi::Status* status) {
  return end_split<Abi>(&File_write_at_all_end<Abi>, Entry::File_write_at_all_end, fh, buf, status);
}
template <class Abi>
int File_write_ordered_end(typename Abi::File fh, const void* buf, typename Abi::Status* status) {
  return end_split<Abi>(&File_write_ordered_end<Abi>, Entry::File_write_ordered_end, fh, buf, status);
}

}  // namespace sennit::shim::mpi::wrappers
