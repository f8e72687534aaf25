// Whether an address can be read at all: tells ordinary host memory from a freed or foreign pointer.
#pragma once

namespace sennit::device {

/// True when the byte at `pointer` is readable by this process. Never faults: the kernel does the reading.
bool is_mapped(const void* pointer);

}  // namespace sennit::device
