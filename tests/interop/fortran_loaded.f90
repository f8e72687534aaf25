! A library in Fortran, for c_dlopen.c: comes late, and ends MPI.
subroutine go() bind(C)
  use, intrinsic :: iso_c_binding
  use mpi
  use fortran_memory
  implicit none
  integer(c_int), pointer, contiguous :: numbers(:)
  integer :: error, rank, ranks
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  numbers => on_gpu(1000)
  numbers = rank
  call MPI_Allreduce(MPI_IN_PLACE, numbers, 1000, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  if (rank == 0) print '(a, i0)', 'sum of many ', numbers(1000)
  call MPI_Finalize(error)
end subroutine
