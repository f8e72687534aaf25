// This tells which code comes before this library where symbols are looked for.
#pragma once

/* Returns 1 if `at` lies in the program, or in what is preloaded in front of this library. It is thread-safe, and
 * takes some ns but for the first time. */
__attribute__((visibility("hidden"))) int sennit_front_comes_before(const void* at);
