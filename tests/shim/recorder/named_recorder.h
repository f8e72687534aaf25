// A recorder in memory, whose names stand at 0: one communicator, and ncclAllReduce.
#pragma once

#include <memory>

#include "profile/recorder.h"

namespace sennit::shim::recorder {

inline std::unique_ptr<profile::Recorder> named_recorder() {
  auto made = profile::Recorder::in_memory().value();
  made->reduction("");
  made->type("");
  made->phase("");
  made->how("");
  made->communicator({});
  made->function("ncclAllReduce");
  return made;
}

}  // namespace sennit::shim::recorder
