#include "path/kernel_channel.h"

#include <algorithm>
#include <cstring>

namespace sennit::path {

Result<std::unique_ptr<KernelChannel>> KernelChannel::create(device::Executor& executor, int from, int to,
                                                             Shape shape) {
  shape.blocks = std::min({shape.blocks, executor.concurrent_blocks(from), executor.concurrent_blocks(to)});
  std::unique_ptr<KernelChannel> channel(new KernelChannel());
  auto memory = executor.allocate_pinned(shape.bytes());
  if (!memory) return std::move(memory).status().in("staging ring");
  std::memset(memory->data(), 0, shape.bytes());
  channel->memory_ = std::move(*memory);
  const Ring ring = lay_out(channel->memory_.data(), shape);
  auto sender = RingEnd::create(executor, from, ring, shape);
  if (!sender) return sender.status();
  channel->sender_ = std::move(*sender);
  auto receiver = RingEnd::create(executor, to, ring, shape);
  if (!receiver) return receiver.status();
  channel->receiver_ = std::move(*receiver);
  channel->reaches_ = executor.reaches(from, to);
  return channel;
}

Status KernelChannel::run(End dst, End src, std::uint64_t bytes, int blocks, std::uint64_t chunk,
                          device::Event* fork) {
  // The sender first: its launch is on the critical path, the receiver only has to be there for the first chunk. The
  // receiver waits for the fork too, so that it does not hold processors while earlier work of the caller runs.
  const Fitted use = fit(shape(), blocks, chunk);
  const auto asks = sender_->asks(reaches_ ? dst.seen_from(sender_->lane().device()) : nullptr, bytes);
  if (auto status = sender_->send(src.at_owner, bytes, use.blocks, use.chunk, asks, fork); !status) return status;
  return receiver_->receive(dst.at_owner, bytes, use.blocks, use.chunk, receiver_->helps(/*started=*/true), fork);
}

Status KernelChannel::join(device::Lane& lane) {
  // The sender ends only when everything was taken: it alone tells of arrival. A capture must see every lane rejoin.
  if (auto status = sender_->join(lane); !status || !lane.capturing()) return status;
  return receiver_->join(lane);
}

}  // namespace sennit::path
