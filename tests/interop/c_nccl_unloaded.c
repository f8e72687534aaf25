/* Runs a program that is a library, as a plug-in would be, and lets it go before it ends: c_nccl_unloaded LIBRARY,
 * and what the program takes. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** arguments) {
  void* const library = count > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  int (*run)(int, char**) = NULL;
  if (library != NULL) *(void**)&run = dlsym(library, "main");
  if (run == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  const int code = run(count - 1, arguments + 1);
  return dlclose(library) == 0 ? code : 2;
}
