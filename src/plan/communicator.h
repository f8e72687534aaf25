// A plan::Communicator is what users hold: a rank's place among the others, its messages, its collectives, and the
// chooser of their plans.
#pragma once

#include <memory>
#include <utility>

#include "coll/collectives.h"
#include "node/node.h"
#include "path/one_sided.h"
#include "plan/chooser.h"

namespace sennit::plan {

class Communicator {
 public:
  /// Collective. Errors: those of Node::create.
  static Result<Communicator> create(std::unique_ptr<comm::Exchange> exchange,
                                     std::shared_ptr<device::Executor> executor, node::Node::Options options) {
    auto node = node::Node::create(std::move(exchange), std::move(executor), std::move(options));
    if (!node) return node.status();
    return Communicator(std::move(*node));
  }

  node::Node& node() const { return *node_; }
  path::OneSided& one_sided() const { return *one_sided_; }

  /// Sets who chooses plans, once and before collectives(): by default tables of this machine, else the cost model.
  void choose_by(std::unique_ptr<coll::Chooser> chooser = std::make_unique<Chooser>()) {
    collectives_ = std::make_unique<coll::Collectives>(*node_, std::move(chooser));
  }
  coll::Collectives& collectives() const { return *collectives_; }

  /// Returns what ended the communicator, in the words of its collectives; ok while nothing has.
  Status check() const { return collectives_->explain(node_->check()); }
  /// Waits for the lane. Errors: those of check().
  Status synchronize(device::Lane& lane) { return collectives_->explain(node_->synchronize(lane)); }

 private:
  explicit Communicator(std::unique_ptr<node::Node> node)
      : node_(std::move(node)), one_sided_(std::make_unique<path::OneSided>(*node_)) {}

  std::unique_ptr<node::Node> node_;
  std::unique_ptr<path::OneSided> one_sided_;
  std::unique_ptr<coll::Collectives> collectives_;  // ends first: it may use windows
};

}  // namespace sennit::plan
