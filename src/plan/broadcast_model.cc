#include "plan/broadcast_model.h"

#include <cmath>

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

double several_sources(double single_us, int sources, double overlap) {
  return (1 - overlap) * sources * single_us;
}

double overlap(double single_us, double several_us, int sources) {
  return (sources * single_us - several_us) / (sources * single_us);
}

}  // namespace sennit::plan
