// Lets ThreadSanitizer see order that comes about through another process.
//
// ThreadSanitizer knows the threads of one process. When thread A tells another process something, and that process
// makes thread B act on it, A's earlier writes happen before what B does, but no edge of this process says so, and
// a race would be reported. Whoever tells another process something calls tell_others() first; whoever acts on what
// another process said calls heard_others() first: everything told is then before everything heard later. That is
// more order than there is, so only what really crosses processes may use it. Blocks that await each other do not
// call heard_others(): their order is checked exactly.
#pragma once

#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace sennit {

#if defined(__SANITIZE_THREAD__)
inline char g_other_processes = 0;
inline void tell_others() {
  __tsan_release(&g_other_processes);
}
inline void heard_others() {
  __tsan_acquire(&g_other_processes);
}
#else
inline void tell_others() {}
inline void heard_others() {}
#endif

}  // namespace sennit
