/* A CUPTI of the tests' own: each time that a thread has told it a number and taken it back, a kernel with that
 * number has run meanwhile, and another kernel in the last half of that time. FAKE_CUPTI_BUSY: another profiler is
 * there. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kMultipleSubscribers = 39, kMaxLimitReached = 12, kKernel = 10, kCorrelation = 39, kKernelBytes = 152 };

static void (*requested)(uint8_t** buffer, size_t* bytes, size_t* most_records);
static void (*completed)(void* context, uint32_t stream, uint8_t* buffer, size_t bytes, size_t valid);
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint8_t* buffer;
static size_t room, used;
static uint32_t correlations, enabled[64];
static int subscribed;
static _Thread_local struct { uint64_t number, begin; } pushed[16];
static _Thread_local int depth;

int cuptiGetTimestamp(uint64_t* ns) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  *ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  return 0;
}
int cuptiSubscribe(void** subscriber, void* callback, void* data) {
  (void)callback, (void)data;
  *subscriber = &subscribed;
  if (getenv("FAKE_CUPTI_BUSY") != NULL || subscribed++ != 0) return kMultipleSubscribers;
  return 0;
}
int cuptiUnsubscribe(void* subscriber) {
  return subscriber != &subscribed || subscribed-- != 1;
}
int cuptiActivityRegisterCallbacks(void (*request)(uint8_t**, size_t*, size_t*),
                                   void (*complete)(void*, uint32_t, uint8_t*, size_t, size_t)) {
  requested = request;
  completed = complete;
  return 0;
}
int cuptiActivityEnable(int kind) {
  return enabled[kind]++ != 0;
}
int cuptiActivityDisable(int kind) {
  return enabled[kind]-- != 1;
}
int cuptiActivityFlushAll(uint32_t flag) {
  (void)flag;
  pthread_mutex_lock(&mutex);
  uint8_t* const full = buffer;
  const size_t bytes = used;
  buffer = NULL;
  pthread_mutex_unlock(&mutex);
  if (full != NULL) completed(NULL, 0, full, room, bytes);
  return 0;
}
int cuptiActivityGetNextRecord(uint8_t* at, size_t valid, void** record) {
  uint8_t* next = *record == NULL ? at : (uint8_t*)*record + (*(uint32_t*)*record == kKernel ? kKernelBytes : 24);
  if (next >= at + valid) return kMaxLimitReached;
  *record = next;
  return 0;
}
int cuptiActivityPushExternalCorrelationId(int kind, uint64_t number) {
  (void)kind;
  pushed[depth].number = number;
  return cuptiGetTimestamp(&pushed[depth++].begin);
}

static void kernel(uint32_t correlation, uint64_t begin, uint64_t end) {
  uint8_t* const at = buffer + used;
  const uint32_t kind = kKernel;
  memset(at, 0, kKernelBytes);
  memcpy(at, &kind, sizeof kind);
  memcpy(at + 16, &begin, sizeof begin);
  memcpy(at + 24, &end, sizeof end);
  memcpy(at + 92, &correlation, sizeof correlation);
  used += kKernelBytes;
}

int cuptiActivityPopExternalCorrelationId(int kind, uint64_t* number) {
  uint64_t end = 0;
  if (depth == 0) return 1;
  cuptiGetTimestamp(&end);
  const uint64_t begin = pushed[--depth].begin;
  *number = pushed[depth].number;
  if (!subscribed || !enabled[kKernel] || !enabled[kCorrelation]) return 0;
  pthread_mutex_lock(&mutex);
  if (buffer == NULL) {
    size_t records = 0;
    requested(&buffer, &room, &records);
    used = 0;
  }
  if (used + 24 + 2 * kKernelBytes <= room) {
    const uint32_t head[] = {kCorrelation, (uint32_t)kind};
    const uint32_t correlation[] = {++correlations, 0};
    memcpy(buffer + used, head, sizeof head);
    memcpy(buffer + used + 8, number, sizeof *number);
    memcpy(buffer + used + 16, correlation, sizeof correlation);
    used += 24;
    kernel(correlations, begin, end);
    kernel(++correlations, begin + (end - begin) / 2, end);
  }
  pthread_mutex_unlock(&mutex);
  return 0;
}
