// Launches a block program on a lane of any executor.
#pragma once

#include <typeinfo>

#include "device/host/block.h"
#include "device/lane.h"
#include "device/program.h"
#include "device/trace/block.h"

namespace sennit::device {

template <class P>
void host_entry(HostBlock& block, const void* arguments) {
  (*static_cast<const P*>(arguments))(block);
}

template <class P>
void trace_entry(TraceBlock& block, const void* arguments) {
  (*static_cast<const P*>(arguments))(block);
}

/// Returns the descriptor of P. P::kName is what users see.
template <class P>
const Program& program_of() {
  static const Program program{P::kName, sizeof(P), &host_entry<P>, &trace_entry<P>, typeid(P).name(), kIsEarly<P>};
  return program;
}

/// Launches the block program `arguments` (a struct with kName and a templated operator()).
template <class P>
Status launch(Lane& lane, const P& arguments, unsigned blocks, unsigned threads = kBlockThreads) {
  return lane.launch(program_of<P>(), &arguments, blocks, threads);
}

}  // namespace sennit::device
