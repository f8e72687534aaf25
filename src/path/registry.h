// Keeps the windows that the ranks of a node have open together, by the numbers under which peers name them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "node/node.h"
#include "path/mappings.h"
#include "path/window.h"

namespace sennit::path {

class Registry {
 public:
  /// `node` outlives it.
  explicit Registry(node::Node& node) : node_(node), mappings_(node.executor()) {}

  /// Collective registration; see Window::create. close() is collective too, and waits until no rank uses it.
  Result<std::shared_ptr<Window>> open(void* data, std::uint64_t bytes);
  Status close(const std::shared_ptr<Window>& window);
  /// Forgets a window instead of close(), without the other ranks: one that outlives_owners(), once no message of
  /// this rank uses it, nor any of a peer's that goes by way of this rank's service.
  void forget(const std::shared_ptr<Window>& window);
  /// Returns the address that a peer's message goes to. Errors: not_found, invalid_argument.
  Result<std::byte*> resolve(std::uint32_t window, std::uint64_t offset, std::uint64_t bytes);

 private:
  node::Node& node_;
  std::mutex mutex_;  // held for moments: the service needs it to help a peer, whatever is being set up here
  std::uint32_t next_ = 1;
  Mappings mappings_;
  std::map<std::uint32_t, std::shared_ptr<Window>> windows_;
};

}  // namespace sennit::path
