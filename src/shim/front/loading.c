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

/* As environment_switch() of base/environment.h reads it, which is not here. */
int sennit_front_disabled(void) {
  const char* value = getenv("SENNIT_DISABLE");
  return value != NULL &&
         (!strcmp(value, "1") || !strcasecmp(value, "true") || !strcasecmp(value, "yes") || !strcasecmp(value, "on"));
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
