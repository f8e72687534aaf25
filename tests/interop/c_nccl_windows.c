/* Programs of NCCL about buffers that are registered. */
#define _GNU_SOURCE
#include "c_nccl.h"

#if NCCL_VERSION_CODE >= 22700 && !defined(OLD)
/* At the same offset on every rank; then the output alone lies in a window, and all-gathers use no other. */
static void use(size_t offset, const char* what) {
  enum { kNumbers = 5000 };
  fill(offset + kNumbers);
  check(ncclAllReduce(in + offset, out + offset, kNumbers, ncclFloat, ncclSum, comm, NULL), what);
  for (size_t i = offset; i < offset + kNumbers; ++i) expect(out[i] == sum(i), what, i);
  fill(kNumbers);
  check(ncclAllReduce(in, in, kNumbers, ncclFloat, ncclAvg, comm, NULL), what);
  for (size_t i = 0; i < kNumbers; ++i) {
    const float off = in[i] - sum(i) / (float)size;
    expect(off < 1e-4F && off > -1e-4F, what, i);
  }
  fill(kNumbers);
  check(ncclAllGather(in, out, kNumbers, ncclFloat, comm, NULL), what);
  for (int of = 0; of < size; ++of) expect_from(out + of * kNumbers, of, 0, kNumbers, what);
}

/* Registered one by one and in a group, by ranks that give them up at different times, and free the memory at once.
 */
void windows(void) {
  init();
  for (int round = 0; round < 4; ++round) {
    buffers();
    const bool grouped = round % 2 == 1;
    const int flags = round == 3 ? NCCL_WIN_DEFAULT : NCCL_WIN_COLL_SYMMETRIC;
    ncclWindow_t of_in = NULL, of_out = NULL;
    if (grouped) check(ncclGroupStart(), "start");
    check(ncclCommWindowRegister(comm, in, sizeof(float) * kMost, &of_in, flags), "register");
    check(ncclCommWindowRegister(comm, out, sizeof(float) * kMost, &of_out, flags), "register");
    if (grouped) check(ncclGroupEnd(), "end");
    expect(of_in != NULL && of_out != NULL, "no window", 0);
    use(0, "between windows");
    use(1000 + (size_t)round, "further in");
    check(ncclCommWindowDeregister(comm, rank % 2 == 0 ? of_in : of_out), "deregister");
    check(ncclCommWindowDeregister(comm, rank % 2 == 0 ? of_out : of_in), "deregister the other");
    if (round % 2 == 0) use(0, "without windows");
    let_go(in);
    let_go(out);
  }
  /* One that is there at the end. */
  buffers();
  ncclWindow_t last = NULL;
  check(ncclCommWindowRegister(comm, out, sizeof(float) * kMost, &last, NCCL_WIN_COLL_SYMMETRIC), "register");
  use(0, "at last");
  end();
}
#endif
