/* Reductions from C: what they give, and what MPI says of a type and an operator, is the same with memory of GPUs as
 * with the host's, whatever the standard calls right. Arguments: the types; none: all. With "char" alone sums are all
 * that is done, which no MPI refuses. test_c_programs.py compiles it for each MPI. */
#define _GNU_SOURCE
#include <string.h>

#include "c_ranks.h"

enum { kCount = 39, kMostBytes = kCount * 16, kMostRanks = 4 };

enum Kind { kInteger, kTruth, kFloat, kDouble, kLongDouble };
struct Type {
  const char* name;
  MPI_Datatype type;
  enum Kind kind;
  int bytes; /* of one of its numbers */
};
struct Operator {
  const char* name;
  MPI_Op op;
};
enum Call { kAllreduce, kReduce, kScan, kExscan, kIscan, kReduceScatter, kAlone, kLocal, kAccumulate, kCalls };
static const char* const calls[] = {"allreduce",       "reduce",       "scan",
                                    "exscan",          "iscan",        "reduce_scatter_block",
                                    "allreduce alone", "reduce_local", "accumulate"};

static struct {
  char *from, *to;
  MPI_Win win;
} on[2]; /* the host's, and a GPU's */

static int number(int adds, int of_rank, int i) {
  const int small = (of_rank * 5 + i * 3 + i / 8) % 4;
  return adds ? small : small * 2 - 3 + i % 2; /* no sum or product is too large for a char, and none is negative */
}

static void fill(char* to, const struct Type* type, int extent, int adds, int of_rank) {
  memset(to, 0, kMostBytes);
  for (int at = 0, i = 0; i < kCount; ++i)
    for (int part = 0; part < extent / type->bytes; ++part, at += type->bytes) {
      const int value = number(adds, of_rank, i + part);
      const long long integer = type->kind == kTruth ? value & 1 : value;
      const float single = (float)value;
      const double twice = value;
      const long double longest = value;
      switch (type->kind) {
        case kFloat: memcpy(to + at, &single, sizeof single); break;
        case kDouble: memcpy(to + at, &twice, sizeof twice); break;
        case kLongDouble: memcpy(to + at, &longest, 10); break; /* the rest of it is anything */
        default: memcpy(to + at, &integer, (size_t)type->bytes); break;
      }
    }
}

static int do_call(enum Call call, char* from, char* to, MPI_Win win, MPI_Datatype type, MPI_Op op) {
  const int root = ranks - 1;
  MPI_Request request = MPI_REQUEST_NULL;
  int code = 0;
  switch (call) {
    case kAllreduce: return MPI_Allreduce(from, to, kCount, type, op, MPI_COMM_WORLD);
    case kReduce: return MPI_Reduce(rank == root ? MPI_IN_PLACE : to, to, kCount, type, op, root, MPI_COMM_WORLD);
    case kScan: return MPI_Scan(from, to, kCount, type, op, MPI_COMM_WORLD);
    case kExscan: return MPI_Exscan(MPI_IN_PLACE, to, kCount, type, op, MPI_COMM_WORLD);
    case kIscan:
      code = MPI_Iscan(from, to, kCount, type, op, MPI_COMM_WORLD, &request);
      if (code == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
      return code;
    case kReduceScatter: return MPI_Reduce_scatter_block(from, to, kCount / ranks, type, op, MPI_COMM_WORLD);
    case kAlone: return MPI_Allreduce(from, to, kCount, type, op, MPI_COMM_SELF);
    case kLocal: return MPI_Reduce_local(from, to, kCount, type, op);
    default:
      MPI_Win_fence(0, win);
      code = MPI_Accumulate(from, kCount, type, right, 0, kCount, type, op, win);
      MPI_Win_fence(0, win);
      return code;
  }
}

static void both(enum Call call, const struct Type* type, const struct Operator* op) {
  const int adds = op->op == MPI_SUM || op->op == MPI_PROD;
  MPI_Aint lower, extent;
  int classes[2] = {0, 0};
  MPI_Type_get_extent(type->type, &lower, &extent);
  for (int gpu = 0; gpu < 2; ++gpu) {
    fill(on[gpu].from, type, (int)extent, adds, rank);
    fill(on[gpu].to, type, (int)extent, adds, rank + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    const int code = do_call(call, on[gpu].from, on[gpu].to, on[gpu].win, type->type, op->op);
    MPI_Error_class(code, &classes[gpu]);
  }
  if (classes[0] != classes[1])
    give_up("%s of %s, %s: error class %d, and %d with the host's", calls[call], type->name, op->name, classes[1],
            classes[0]);
  for (int i = 0; classes[0] == MPI_SUCCESS && i < kMostBytes; ++i)
    if (on[0].to[i] != on[1].to[i])
      give_up("%s of %s, %s: byte %d of element %d is %02x, and %02x with the host's", calls[call], type->name,
              op->name, i, i / (int)extent, (unsigned char)on[1].to[i], (unsigned char)on[0].to[i]);
}

/* Whether MPICH, alone, does not end the job at it: at what its windows have no code for, and 4.0 at truths of
 * floats. */
static int goes_on(enum Call call, const struct Type* type, const struct Operator* op) {
  const int pairs = type->type == MPI_2INT, places = op->op == MPI_MINLOC, whole = type->kind <= kTruth;
  if (call == kAccumulate) return places ? pairs : !pairs && whole;
  return whole || op->op != MPI_LAND;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const struct Type types[] = {{"char", MPI_CHAR, kInteger, 1},
                               {"byte", MPI_BYTE, kInteger, 1},
                               {"wchar", MPI_WCHAR, kInteger, 4},
                               {"unsigned", MPI_UNSIGNED, kInteger, 4},
                               {"offset", MPI_OFFSET, kInteger, 8},
                               {"bool", MPI_C_BOOL, kTruth, 1},
                               {"character", MPI_CHARACTER, kInteger, 1},
                               {"logical", MPI_LOGICAL, kTruth, 4},
                               {"integer", MPI_INTEGER, kInteger, 4},
                               {"integer8", MPI_INTEGER8, kInteger, 8},
                               {"double", MPI_DOUBLE, kDouble, 8},
                               {"complex", MPI_C_FLOAT_COMPLEX, kFloat, 4},
                               {"long double", MPI_LONG_DOUBLE, kLongDouble, 16},
                               {"two ints", MPI_2INT, kInteger, 4}};
  const struct Operator operators[] = {{"sum", MPI_SUM},      {"product", MPI_PROD}, {"min", MPI_MIN},
                                       {"and", MPI_LAND},     {"xor", MPI_LXOR},     {"bit or", MPI_BOR},
                                       {"minloc", MPI_MINLOC}};
  const int only_char = argc == 2 && !strcmp(argv[1], "char");
  for (int gpu = 0; gpu < 2; ++gpu) {
    on[gpu].from = gpu ? on_gpu(kMostBytes) : malloc(kMostBytes);
    on[gpu].to = gpu ? on_gpu(kMostBytes) : malloc(kMostBytes);
    MPI_Win_create(on[gpu].to, kMostBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &on[gpu].win);
    MPI_Win_set_errhandler(on[gpu].win, MPI_ERRORS_RETURN);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
    int wanted = argc == 1 && types[t].type != MPI_DATATYPE_NULL;
    for (int i = 1; i < argc; ++i) wanted |= !strcmp(argv[i], types[t].name);
    for (size_t o = 0; wanted && o < (only_char ? 1 : sizeof operators / sizeof *operators); ++o)
      for (size_t call = 0; call < kCalls; ++call) /* A third of the calls for each pair, in turn. */
        if (only_char ? call < kLocal : (call + t + o) % 3 == 0 && goes_on((enum Call)call, &types[t], &operators[o]))
          both((enum Call)call, &types[t], &operators[o]);
  }
  for (int gpu = 0; gpu < 2; ++gpu) MPI_Win_free(&on[gpu].win);
  return end();
}
