/* Programs of NCCL about what an error says. */
#define _GNU_SOURCE
#include "c_nccl.h"

#include <string.h>

#if NCCL_VERSION_CODE >= 22800 && !defined(OLD)
/* Of sennit's, which stays the latest until NCCL has one of its own. */
static void make_an_error(void) {
  expect(ncclAllReduce(NULL, out, 10, ncclFloat, ncclSum, comm, NULL) == ncclInvalidArgument, "no input", 0);
  expect(strstr(ncclGetLastError(comm), "input is null") != NULL, "last error of sennit", 0);
}

static void expect_nccls(ncclResult_t result, const char* what) {
  expect(result != ncclSuccess, what, 0);
  expect(!strcmp(ncclGetLastError(comm), "NCCL's own word"), what, 1);
  make_an_error();
}

/* Every kind of function of NCCL's fails once after one of sennit's has. */
void latest(void) {
  init();
  buffers();
  fill(10);
  make_an_error();
  ncclComm_t other = NULL;
  expect_nccls(ncclCommInitRank(&other, size, meet("other"), size), "make one");
  int device = -1;
  expect_nccls(ncclCommInitAll(&other, 9, &device), "make all");
  expect_nccls(ncclCommGrow(comm, size, NULL, -1, &other, NULL), "grow");
  expect_nccls(ncclCommGrow(NULL, size, NULL, -1, &other, NULL), "grow of none");
  expect_nccls(ncclGroupEnd(), "end a group");
  check(ncclGroupStart(), "start");
  check(ncclReduce(in, out, 10, (ncclDataType_t)99, ncclSum, 0, comm, NULL), "in a group");
  check(ncclAllReduce(in, out, 10, ncclFloat, ncclSum, comm, NULL), "in a group");
  expect_nccls(ncclGroupEnd(), "end a group of both libraries");
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  expect_nccls(ncclGroupSimulateEnd(&info), "simulate");
  ncclWindow_t window = NULL;
  expect_nccls(ncclCommWindowRegister(comm, NULL, 0, &window, NCCL_WIN_COLL_SYMMETRIC), "register");
  expect_nccls(ncclCommWindowDeregister(comm, NULL), "deregister");
  expect_nccls(ncclAllReduceConfig(in, out, 10, (ncclDataType_t)99, ncclSum, comm, NULL, NULL), "configured");
  check(ncclAllReduce(in, out, 10, ncclFloat, ncclSum, comm, NULL), "goes on");
  expect_sums(out, 10, "goes on");
  /* What is asked of one that has ended. */
  check(ncclCommInitRank(&other, size, meet("ended"), rank), "another");
  check(ncclCommAbort(other), "abort");
  ncclResult_t state = ncclSuccess;
  check(ncclCommGetAsyncError(other, &state), "ask");
  expect_nccls(state, "its state");
  expect_nccls(ncclCommFinalize(other), "finalize");
  expect_nccls(ncclCommRevoke(other, NCCL_REVOKE_DEFAULT), "revoke");
  expect_nccls(ncclCommAbort(other), "abort again");
  end();
}
#endif
