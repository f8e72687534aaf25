! Three calls from Fortran, of memory of the host, for a tool to see: test_loading.py.
program fortran_calls
  use mpi
  implicit none
  integer :: error, rank, ranks, mine, theirs
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  mine = rank
  call MPI_Allreduce(mine, theirs, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0) call MPI_Send(mine, 1, MPI_INTEGER, 1, 0, MPI_COMM_WORLD, error)
  if (rank == 1) call MPI_Recv(mine, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  call MPI_Finalize(error)
end program
