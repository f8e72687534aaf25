#include "shim/nccl/abi/config.h"

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

namespace sennit::shim::nccl {

namespace {

/// The begin of ncclConfig_t. Later versions have more behind it, earlier ones less, which `size` says.
struct Head {
  std::size_t size;
  unsigned magic, version;
  int blocking;
  int cga_cluster_size, min_ctas, max_ctas;  // from 2.17 on
  const char* net_name;
  int split_share, traffic_class;
  const char* comm_name;
  int collnet_enable, cta_policy;  // from 2.27 on
};

constexpr int kUnset = INT_MIN;       // NCCL_CONFIG_UNDEF_INT
constexpr int kEfficiencyPolicy = 1;  // NCCL_CTA_POLICY_EFFICIENCY
constexpr int kZeroPolicy = 2;        // NCCL_CTA_POLICY_ZERO
constexpr int kMostPolicies = kEfficiencyPolicy | kZeroPolicy;

/// Reads a number as NCCL does: other text is 0.
std::optional<long long> number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  return std::strtoll(text, nullptr, 0);
}

unsigned in_range(long long blocks) {
  return static_cast<unsigned>(std::min<long long>(blocks, std::numeric_limits<unsigned>::max()));
}

bool is_alike(std::string_view text, std::string_view capitals) {
  return std::ranges::equal(text, capitals, [](char a, char b) {
    return std::toupper(static_cast<unsigned char>(a)) == static_cast<unsigned char>(b);
  });
}

/// Reads NCCL_CTA_POLICY as NCCL does: a digit, or names with | between them. Empty where it means nothing.
std::optional<int> policy_in(std::string_view text) {
  if (!text.empty() && text[0] >= '0' && text[0] <= '9')
    return text[0] <= '2' ? std::optional(text[0] - '0') : std::nullopt;
  constexpr std::string_view kNames[] = {"DEFAULT", "EFFICIENCY", "ZERO"};
  std::optional<int> policy;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find('|'));
    for (int i = 0; i < 3; ++i)
      if (is_alike(name, kNames[i])) policy = policy.value_or(0) | i;  // each is a bit
    text.remove_prefix(std::min(name.size() + 1, text.size()));
  }
  return policy;
}

}  // namespace

Config Config::read(const void* program) {
  Head head{0, 0, 0, kUnset, kUnset, kUnset, kUnset, nullptr, kUnset, kUnset, nullptr, kUnset, kUnset};
  if (program != nullptr) {
    std::memcpy(&head.size, program, sizeof head.size);
    std::memcpy(&head, program, std::min(head.size, sizeof head));
  }
  Config config;
  config.blocking = head.blocking != 0;
  if (head.max_ctas > 0) config.max_ctas = static_cast<unsigned>(head.max_ctas);
  if (head.cta_policy > 0 && head.cta_policy <= kMostPolicies) config.no_ctas = (head.cta_policy & kZeroPolicy) != 0;
  const char* const forced = std::getenv("NCCL_COMM_BLOCKING");
  if (forced != nullptr && (*forced == '0' || *forced == '1')) config.blocking = *forced == '1';
  return config;
}

unsigned allowed_blocks(const Config& config) {
  const auto ctas = number_in("NCCL_MAX_CTAS"), channels = number_in("NCCL_MAX_NCHANNELS");
  const unsigned of_config = ctas && *ctas > 0 ? in_range(*ctas) : config.max_ctas;  // NCCL ignores others
  constexpr long long kNoChannels = -2;                                              // NCCL's default
  if (!channels || *channels == kNoChannels) return of_config;
  const unsigned of_channels = in_range(std::max<long long>(*channels, 1));  // NCCL takes fewer for 1
  return of_config > 0 ? std::min(of_config, of_channels) : of_channels;
}

bool wants_no_blocks(const Config& config) {
  const char* const text = std::getenv("NCCL_CTA_POLICY");
  const auto policy = text != nullptr ? policy_in(text) : std::nullopt;
  return policy ? (*policy & kZeroPolicy) != 0 : config.no_ctas;
}

}  // namespace sennit::shim::nccl
