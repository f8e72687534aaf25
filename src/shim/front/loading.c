#define _GNU_SOURCE
#include "shim/front/loading.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void sennit_front_say(const char* what, const char* why) {
  fprintf(stderr, "sennit: %s: %s\n", what, why);
}

/* It reads as environment_switch() of base/environment.h, which is not here. */
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

/* Opens a library beside this one, or at a path. */
static void* open_library(const char* file) {
  Dl_info info;
  char path[PATH_MAX];
  if (strchr(file, '/') != NULL) return dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!dladdr((void*)&sennit_front_load, &info) || info.dli_fname == NULL) return NULL;
  const char* const slash = strrchr(info.dli_fname, '/');
  const int folder = slash != NULL ? (int)(slash - info.dli_fname) + 1 : 0;
  if (snprintf(path, sizeof path, "%.*s%s", folder, info.dli_fname, file) >= (int)sizeof path) return NULL;
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

void* sennit_front_load(const char* file, const char* symbol, void** library) {
  *library = open_library(file);
  void* const found = *library != NULL ? dlsym(*library, symbol) : NULL;
  if (found == NULL) sennit_front_say("the program runs without sennit", dlerror());
  return found;
}

static const char* observer_name(void) {
  const char* const file = getenv("SENNIT_OBSERVER");
  return file != NULL && *file != 0 ? file : NULL;
}

int sennit_front_idle(void) {
  return sennit_front_disabled() && observer_name() == NULL;
}

/* What a program has named before there was an observer. */
static char early_phase[64];
static void* _Atomic observer_library;

static int tell_phase(const char* name) {
  void (*begin)(const char*) = NULL;
  void* const library = observer_library;
  if (library != NULL) *(void**)&begin = dlsym(library, "sennit_profile_phase");
  if (begin != NULL) begin(name);
  return begin != NULL;
}

static int early_pause;

static int tell_pause(int paused) {
  int (*pause)(int) = NULL;
  void* const library = observer_library;
  if (library != NULL) *(void**)&pause = dlsym(library, "sennit_profile_pause");
  return pause != NULL ? pause(paused) : 0;
}

void sennit_front_observed(void) {
  if (early_pause && tell_pause(1)) early_pause = 0;
  if (early_phase[0] != 0 && tell_phase(early_phase)) early_phase[0] = 0;
}

/* Programs name what they do from now on; null or "": nothing any more. Returns 1 if somebody writes it down. */
__attribute__((visibility("default"))) int sennit_profile_phase(const char* name) {
  if (name == NULL) name = "";
  if (observer_library == NULL && observer_name() != NULL) {
    (void)snprintf(early_phase, sizeof early_phase, "%s", name);
    return 1;
  }
  return tell_phase(name);
}

/* Calls of the program are not written down from now on, or they are again. Returns 1 if they are in between. */
__attribute__((visibility("default"))) int sennit_profile_pause(int paused) {
  if (observer_library == NULL && observer_name() != NULL) {
    early_pause = paused != 0;
    return 1;
  }
  return tell_pause(paused);
}

void* sennit_front_observer(const char* symbol) {
  static atomic_flag said = ATOMIC_FLAG_INIT;
  const char* const file = observer_name();
  if (file == NULL || sennit_front_is_second()) return NULL;
  void* const library = open_library(file);
  if (library == NULL && !atomic_flag_test_and_set(&said))
    sennit_front_say("the program is not observed (SENNIT_OBSERVER)", dlerror());
  if (library != NULL) observer_library = library;
  return library != NULL ? dlsym(library, symbol) : NULL;
}
