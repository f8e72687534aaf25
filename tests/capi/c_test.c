/* The header is plain C11, and every function can be called from C. */
#include <stdio.h>
#include <string.h>

#include "sennit/sennit.h"

#if !defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L
#error "this test is about C11"
#endif

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  ++failures;
  printf("not so: %s (%s)\n", what, sennit_last_error());
}

#define EXPECT(condition) expect(condition, #condition)

static int gather_alone(void* context, const void* send, void* receive, size_t bytes) {
  ++*(int*)context;
  memcpy(receive, send, bytes);
  return 0;
}

static void machines(void) {
  sennit_machine* machine = NULL;
  char* json = NULL;
  EXPECT(sennit_machine_load("hgx-h200-4", &machine) == SENNIT_OK);
  EXPECT(sennit_machine_json(machine, &json) == SENNIT_OK && strstr(json, "nvswitch") != NULL);
  sennit_text_free(json);
  EXPECT(sennit_explain_put(machine, "gpu0", "gpu1", 1 << 28, &json) == SENNIT_OK && strstr(json, "direct") != NULL);
  sennit_text_free(json);
  EXPECT(sennit_machine_free(machine) == SENNIT_OK);
  EXPECT(sennit_machine_discover(&machine) == SENNIT_OK);
  EXPECT(sennit_machine_free(machine) == SENNIT_OK);
}

int main(void) {
  EXPECT(strcmp(sennit_last_error(), "") == 0);
  EXPECT(strcmp(sennit_result_name(SENNIT_TIMED_OUT), "timed_out") == 0);
  EXPECT(strlen(sennit_version()) >= 5);
  machines();

  int gathered = 0;
  const sennit_exchange exchange = {0, 1, gather_alone, &gathered};
  sennit_options options = SENNIT_OPTIONS_INIT;
  options.exchange = &exchange;
  options.device = 1;
  sennit_comm* comm = NULL;
  EXPECT(sennit_comm_create(&options, &comm) == SENNIT_OK);
  EXPECT(gathered > 0);
  EXPECT(sennit_comm_rank(comm) == 0 && sennit_comm_size(comm) == 1 && sennit_comm_device(comm) == 1);
  EXPECT(sennit_comm_node_size(comm) == 1 && sennit_comm_same_node(comm, 0) == 1);

  void *data = NULL, *pinned = NULL;
  sennit_window* window = NULL;
  EXPECT(sennit_memory_allocate(comm, 100, &data) == SENNIT_OK);
  EXPECT(sennit_memory_allocate_pinned(comm, 100, &pinned) == SENNIT_OK);
  EXPECT(sennit_register(comm, data, 100, &window) == SENNIT_OK);
  uint64_t bytes = 0;
  EXPECT(sennit_window_bytes(window, 0, &bytes) == SENNIT_OK && bytes == 100);
  const char text[] = "every path";
  char back[sizeof text] = "";
  EXPECT(sennit_put(window, 0, 7, text, sizeof text, NULL) == SENNIT_OK);
  EXPECT(sennit_get(window, 0, 7, pinned, sizeof text, NULL) == SENNIT_OK);
  EXPECT(sennit_copy(comm, back, pinned, sizeof text, NULL) == SENNIT_OK);
  EXPECT(sennit_synchronize(comm, NULL) == SENNIT_OK);
  EXPECT(strcmp(back, text) == 0);
  EXPECT(sennit_comm_barrier(comm) == SENNIT_OK && sennit_comm_check(comm) == SENNIT_OK);
  sennit_comm *part = NULL, *no_part = comm;
  EXPECT(sennit_comm_split(comm, 0, 0, &part) == SENNIT_OK && sennit_comm_size(part) == 1);
  EXPECT(sennit_comm_split(comm, -1, 0, &no_part) == SENNIT_OK && no_part == NULL);
  EXPECT(sennit_comm_split(comm, 0, 0, NULL) == SENNIT_INVALID_ARGUMENT);
  EXPECT(sennit_comm_destroy(part) == SENNIT_OK);
  EXPECT(sennit_deregister(window) == SENNIT_OK);
  EXPECT(sennit_memory_free(comm, data) == SENNIT_OK);
  EXPECT(sennit_comm_abort(comm, "enough") == SENNIT_OK && sennit_comm_check(comm) == SENNIT_ABORTED);
  EXPECT(sennit_comm_destroy(comm) == SENNIT_ABORTED);
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
