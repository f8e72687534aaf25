/* A driver of CUDA that has events alone: each happens when it is recorded. For the recorder, which times calls of
 * NCCL by them. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <time.h>

static int context;

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int cuCtxGetCurrent(void** current) {
  *current = &context;
  return 0;
}
int cuStreamGetCtx(void* stream, void** of) {
  (void)stream;
  return cuCtxGetCurrent(of);
}
int cuCtxPushCurrent_v2(void* pushed) {
  return pushed != &context;
}
int cuCtxPopCurrent_v2(void** popped) {
  return cuCtxGetCurrent(popped);
}
int cuEventCreate(void** event, unsigned flags) {
  (void)flags;
  *event = calloc(1, sizeof(double));
  return *event == NULL;
}
int cuEventRecord(void* event, void* stream) {
  (void)stream;
  *(double*)event = now_ms();
  return 0;
}
int cuEventQuery(void* event) {
  return *(double*)event == 0;
}
int cuEventElapsedTime(float* ms, void* begin, void* end) {
  *ms = (float)(*(double*)end - *(double*)begin);
  return 0;
}
int cuStreamIsCapturing(void* stream, int* status) {
  *status = 0;
  return stream == (void*)-1;
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
  *mode = 0;
  return 0;
}
