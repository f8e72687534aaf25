// Predicts the time of a broadcast among GPUs of different nodes: equations 1 to 11 of Chu et al., "Exploiting
// Hardware Multicast and GPUDirect RDMA for Efficient Broadcast", IEEE TPDS 2018, sections 3, 5.2 and 8. Times in µs,
// rates in GB/s.
#pragma once

namespace sennit::plan {

/// Table 1. The defaults are those of RI2 (section 8), but for gpu_gbps, which the paper does not give.
struct BroadcastModel {
  double start_us = 0;             ///< t_s: "negligibly small"
  double chunk_bytes = 512 << 10;  ///< C
  double mtu_bytes = 4 << 10;      ///< U, of a multicast
  double host_gbps = 12.5;         ///< B_H: the card reading host memory, 100 Gb/s
  double gpu_gbps = 1.05;          ///< B_G: the card reading a GPU's memory
  double device_to_host_gbps = 8;  ///< B_H2D
  double multicast_a = 17.5;       ///< a of equation 10: 15 to 20

  double ring_gdr(int n, double bytes) const;                     ///< equation 1
  double ring_gdr_pipeline(int n, double bytes) const;            ///< equation 2
  double ring_staging(int n, double bytes) const;                 ///< equation 3
  double knomial_gdr(int k, int n, double bytes) const;           ///< equation 4
  double knomial_staging(int k, int n, double bytes) const;       ///< equation 5
  double knomial_gdr_pipeline(int k, int n, double bytes) const;  ///< equation 6
  double multicast_gdr(int n, double bytes) const;                ///< equation 7
  double multicast_staging_pipeline(int n, double bytes) const;   ///< equation 8
  /// t_o(n): what a multicast packet costs beside its bytes, equation 10.
  double multicast_overhead_us(int n) const;
};

/// Returns the time of `sources` broadcasts at once that overlap by a part of their time: equation 9.
double several_sources(double single_us, int sources, double overlap);
/// Returns the part by which they overlap, from one broadcast's time and that of several: equation 11.
double overlap(double single_us, double several_us, int sources);

}  // namespace sennit::plan
