// Null, destroyed, foreign and made-up handles are errors that name the parameter, never crashes.
#include <gmock/gmock.h>

#include "alone.h"

namespace sennit::capi {
namespace {

using testing::StartsWith;

class Handles : public Alone {};

TEST_F(Handles, OfNullAreNamed) {
  sennit_window* window = nullptr;
  void* data = nullptr;
  std::uint64_t bytes = 0;
  char* text = nullptr;
  sennit_machine* machine = nullptr;
  const auto expect = [](sennit_result result, const char* parameter) {
    EXPECT_EQ(result, SENNIT_INVALID_ARGUMENT);
    EXPECT_THAT(sennit_last_error(), StartsWith(std::string("invalid_argument: ") + parameter + " is null"));
  };
  expect(sennit_comm_create(nullptr, nullptr), "comm");
  expect(sennit_comm_barrier(nullptr), "comm");
  expect(sennit_comm_check(nullptr), "comm");
  expect(sennit_comm_abort(nullptr, "why"), "comm");
  expect(sennit_synchronize(nullptr, nullptr), "comm");
  expect(sennit_copy(nullptr, &bytes, &data, 8, nullptr), "comm");
  expect(sennit_memory_allocate(nullptr, 8, &data), "comm");
  expect(sennit_memory_allocate(comm, 8, nullptr), "data");
  expect(sennit_memory_allocate_pinned(comm, 8, nullptr), "data");
  expect(sennit_memory_free(nullptr, &data), "comm");
  expect(sennit_register(nullptr, &data, 8, &window), "comm");
  expect(sennit_register(comm, &data, 8, nullptr), "window");
  expect(sennit_put(nullptr, 0, 0, &data, 8, nullptr), "window");
  expect(sennit_get(nullptr, 0, 0, &data, 8, nullptr), "window");
  expect(sennit_window_bytes(nullptr, 0, &bytes), "window");
  expect(sennit_machine_load(nullptr, &machine), "name_or_file");
  expect(sennit_machine_load("mist", nullptr), "machine");
  expect(sennit_machine_discover(nullptr), "machine");
  expect(sennit_machine_json(nullptr, &text), "machine");
  expect(sennit_explain_put(nullptr, nullptr, "gpu1", 1, &text), "from");
  expect(sennit_explain_put(nullptr, "gpu0", nullptr, 1, &text), "to");
  expect(sennit_explain_put(nullptr, "gpu0", "gpu1", 1, nullptr), "json");
  for (auto* ask : {sennit_comm_rank, sennit_comm_size, sennit_comm_device, sennit_comm_node_size})
    EXPECT_EQ(ask(nullptr), -1);
  EXPECT_EQ(sennit_comm_same_node(nullptr, 0), -1);
}

TEST_F(Handles, OfNullEndAsNothing) {
  EXPECT_EQ(sennit_comm_destroy(nullptr), SENNIT_OK);
  EXPECT_EQ(sennit_deregister(nullptr), SENNIT_OK);
  EXPECT_EQ(sennit_machine_free(nullptr), SENNIT_OK);
  EXPECT_EQ(sennit_memory_free(comm, nullptr), SENNIT_OK);
  sennit_text_free(nullptr);
}

TEST_F(Handles, ThatAreForeignAreNoticed) {
  int something = 0;
  for (void* foreign : {static_cast<void*>(&something), reinterpret_cast<void*>(8), reinterpret_cast<void*>(~0ull)}) {
    auto* other = static_cast<sennit_comm*>(foreign);
    EXPECT_EQ(sennit_comm_check(other), SENNIT_INVALID_ARGUMENT);
    EXPECT_THAT(sennit_last_error(), StartsWith("invalid_argument: comm is no communicator"));
    EXPECT_EQ(sennit_comm_destroy(other), SENNIT_INVALID_ARGUMENT);
    EXPECT_EQ(sennit_deregister(static_cast<sennit_window*>(foreign)), SENNIT_INVALID_ARGUMENT);
    EXPECT_EQ(sennit_machine_free(static_cast<sennit_machine*>(foreign)), SENNIT_INVALID_ARGUMENT);
  }
  // One kind for another.
  EXPECT_EQ(sennit_deregister(reinterpret_cast<sennit_window*>(comm)), SENNIT_INVALID_ARGUMENT);
}

TEST_F(Handles, ThatEndedStayEnded) {
  sennit_comm* other = nullptr;
  sennit_window *first = nullptr, *second = nullptr;
  ASSERT_EQ(sennit_comm_create(nullptr, &other), SENNIT_OK);
  ASSERT_EQ(sennit_register(other, nullptr, 0, &first), SENNIT_OK);
  ASSERT_EQ(sennit_register(other, nullptr, 0, &second), SENNIT_OK);
  EXPECT_EQ(sennit_deregister(first), SENNIT_OK);
  EXPECT_EQ(sennit_deregister(first), SENNIT_INVALID_ARGUMENT);
  EXPECT_EQ(sennit_put(first, 0, 0, nullptr, 0, nullptr), SENNIT_INVALID_ARGUMENT);
  EXPECT_EQ(sennit_comm_destroy(other), SENNIT_OK);
  EXPECT_EQ(sennit_comm_destroy(other), SENNIT_INVALID_ARGUMENT);
  EXPECT_EQ(sennit_put(second, 0, 0, nullptr, 0, nullptr), SENNIT_INVALID_ARGUMENT);
  // A new one is never taken for the old one.
  sennit_comm* next = nullptr;
  ASSERT_EQ(sennit_comm_create(nullptr, &next), SENNIT_OK);
  EXPECT_EQ(sennit_comm_check(other), SENNIT_INVALID_ARGUMENT);
  EXPECT_EQ(sennit_comm_check(next), SENNIT_OK);
  EXPECT_EQ(sennit_comm_destroy(next), SENNIT_OK);
}

}  // namespace
}  // namespace sennit::capi
