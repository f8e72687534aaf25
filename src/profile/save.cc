#include "profile/save.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/unique_fd.h"
#include "profile/file_room.h"
#include "profile/layout.h"

namespace sennit::profile {

namespace {

constexpr std::uint64_t kPage = 4096;
static_assert(sizeof(Header) <= kPage);

int write_all(int file, std::uint64_t at, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return ENOSPC;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    at += static_cast<std::uint64_t>(written);
  }
  return 0;
}

/// Writes what is not zero, in runs of pages.
int write_pages(int file, std::uint64_t from, std::span<const std::byte> content) {
  static constexpr std::array<std::byte, kPage> kZero{};
  const auto is_zero = [&](std::uint64_t page) {
    return std::memcmp(content.data() + page, kZero.data(), std::min(kPage, content.size() - page)) == 0;
  };
  for (std::uint64_t at = from; at < content.size(); at += kPage) {
    if (is_zero(at)) continue;
    std::uint64_t end = at + kPage;
    while (end < content.size() && !is_zero(end)) end += kPage;
    end = std::min(end, content.size());
    if (const int error = write_all(file, at, content.subspan(at, end - at)); error != 0) return error;
    at = end;
  }
  return 0;
}

/// The header's page, with so many blocks of the ring behind the tables.
std::array<std::byte, kPage> header_with(std::span<const std::byte> content, std::uint32_t blocks) {
  alignas(Header) std::array<std::byte, kPage> page{};
  std::memcpy(page.data(), content.data(), kPage);
  auto& header = *std::launder(reinterpret_cast<Header*>(page.data()));
  const auto* const ring = std::launder(reinterpret_cast<const Block*>(content.data() + sizeof(Tables)));
  for (std::uint32_t i = blocks; i < std::min(header.blocks_taken.load(std::memory_order_relaxed), header.blocks);
       ++i)
    header.calls_lost.fetch_add(ring[i].count.load(std::memory_order_acquire), std::memory_order_relaxed);
  header.blocks = blocks;
  header.blocks_taken = blocks;
  header.file_bytes = sizeof(Tables) + blocks * sizeof(Block);
  return page;
}

int write_with(int file, std::span<const std::byte> content, std::uint32_t blocks) {
  const auto bytes = sizeof(Tables) + blocks * sizeof(Block);
  if (bytes > largest_file()) return EFBIG;  // who writes more is ended by SIGXFSZ
  if (const int error = write_all(file, 0, header_with(content, blocks)); error != 0) return error;
  if (const int error = write_pages(file, kPage, content.first(bytes)); error != 0) return error;
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0) return errno;
  return fsync(file) == 0 ? 0 : errno;  // where the disk is another machine's, this alone finds that it is full
}

int write_file(const std::filesystem::path& to, std::span<const std::byte> content, std::uint32_t blocks) {
  const UniqueFd file(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return errno;
  const int error = write_with(file.get(), content, blocks);
  if (error != 0) unlink(to.c_str());
  return error;
}

}  // namespace

Status save(std::span<const std::byte> content, const std::filesystem::path& file) {
  const auto& header = std::launder(reinterpret_cast<const Tables*>(content.data()))->header;
  const std::uint32_t blocks = std::min(header.blocks_taken.load(std::memory_order_acquire), header.blocks);
  int error = write_file(file, content, blocks);
  if ((error == ENOSPC || error == EDQUOT || error == EFBIG) && blocks != 0) error = write_file(file, content, 0);
  return error == 0 ? Status() : file_error("the profile cannot be written", error, file.string());
}

}  // namespace sennit::profile
