#include "shim/mpi/call/signature.h"

#include <fmt/format.h>

#include "shim/mpi/call/translate.h"

namespace sennit::shim::mpi {

namespace {

bool reduces(const Work& work) {
  using coll::Operation;
  const Operation operation = work.request.operation;
  return operation == Operation::allreduce || operation == Operation::reduce ||
         operation == Operation::reduce_scatter;
}

/// FNV-1a, word by word.
class Hash {
 public:
  void add(std::uint64_t word) {
    for (int byte = 0; byte < 8; ++byte) value_ = (value_ ^ (word >> (8 * byte) & 0xff)) * 0x100000001b3;
  }
  std::uint32_t folded() const {
    const std::uint64_t mixed = value_ ^ value_ >> kSignatureBits ^ value_ >> (2 * kSignatureBits);
    return static_cast<std::uint32_t>(mixed) & kSignatureMask;
  }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace

std::uint32_t signature_of(const Work& work) {
  const coll::Request& request = work.request;
  Hash hash;
  for (const std::uint64_t word :
       {std::uint64_t(work.family), request.count, std::uint64_t(request.root), std::uint64_t(work.scan.has_value())})
    hash.add(word);
  // Nothing is of any type.
  if ((reduces(work) || work.scan) && work.bytes != 0) {
    const device::Reduction& reduction = work.scan ? work.scan->reduction : request.reduction;
    hash.add(std::uint64_t(work.reduced));  // not what the MPI of this rank's processor makes of it
    hash.add(std::uint64_t(reduction.op));
  }
  for (const std::uint64_t part : work.parts) hash.add(part);
  return hash.folded();
}

std::string describe(const Work& work) {
  const coll::Request& request = work.request;
  const auto reduced = [](std::uint64_t bytes, const device::Reduction& of) {
    return fmt::format("{} x {}, {}", bytes / device::bytes_of(of.type), device::name(of.type), device::name(of.op));
  };
  std::string text;
  if (work.scan)
    text = reduced(work.bytes, work.scan->reduction);
  else if (reduces(work))
    text = reduced(request.count * device::bytes_of(request.reduction.type), request.reduction);
  else if (request.operation == coll::Operation::all_to_all_v)
    text = fmt::format("{} bytes in all", work.bytes);
  else
    text = fmt::format("{} bytes", request.count);
  return has_root(work.family) ? fmt::format("{}, root {}", text, request.root) : text;
}

Status disagreement(int rank) {
  return Status(Code::mismatch,
                fmt::format("rank {} gives another function, count, type, operator or root than rank 0", rank), {},
                "All ranks of a communicator give the same");
}

Status given_by(const Work& work, const Status& status) {
  if (status.code() != Code::mismatch) return status;
  return Status(Code::mismatch, status.what(), status.where(),
                fmt::format("{}; this rank gives {}", status.remedy(), describe(work)));
}

}  // namespace sennit::shim::mpi
