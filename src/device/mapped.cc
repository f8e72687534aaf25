#include "device/mapped.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

namespace sennit::device {

bool is_mapped(const void* pointer) {
  char byte = 0;
  const iovec local{&byte, 1};
  const iovec remote{const_cast<void*>(pointer), 1};
  if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1) return true;
  return errno != EFAULT;  // a sandbox that forbids the call leaves us with the caller's word
}

}  // namespace sennit::device
