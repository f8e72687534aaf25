#include "path/file_fetch.h"

#include <utility>

namespace sennit::path {

FileFetch::FileFetch(comm::Group& group, int peer, std::vector<std::uint64_t> numbers)
    : group_(group), peer_(peer), numbers_(numbers.begin(), numbers.end()) {}

std::optional<Result<UniqueFd>> FileFetch::next() {
  if (peer_ == group_.rank()) return group_.fetch(peer_, numbers_.front());  // a rank has its own at once
  if (!request_) {
    auto begun = group_.begin_fetch(peer_, numbers_.front());
    if (!begun) return begun.status();
    request_ = *begun;
  }
  return group_.fetched(*request_);
}

std::optional<Result<std::vector<UniqueFd>>> FileFetch::poll() {
  while (!numbers_.empty()) {
    auto file = next();
    if (!file) return std::nullopt;
    if (!*file) return file->status();
    files_.push_back(std::move(**file));
    request_.reset();
    numbers_.pop_front();
  }
  return std::move(files_);
}

}  // namespace sennit::path
