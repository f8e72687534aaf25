"""Others that do the same collectives, measured by programs of their own: MPI libraries on host memory and PyTorch's
symmetric memory on GPUs. NCCL is measured by the C++ program, on the same buffers."""
