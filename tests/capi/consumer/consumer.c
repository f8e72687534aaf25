#include <stdio.h>

#include <sennit/sennit.h>

int main(void) {
  sennit_comm* comm = NULL;
  if (sennit_comm_create(NULL, &comm) != SENNIT_OK || sennit_comm_destroy(comm) != SENNIT_OK) {
    fprintf(stderr, "%s\n", sennit_last_error());
    return 1;
  }
  printf("sennit %s\n", sennit_version());
  return 0;
}
