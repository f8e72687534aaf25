// Which code comes before this library where symbols are looked for.
#pragma once

/* Whether `at` lies in the program, or in what is preloaded in front of this library. Thread-safe; takes some ns but
 * for the first time. */
__attribute__((visibility("hidden"))) int sennit_front_comes_before(const void* at);
