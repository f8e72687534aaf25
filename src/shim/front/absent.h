// This takes away names that this library has, and that would not be there without it.
#pragma once

#include <stddef.h>

/* Makes weak references null again that this library has met: those of the program, and of what it was started with,
 * to names that `prefix` begins. It is to be called before the program begins. */
__attribute__((visibility("hidden"))) void sennit_front_be_absent(const char* prefix);
