// Every block program of coll/, for the code that compiles them all.
#pragma once

#include "coll/allreduce_alone.h"
#include "coll/allreduce_copy_engines.h"
#include "coll/allreduce_hierarchical.h"
#include "coll/allreduce_linear.h"
#include "coll/allreduce_one_shot_packets.h"
#include "coll/allreduce_recursive_doubling.h"
#include "coll/allreduce_reduce_scatter_allgather.h"
#include "coll/allreduce_ring.h"
#include "coll/allreduce_two_shot.h"
#include "coll/allreduce_two_shot_packets.h"
