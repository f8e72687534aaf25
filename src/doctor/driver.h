// Checks the CUDA driver: does it start, how fast, what GPUs does it show, and is it new enough for this build.
#pragma once

#include <string>
#include <vector>

#include "doctor/ask.h"
#include "doctor/check.h"
#include "doctor/situation.h"

namespace sennit::doctor {

struct CudaDevice {
  std::string pci, model;
};

struct DriverReadings {
  std::string trouble;              ///< the process that asked crashed or fell silent; empty when it answered
  bool library = false;             ///< libcuda.so.1 was opened
  int code = 0;                     ///< cuInit's CUresult
  std::string reason;               ///< its text, or why the library cannot be opened
  int version = 0;                  ///< newest CUDA the driver supports, 13000 for 13.0
  double seconds = 0;               ///< that cuInit took
  std::vector<CudaDevice> devices;  ///< in CUDA's order, as CUDA_VISIBLE_DEVICES leaves them
};

/// Opens the driver and tells one line; runs in a process of its own.
void probe_driver();
DriverReadings driver_readings(const Answer& answer);

Check judge_driver(const Situation& situation, const DriverReadings& readings);

}  // namespace sennit::doctor
