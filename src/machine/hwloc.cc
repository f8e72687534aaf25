#include "machine/hwloc.h"

#include "machine/validate.h"

#if SENNIT_HAVE_HWLOC
#include <hwloc.h>

#include <memory>

#include <fmt/format.h>
#endif

namespace sennit::machine {

#if SENNIT_HAVE_HWLOC

HwlocReadings read_hwloc() {
  HwlocReadings readings;
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return readings;
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> topology(raw, &hwloc_topology_destroy);
  if (hwloc_topology_load(raw) != 0) return readings;
  readings.present = true;
  const unsigned version = hwloc_get_api_version();
  readings.version = fmt::format("{}.{}.{}", version >> 16, version >> 8 & 0xff, version & 0xff);
  if (hwloc_obj_t package = hwloc_get_obj_by_type(raw, HWLOC_OBJ_PACKAGE, 0); package != nullptr)
    if (const char* model = hwloc_obj_get_info_by_name(package, "CPUModel"); model != nullptr)
      readings.processor = printable(model);
  for (hwloc_obj_t node = nullptr; (node = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_NUMANODE, node)) != nullptr;)
    readings.memory_bytes[int(node->os_index)] = node->attr->numanode.local_memory;
  return readings;
}

#else

HwlocReadings read_hwloc() {
  return {};
}

#endif

}  // namespace sennit::machine
