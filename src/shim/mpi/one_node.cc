#include "shim/mpi/one_node.h"

#include "plan/chooser.h"

namespace sennit::shim::mpi {

Result<std::unique_ptr<OneNode>> OneNode::create(std::unique_ptr<comm::Exchange> exchange,
                                                 Result<std::shared_ptr<device::Executor>> executor, int device) {
  std::unique_ptr<OneNode> made(new OneNode());
  path::Node::Options options;
  options.device = device;
  if (auto agreed = comm::agree(*exchange, executor.status(), {}); !agreed) return agreed.status();
  auto node = path::Node::create(std::move(exchange), std::move(*executor), std::move(options));
  if (!node) return node.status();
  made->node_ = std::move(*node);
  made->collectives_ = std::make_unique<coll::Collectives>(*made->node_, std::make_unique<plan::Chooser>());
  return made;
}

Status OneNode::perform(Work& work) {
  if (auto status = enqueue(work); !status) return status;
  return collectives_->explain(node_->synchronize(node_->lane()));
}

Status OneNode::begin(Work& work) {
  if (end_ == nullptr) {
    auto event = node_->executor().event(node_->device());
    if (!event) return event.status();
    end_ = std::move(*event);
  }
  if (auto status = enqueue(work); !status) return status;
  return node_->lane().record(*end_);
}

Result<bool> OneNode::ended() {
  const auto done = end_->done();
  if (done.ok() && !*done) return false;
  auto status = node_->check();
  if (status.ok()) status = done.status();
  if (status = collectives_->explain(status); !status) return status;
  return true;
}

Status OneNode::enqueue(Work& work) {
  device::Lane& lane = node_->lane();
  coll::Request request = work.request;
  if (work.scratch_bytes != 0) {
    if (scratch_.bytes() < work.scratch_bytes) {
      // What was begun before may still use what there is.
      if (auto status = node_->synchronize(lane); !status) return collectives_->explain(status);
      auto more = node_->executor().allocate(node_->device(), work.scratch_bytes);
      if (!more) return more.status();
      scratch_ = std::move(*more);
    }
    request.output = scratch_.data();
  }
  if (auto status = collectives_->call(request, lane); !status) return collectives_->explain(status);
  if (work.scratch_bytes != 0) return lane.copy(work.result, scratch_.data() + work.result_from, work.result_bytes);
  return {};
}

std::string OneNode::plan_of(const Work& work) {
  if (node_->size() == 1) return "alone";
  const device::Reduction& reduction = work.request.reduction;
  const std::uint64_t bytes = work.request.count * device::bytes_of(reduction.type);
  return coll::name(collectives_->plan(coll::case_of(work.request.operation, reduction, bytes)));
}

Status OneNode::close() {
  return collectives_->close();
}

}  // namespace sennit::shim::mpi
