#define _GNU_SOURCE
#include "shim/front/loading.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void sennit_front_say(const char* what, const char* why) {
  fprintf(stderr, "sennit: %s: %s\n", what, why);
}

/* As environment_switch() of base/environment.h, which is not here. */
int sennit_front_switch(const char* name) {
  const char* value = getenv(name);
  return value != NULL &&
         (!strcmp(value, "1") || !strcasecmp(value, "true") || !strcasecmp(value, "yes") || !strcasecmp(value, "on"));
}

int sennit_front_disabled(void) {
  return sennit_front_switch("SENNIT_DISABLE");
}

int sennit_front_is_second(void) {
  Dl_info there, here;
  return dladdr(dlsym(RTLD_DEFAULT, "sennit_leave_to_nccl"), &there) &&
         dladdr((const void*)&sennit_front_is_second, &here) && there.dli_fbase != here.dli_fbase;
}

void* sennit_front_load(const char* file, const char* symbol, void** library) {
  Dl_info info;
  char path[PATH_MAX];
  *library = NULL;
  if (!dladdr((void*)&sennit_front_load, &info) || info.dli_fname == NULL) return NULL;
  const char* const slash = strrchr(info.dli_fname, '/');
  const int folder = slash != NULL ? (int)(slash - info.dli_fname) + 1 : 0;
  if (snprintf(path, sizeof path, "%.*s%s", folder, info.dli_fname, file) >= (int)sizeof path) return NULL;
  *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* const found = *library != NULL ? dlsym(*library, symbol) : NULL;
  if (found == NULL) sennit_front_say("the program runs without sennit", dlerror());
  return found;
}
