#include "shim/nccl/growth.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "comm/wire.h"

namespace sennit::shim::nccl {

namespace {

std::string key_of_id(const UniqueId& id) {
  return key_of(fmt::format("grow {}", std::string_view(reinterpret_cast<const char*>(&id), sizeof id)));
}

Status not_all_here() {
  return Status(Code::unsupported, "it was grown, and its ranks are not all on this machine, with this sennit");
}

/// What the elder says: whether all are there, and to the old ranks the key.
comm::Bytes word_of(bool complete, const std::string& key) {
  return comm::Writer().number(complete ? 1 : 0).text(key).take();
}

/// The one word that is said; the key where all are there.
Result<std::string> heard(const std::vector<comm::Bytes>& words) {
  const auto said = std::ranges::find_if(words, [](const comm::Bytes& word) { return !word.empty(); });
  if (said == words.end()) return not_all_here();
  comm::Reader reader(*said);
  const bool complete = reader.number() == 1;
  std::string key = reader.text();
  if (auto status = reader.finish(); !status) return status;
  if (!complete) return not_all_here();
  return key;
}

Result<std::string> exchanged(const Meeting& meeting, int rank, int size, const comm::Bytes& word) {
  auto exchange = meeting.meet(rank, size);
  if (!exchange) return exchange.status();
  const auto words = (*exchange)->all_gather(word);
  return words.ok() ? heard(*words) : words.status();
}

}  // namespace

Growth Growth::of_old(std::string shared, int rank, int size, const UniqueId* id, int most) {
  Growth made;
  made.old_rank_ = rank;
  made.old_size_ = size;
  made.olds_.emplace(std::move(shared), rank, size);
  if (id == nullptr) return made;
  made.key_ = key_of_id(*id);
  made.news_.emplace(made.key_, most, most + 1);
  return made;
}

Growth Growth::of_new(const UniqueId& id, int rank, int most) {
  Growth made;
  made.key_ = key_of_id(id);
  made.news_.emplace(made.key_, rank, most + 1);
  return made;
}

Result<Growth::Met> Growth::meet(int rank, int size) const {
  auto key = !olds_ ? as_new() : news_ ? as_elder(size) : as_old();
  if (!key) return key.status();
  Met met{key_of(*key + " all"), nullptr};
  auto exchange = Meeting(met.key, rank, size).meet(rank, size);
  if (!exchange) return exchange.status();
  met.exchange = std::move(*exchange);
  return met;
}

Result<std::string> Growth::as_elder(int size) const {
  const int news = static_cast<int>(news_->present().size()) - 1;
  const bool olds_are_here = olds_->present().size() == static_cast<std::size_t>(old_size_);
  bool complete = olds_are_here && news == size - old_size_;
  // Nobody waits for those who have not announced themselves, and these would not come.
  if (news > 0) complete = exchanged(*news_, 0, news + 1, word_of(complete, {})).ok() && complete;
  if (olds_are_here) return exchanged(*olds_, old_rank_, old_size_, word_of(complete, key_));
  return not_all_here();
}

Result<std::string> Growth::as_old() const {
  if (olds_->present().size() != static_cast<std::size_t>(old_size_)) return not_all_here();
  return exchanged(*olds_, old_rank_, old_size_, {});
}

Result<std::string> Growth::as_new() const {
  const std::vector<int> present = news_->present();
  const auto place = std::ranges::find(present, news_->index());
  if (place == present.end() || present.back() != news_->most() - 1) return not_all_here();
  // The elder is the last to have announced itself by number, and the first to be asked.
  const auto heard_word =
      exchanged(*news_, static_cast<int>(place - present.begin()) + 1, static_cast<int>(present.size()), {});
  return heard_word.ok() ? Result<std::string>(key_) : heard_word.status();
}

}  // namespace sennit::shim::nccl
