#include "place/traffic.h"

namespace sennit::place {

void Traffic::add(int from, int to, double bytes, double messages) {
  if (from != to && bytes > 0) talks_.push_back({from, to, bytes, messages});
}

void Traffic::scale(double factor) {
  for (Talk& talk : talks_) talk.bytes *= factor;
}

Traffic Traffic::renamed(std::span<const int> name) const {
  Traffic other(ranks_);
  for (const Talk& talk : talks_) other.add(name[talk.from], name[talk.to], talk.bytes, talk.messages);
  return other;
}

std::vector<double> Traffic::matrix() const {
  const auto n = std::size_t(ranks_);
  std::vector<double> all(n * n, 0);
  for (const Talk& talk : talks_) all[std::size_t(talk.from) * n + std::size_t(talk.to)] += talk.bytes;
  return all;
}

double Traffic::bytes() const {
  double sum = 0;
  for (const Talk& talk : talks_) sum += talk.bytes;
  return sum;
}

}  // namespace sennit::place
