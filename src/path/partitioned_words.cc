#include "path/partitioned_words.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/units.h"

namespace sennit::path {

std::size_t PartitionedWords::bytes_for(std::uint32_t partitions) {
  return sizeof(PartitionedHeader) + std::size_t{2} * partitions * sizeof(device::Word);
}

Result<PartitionedWords> PartitionedWords::create(device::Executor& executor, std::uint32_t partitions,
                                                  UniqueFd& file) {
  const std::size_t bytes = bytes_for(partitions);
  file = UniqueFd(memfd_create("sennit-partitions", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid() || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return Status(Code::out_of_memory,
                  fmt::format("cannot make {} of shared memory: {}", format_bytes(bytes), strerror(errno)), {},
                  "Free host memory, or raise the limit of open files (ulimit -n)");
  return open(executor, partitions, file.get());
}

Result<PartitionedWords> PartitionedWords::open(device::Executor& executor, std::uint32_t partitions, int file) {
  const std::size_t bytes = bytes_for(partitions);
  struct stat size {};
  if (fstat(file, &size) != 0 || static_cast<std::uint64_t>(size.st_size) < bytes)
    return Status(Code::corrupt, "a peer's words of a partitioned message are cut off", {}, "Restart the job");
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (data == MAP_FAILED)
    return Status(Code::out_of_memory, fmt::format("cannot map {}: {}", format_bytes(bytes), strerror(errno)), {},
                  "Free host memory");
  PartitionedWords words;
  words.partitions_ = partitions;
  words.memory_ = device::Memory(data, bytes, [bytes](void* mapped) { munmap(mapped, bytes); });
  auto pinned = executor.pin(data, bytes);
  if (!pinned) return pinned.status();
  words.pinned_ = std::move(*pinned);
  return words;
}

}  // namespace sennit::path
