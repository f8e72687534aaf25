// Predicts the time of a broadcast among GPUs of different nodes: equations 1 to 11 of Chu et al., "Exploiting
// Hardware Multicast and GPUDirect RDMA for Efficient Broadcast", IEEE TPDS 2018, sections 3, 5.2 and 8. Times in µs,
// rates in GB/s.
//
// CorrectedBroadcast is what `sennit sim` and `sennit explain` show; the equations as printed stand beside it.
#pragma once

namespace sennit::plan {

/// Table 1. The defaults are those of RI2 (section 8), but for gpu_gbps, which the paper does not give.
struct BroadcastModel {
  double start_us = 0;             ///< t_s: "negligibly small"
  double chunk_bytes = 512 << 10;  ///< C
  double mtu_bytes = 4 << 10;      ///< U, of a multicast
  double host_gbps = 12.5;         ///< B_H: the card reading host memory, 100 Gb/s
  double gpu_gbps = 1;             ///< B_G: the card reading a GPU's memory
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

/// The same with what the equations leave out; where nothing is left out they agree. Ranks are numbered node by node,
/// the root is the first, and messages within a node are near ones.
///
/// - Equations 4 to 6: a sender of k - 1 children in a round sends k - 1 times, one behind the other or all at once.
/// - Equation 6: rounds of different chunks overlap, as far as the root's link allows.
/// - Equations 3 and 5: receivers copy the message from host memory to their GPUs.
/// - Equations 7 and 8: a receiver's link may be slower than the sender's (receive_gbps), and of equation 8 the copy
/// to
///   the host slower than the multicast.
struct CorrectedBroadcast {
  BroadcastModel model;
  int a_node = 1;              ///< ranks of a node
  double near_us = 0;          ///< t_s of a near message, and of a copy between GPU and host
  double near_gbps = 12.5;     ///< of a near message
  double receive_gbps = 12.5;  ///< of a card writing a GPU's memory
  double host_to_device_gbps = 12.5;
  int neighbours = 0;  ///< of its node, that get a multicast from the root itself
  int hand_ons = 0;    ///< ranks beside a multicast's receiver that read it there

  double linear(int n, double bytes) const;
  double linear_staging(int n, double bytes) const;
  double ring(int n, double bytes) const;                    ///< equations 1 and 2
  double ring_staging(int n, double bytes) const;            ///< equation 3, in chunks
  double knomial(int k, int n, double bytes) const;          ///< equations 4 and 6
  double knomial_staging(int k, int n, double bytes) const;  ///< equation 5, in chunks
  double multicast(int n, double bytes) const;               ///< equation 7
  double multicast_staging(int n, double bytes) const;       ///< equation 8

 private:
  int chunks(double bytes) const;
  double cast_us(int n, double bytes, double gbps) const;
  double with_neighbours(double casts_us, double bytes) const;
};

/// Returns how often the root of a k-nomial tree sends: what equations 4 to 6 count as ⌈log_k n⌉.
int knomial_sends(int k, int n);

/// Returns the time of `sources` broadcasts at once that overlap by a part of their time: equation 9.
double several_sources(double single_us, int sources, double overlap);
/// Returns the part by which they overlap, from one broadcast's time and that of several: equation 11.
double overlap(double single_us, double several_us, int sources);

}  // namespace sennit::plan
