// Names that this library has, and that would not be there without it.
#pragma once

#include <stddef.h>

/* References of the program and of what it was started with that need not be met (weak ones), and that `prefix`
 * begins: those that this library has met are as if nobody had. To be called before the program begins. */
__attribute__((visibility("hidden"))) void sennit_front_be_absent(const char* prefix);
