/* Loads each library that is named, for itself, and calls its go(), as interpreters do: test_loading.py. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    void* const library = dlopen(argv[i], RTLD_LAZY | RTLD_LOCAL);
    void (*go)(void) = NULL;
    if (library != NULL) *(void**)&go = dlsym(library, "go");
    if (go == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 2;
    }
    go();
  }
  return 0;
}
