#include "sim/content.h"

#include <algorithm>

namespace sennit::sim {

Content Forms::given(std::uint32_t region) {
  const auto [found, is_new] = leaves_.emplace(region, static_cast<std::uint32_t>(forms_.size()));
  if (is_new) forms_.push_back({{{region, 0}}, State::given});
  return {found->second, 0};
}

Content Forms::reduced(std::span<const Content> sources, unsigned raw, bool last) {
  Key key{{raw, last ? 1 : 0}};
  const std::int64_t first = sources.front().shift;
  for (const Content& source : sources) {
    if (source.form == 0) return {};
    key.emplace_back(source.form, source.shift - first);
  }
  const auto [found, is_new] = reductions_.emplace(key, static_cast<std::uint32_t>(forms_.size()));
  if (is_new) {
    Form form;
    form.state = last ? State::finished : State::lifted;
    for (const auto& [of, shift] : std::span(key).subspan(1))
      for (const Term& term : forms_[of].terms) form.terms.push_back({term.region, term.shift + shift});
    std::sort(form.terms.begin(), form.terms.end());
    forms_.push_back(std::move(form));
  }
  return {found->second, first};
}

std::vector<Term> Forms::terms(Content content) const {
  std::vector<Term> terms = forms_[content.form].terms;
  for (Term& term : terms) term.shift += content.shift;
  return terms;
}

}  // namespace sennit::sim
