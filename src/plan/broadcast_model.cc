#include "plan/broadcast_model.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace sennit::plan {

namespace {

/// GB/s are kilobytes/µs.
double us(double bytes, double gbps) {
  return bytes / (gbps * 1000);
}

/// ⌈log_k n⌉, without the errors of logarithms.
int steps(int k, int n) {
  int all = 0;
  for (long reached = 1; reached < n; reached *= k) ++all;
  return all;
}

}  // namespace

double BroadcastModel::ring_gdr(int n, double bytes) const {
  return (n - 1) * (start_us + us(bytes, gpu_gbps));
}

double BroadcastModel::ring_gdr_pipeline(int n, double bytes) const {
  return (bytes / chunk_bytes + (n - 2)) * (start_us + us(chunk_bytes, gpu_gbps));
}

double BroadcastModel::ring_staging(int n, double bytes) const {
  return us(bytes, device_to_host_gbps) + (n - 1) * (start_us + us(bytes, host_gbps));
}

double BroadcastModel::knomial_gdr(int k, int n, double bytes) const {
  return steps(k, n) * (start_us + us(bytes, gpu_gbps));
}

double BroadcastModel::knomial_staging(int k, int n, double bytes) const {
  return us(bytes, device_to_host_gbps) + steps(k, n) * (start_us + us(bytes, host_gbps));
}

double BroadcastModel::knomial_gdr_pipeline(int k, int n, double bytes) const {
  return bytes / chunk_bytes * steps(k, n) * (start_us + us(chunk_bytes, gpu_gbps));
}

double BroadcastModel::multicast_overhead_us(int n) const {
  return std::log(n) / multicast_a;
}

double BroadcastModel::multicast_gdr(int n, double bytes) const {
  return bytes / mtu_bytes * (start_us + multicast_overhead_us(n) + us(mtu_bytes, gpu_gbps));
}

double BroadcastModel::multicast_staging_pipeline(int n, double bytes) const {
  return us(chunk_bytes, device_to_host_gbps) +
         bytes / mtu_bytes * (start_us + multicast_overhead_us(n) + us(mtu_bytes, host_gbps));
}

namespace {

/// What the root of a k-nomial tree, which sends the most, sends in a round.
struct Sends {
  int far = 0, near = 0;
};

std::vector<Sends> knomial_of_root(int k, int n, int a_node) {
  std::vector<Sends> rounds;
  long distance = 1;
  while (distance * k < n) distance *= k;
  for (; distance > 0; distance /= k) {
    Sends& round = rounds.emplace_back();
    for (long child = distance; child < distance * k && child < n; child += distance)
      ++(child < a_node ? round.near : round.far);
  }
  return rounds;
}

/// Stages that a chunk goes through one after the other, while other chunks are in the others; a link that several
/// stages share is busy with all of them.
struct Pipeline {
  double once = 0, step = 0;

  void add(double stage) {
    once += stage;
    step = std::max(step, stage);
  }
  double us(int chunks) const { return once + (chunks - 1) * step; }
};

}  // namespace

int knomial_sends(int k, int n) {
  int sends = 0;
  for (const Sends& round : knomial_of_root(k, n, 1)) sends += round.far;
  return sends;
}

int CorrectedBroadcast::chunks(double bytes) const {
  return std::max(1, static_cast<int>(std::ceil(bytes / model.chunk_bytes)));
}

double CorrectedBroadcast::linear(int n, double bytes) const {
  const int pieces = chunks(bytes), home = std::min(a_node, n);
  const double far = n > home ? pieces * model.start_us + us((n - home) * bytes, model.gpu_gbps) : 0,
               near = home > 1 ? pieces * near_us + us((home - 1) * bytes, near_gbps) : 0;
  return std::max(far, near);
}

double CorrectedBroadcast::linear_staging(int n, double bytes) const {
  const int pieces = chunks(bytes), far = n - std::min(a_node, n);
  const double chunk = bytes / pieces;
  Pipeline line;
  line.add(near_us + us(chunk, model.device_to_host_gbps));
  line.add(far > 0 ? model.start_us + us(far * chunk, model.host_gbps) : near_us);
  line.add(near_us + us(chunk, host_to_device_gbps));
  return line.us(pieces);
}

double CorrectedBroadcast::ring(int n, double bytes) const {
  const int pieces = chunks(bytes), far = (n - 1) / a_node, close = n - 1 - far;
  const double chunk = bytes / pieces;
  Pipeline line;
  for (int hop = 0; hop < far; ++hop) line.add(model.start_us + us(chunk, model.gpu_gbps));
  for (int hop = 0; hop < close; ++hop) line.add(near_us + us(chunk, near_gbps));
  return line.us(pieces);
}

double CorrectedBroadcast::ring_staging(int n, double bytes) const {
  const int pieces = chunks(bytes), far = (n - 1) / a_node, close = n - 1 - far;
  const double chunk = bytes / pieces;
  Pipeline line;
  line.add(near_us + us(chunk, model.device_to_host_gbps));
  for (int hop = 0; hop < far; ++hop) line.add(model.start_us + us(chunk, model.host_gbps));
  for (int hop = 0; hop < close; ++hop) line.add(near_us);
  line.add(near_us + us(chunk, host_to_device_gbps));
  return line.us(pieces);
}

double CorrectedBroadcast::knomial(int k, int n, double bytes) const {
  const int pieces = chunks(bytes);
  const double chunk = bytes / pieces;
  Pipeline line;
  double far = 0, near = 0;  // of all rounds: the root's links
  for (const Sends& round : knomial_of_root(k, n, a_node)) {
    const double out = us(round.far * chunk, model.gpu_gbps), in = us(round.near * chunk, near_gbps);
    line.add(std::max(round.far > 0 ? model.start_us + out : 0, round.near > 0 ? near_us + in : 0));
    far += out;
    near += in;
  }
  line.step = std::max({line.step, far, near});
  return line.us(pieces);
}

double CorrectedBroadcast::knomial_staging(int k, int n, double bytes) const {
  const int pieces = chunks(bytes);
  const double chunk = bytes / pieces;
  Pipeline line;
  double far = 0;
  line.add(near_us + us(chunk, model.device_to_host_gbps));
  for (const Sends& round : knomial_of_root(k, n, a_node)) {
    const double out = us(round.far * chunk, model.host_gbps);
    line.add(round.far > 0 ? model.start_us + out : near_us);
    far += out;
  }
  line.add(near_us + us(chunk, host_to_device_gbps));
  line.step = std::max(line.step, far);
  return line.us(pieces);
}

double CorrectedBroadcast::cast_us(int n, double bytes, double gbps) const {
  return model.start_us + bytes / model.mtu_bytes * model.multicast_overhead_us(n) +
         us(bytes, std::min(gbps, receive_gbps));
}

/// Ranks of the root's node read while it multicasts, those beside other receivers behind the last chunk's arrival.
double CorrectedBroadcast::with_neighbours(double casts_us, double bytes) const {
  const int pieces = chunks(bytes);
  const double home = neighbours > 0 ? pieces * near_us + us(neighbours * bytes, near_gbps) : 0,
               beside = hand_ons > 0 ? near_us + us(hand_ons * bytes / pieces, near_gbps) : 0;
  return std::max(casts_us + beside, home);
}

double CorrectedBroadcast::multicast(int n, double bytes) const {
  const int pieces = chunks(bytes);
  return with_neighbours(pieces * cast_us(n, bytes / pieces, model.gpu_gbps), bytes);
}

double CorrectedBroadcast::multicast_staging(int n, double bytes) const {
  const int pieces = chunks(bytes);
  Pipeline line;
  line.add(near_us + us(bytes / pieces, model.device_to_host_gbps));
  line.add(cast_us(n, bytes / pieces, model.host_gbps));
  return with_neighbours(line.us(pieces), bytes);
}

double several_sources(double single_us, int sources, double overlap) {
  return (1 - overlap) * sources * single_us;
}

double overlap(double single_us, double several_us, int sources) {
  return (sources * single_us - several_us) / (sources * single_us);
}

}  // namespace sennit::plan
