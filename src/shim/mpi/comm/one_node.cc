#include "shim/mpi/comm/one_node.h"

#include <algorithm>
#include <new>
#include <vector>

#include "coll/reduce_rows.h"
#include "shim/shared_gpu.h"

namespace sennit::shim::mpi {

namespace {

/// Bytes of each rank that a scan gathers at a time: a default. Scratch memory takes as many times that as there are
/// ranks.
constexpr std::uint64_t kScanPiece = std::uint64_t{4} << 20;

}  // namespace

Result<std::unique_ptr<OneNode>> OneNode::create(std::unique_ptr<comm::Exchange> exchange,
                                                 Result<std::shared_ptr<device::Executor>> executor, int device) {
  try {
    return make(std::move(exchange), std::move(executor), device);
  } catch (const std::bad_alloc&) {  // a thread makes some, and nothing else would catch it there
    return Status(Code::out_of_memory, "no memory");
  }
}

Result<std::unique_ptr<OneNode>> OneNode::make(std::unique_ptr<comm::Exchange> exchange,
                                               Result<std::shared_ptr<device::Executor>> executor, int device) {
  std::unique_ptr<OneNode> made(new OneNode());
  node::Node::Options options;
  options.device = device;
  Status ready = executor.status();
  if (ready.ok() && device >= 0) ready = claim_gpu(**executor, device);
  if (ready.ok() && device >= 0) ready = coll::load_reduce_rows(**executor, device);
  if (auto agreed = comm::agree(*exchange, ready, {}); !agreed) return agreed.status();
  auto inner = plan::Communicator::create(std::move(exchange), std::move(*executor), std::move(options));
  if (!inner) return inner.status();
  made->inner_ = std::move(*inner);
  made->inner_->choose_by();
  // All ranks learn here, before there is anything to do, that a GPU has no memory for what they share.
  if (auto status = made->collectives().meet(); !status) return status;
  return made;
}

Status OneNode::perform(Work& work) {
  if (auto status = enqueue(work); !status) return status;
  return inner_->synchronize(node().lane());
}

Status OneNode::begin(Work& work) {
  if (end_ == nullptr) {
    auto event = node().executor().event(node().device());
    if (!event) return event.status();
    end_ = std::move(*event);
  }
  if (auto status = enqueue(work); !status) return status;
  return node().lane().record(*end_);
}

Result<bool> OneNode::ended() {
  const auto done = end_->done();
  if (done.ok() && !*done) return false;
  auto status = node().check();
  if (status.ok()) status = done.status();
  if (status = collectives().explain(status); !status) return status;
  return true;
}

Result<std::byte*> OneNode::scratch(std::uint64_t bytes) {
  if (scratch_.bytes() < bytes) {
    // Work that was begun before may still use the present scratch.
    if (auto status = node().synchronize(node().lane()); !status) return collectives().explain(status);
    auto more = node().executor().allocate(node().device(), bytes);
    // The GPU reaches it too. The other ranks, which may have memory, are in the collective already.
    if (!more) more = node().executor().allocate_pinned(bytes);
    if (!more) {
      node().group().abort(more.status());
      return more.status();
    }
    scratch_ = std::move(*more);
  }
  return scratch_.data();
}

Status OneNode::call(const coll::Request& request) {
  return collectives().explain(collectives().call(request, node().lane()));
}

Status OneNode::enqueue(Work& work) {
  if (work.scan) return enqueue_scan(work);
  coll::Request request = work.request;
  if (work.scratch_bytes == 0) return call(request);
  const auto memory = scratch(work.scratch_bytes);
  if (!memory) return memory.status();
  request.output = *memory;
  if (auto status = call(request); !status) return status;
  return node().lane().copy(work.result, *memory + work.result_from, work.result_bytes);
}

Status OneNode::enqueue_scan(const Work& work) {
  const std::uint64_t piece = std::min(work.bytes, kScanPiece);
  const auto memory = scratch(piece * static_cast<unsigned>(node().size()));
  if (!memory) return memory.status();
  const auto* const input = static_cast<const std::byte*>(work.request.input);
  auto* const result = static_cast<std::byte*>(work.result);
  for (std::uint64_t at = 0; at < work.bytes; at += piece) {
    coll::Request request = work.request;
    request.count = std::min(piece, work.bytes - at);
    request.input = input + at;
    request.output = *memory;
    if (auto status = call(request); !status) return status;
    std::vector<const std::byte*> rows;
    for (int rank = 0; rank < work.scan->end; ++rank)
      rows.push_back(*memory + request.count * static_cast<unsigned>(rank));
    if (auto status = coll::reduce_rows(rows, result + at, request.count, work.scan->reduction, node().lane());
        !status)
      return status;
  }
  return {};
}

std::string OneNode::plan_of(const Work& work) {
  if (node().size() == 1) return "alone";
  const device::Reduction& reduction = work.request.reduction;
  const std::uint64_t bytes = work.request.count * device::bytes_of(reduction.type);
  if (work.scan)
    return "gathered and reduced: " + coll::name(collectives().plan(coll::call_key_of(
                                          work.request.operation, reduction, std::min(bytes, kScanPiece))));
  return coll::name(collectives().plan(coll::call_key_of(work.request.operation, reduction, bytes)));
}

Status OneNode::close() {
  return collectives().close();
}

}  // namespace sennit::shim::mpi
