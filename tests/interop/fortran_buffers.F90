! Messages and collectives from Fortran, with what each rank sends and receives in GPU memory, and checks of what comes.
! test_fortran.py compiles it three times: for mpif.h (-DMPIF_H), the module mpi (-DMODULE_MPI) and mpi_f08.
#if defined(MPIF_H) || defined(MODULE_MPI)
#define COMM integer
#define OPERATOR integer
#define REQUEST integer
#define DATATYPE integer
#define MESSAGE integer
#define STATUS(name) integer :: name(MPI_STATUS_SIZE)
#define STATUSES(name, count) integer :: name(MPI_STATUS_SIZE, count)
#define SOURCE_OF(status) status(MPI_SOURCE)
#define TAG_OF(status) status(MPI_TAG)
#define EACH(statuses, number) statuses(:, number)
#else
#define COMM type(MPI_Comm)
#define OPERATOR type(MPI_Op)
#define REQUEST type(MPI_Request)
#define DATATYPE type(MPI_Datatype)
#define MESSAGE type(MPI_Message)
#define STATUS(name) type(MPI_Status) :: name
#define STATUSES(name, count) type(MPI_Status) :: name(count)
#define SOURCE_OF(status) status%MPI_SOURCE
#define TAG_OF(status) status%MPI_TAG
#define EACH(statuses, number) statuses(number)
#define SECTIONS
#endif

#if defined(MPIF_H)
#define MPI_MODULE
#define MPI_INCLUDE include 'mpif.h'
#elif defined(MODULE_MPI)
#define MPI_MODULE use mpi
#define MPI_INCLUDE
#else
#define MPI_MODULE use mpi_f08
#define MPI_INCLUDE
#endif

! The program's own operator: the larger by its last three digits.
#ifdef SECTIONS
subroutine larger_rest(in, inout, length, datatype)
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  type(c_ptr), value :: in, inout
  integer :: length
  type(MPI_Datatype) :: datatype
  integer(c_int), pointer :: from(:), to(:)
  call c_f_pointer(in, from, [length])
  call c_f_pointer(inout, to, [length])
#else
subroutine larger_rest(from, to, length, datatype)
  implicit none
  integer :: length, datatype
  integer :: from(length), to(length)
#endif
  where (mod(from, 1000) > mod(to, 1000)) to = from
end subroutine

program fortran_buffers
  use, intrinsic :: iso_c_binding
  MPI_MODULE
  use fortran_memory
  implicit none
  MPI_INCLUDE
  integer, parameter :: long = 100000, short = 10
  integer(c_int), pointer, contiguous :: mine(:), theirs(:), all(:)
  integer :: rank, ranks, left, right, error, round, length
  external :: larger_rest

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  mine => on_gpu(long)
  theirs => on_gpu(long)
  all => on_gpu(long * ranks)

  do round = 1, 2
    length = merge(long, short, round == 1)
    call blocking_messages()
    call requests()
    call persistent_requests()
    call probed_messages()
    call collectives()
    call other_collectives()
  end do
  call absolute_addresses()
  call own_communicator()
#ifdef SECTIONS
  call sections_of_arrays()
#endif
  call MPI_Barrier(MPI_COMM_WORLD, error)
  if (rank == 0) print '(a)', 'all arrived'
  call MPI_Finalize(error)

contains

  subroutine check(right_, what)
    logical, intent(in) :: right_
    character(*), intent(in) :: what
    if (right_) return
    print '(a, i0, 2a, i0)', 'rank ', rank, ': wrong: ', what // ', elements: ', length
    call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end subroutine

  subroutine expect(status_, source, tag, count, what)
    STATUS(status_)
    integer, intent(in) :: source, tag, count
    character(*), intent(in) :: what
    integer :: told
    call MPI_Get_count(status_, MPI_INTEGER, told, error)
    call check(SOURCE_OF(status_) == source .and. TAG_OF(status_) == tag .and. told == count, what // ': status')
  end subroutine

  subroutine blocking_messages()
    STATUS(status_)
    mine = 10 + rank
    theirs = -1
    if (rank == 1) call MPI_Send(mine, length, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, error)
    if (rank == 0) then
      call MPI_Recv(theirs, long, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status_, error)
      call check(error == MPI_SUCCESS .and. theirs(1) == 11 .and. theirs(length) == 11, 'a receive from anywhere')
      if (length < long) call check(theirs(length + 1) == -1, 'behind a short message')
      call expect(status_, 1, 7, length, 'a receive from anywhere')
    end if
    call MPI_Barrier(MPI_COMM_WORLD, error)  ! it was from anywhere
    theirs = -1
    call MPI_Sendrecv(mine, length, MPI_INTEGER, right, 8, theirs, length, MPI_INTEGER, left, 8, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, error)
    call check(all_are(theirs, 10 + left), 'what two exchange')
    if (rank == 1) call MPI_Ssend(mine, length, MPI_INTEGER, 0, 9, MPI_COMM_WORLD, error)
    if (rank == 0) call MPI_Recv(theirs, length, MPI_INTEGER, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    if (rank == 0) call check(all_are(theirs, 11), 'a synchronous message')
  end subroutine

  logical function all_are(numbers, value)
    integer(c_int), intent(in) :: numbers(*)
    integer, intent(in) :: value
    integer :: i
    all_are = .true.
    do i = 1, length
      all_are = all_are .and. numbers(i) == value
    end do
  end function

  subroutine requests()
    REQUEST :: both(2), none
    STATUSES(statuses, 2)
    integer :: which, done, places(2)
    logical :: flag, open_before
    mine = 20 + rank
    theirs = -1
    call MPI_Irecv(theirs, length, MPI_INTEGER, left, MPI_ANY_TAG, MPI_COMM_WORLD, both(1), error)
    call MPI_Isend(mine, length, MPI_INTEGER, right, 3, MPI_COMM_WORLD, both(2), error)
    call MPI_Waitall(2, both, statuses, error)
    call check(all_are(theirs, 20 + left), 'requests, all awaited')
    call expect(EACH(statuses, 1), left, 3, length, 'requests, all awaited')
    call check(both(1) == MPI_REQUEST_NULL .and. both(2) == MPI_REQUEST_NULL, 'requests that have ended')

    mine = 30 + rank
    call MPI_Irecv(theirs, length, MPI_INTEGER, left, 4, MPI_COMM_WORLD, both(1), error)
    call MPI_Isend(mine, length, MPI_INTEGER, right, 4, MPI_COMM_WORLD, both(2), error)
    do done = 1, 2
      open_before = both(1) /= MPI_REQUEST_NULL
      call MPI_Waitany(2, both, which, EACH(statuses, 1), error)  ! mpi_f08 of MPICH 4.0 counts from 0
      if (open_before .and. both(1) == MPI_REQUEST_NULL) &
        call expect(EACH(statuses, 1), left, 4, length, 'any of two requests')
    end do
    call check(all_are(theirs, 30 + left), 'any of two requests')

    mine = 40 + rank
    call MPI_Irecv(theirs, length, MPI_INTEGER, left, 5, MPI_COMM_WORLD, both(1), error)
    call MPI_Isend(mine, length, MPI_INTEGER, right, 5, MPI_COMM_WORLD, both(2), error)
    flag = .false.
    do while (.not. flag)
      call MPI_Test(both(1), flag, MPI_STATUS_IGNORE, error)
    end do
    call MPI_Wait(both(2), EACH(statuses, 2), error)
    call check(all_are(theirs, 40 + left), 'a tested request')

    mine = 45 + rank
    call MPI_Irecv(theirs, length, MPI_INTEGER, left, 5, MPI_COMM_WORLD, both(1), error)
    call MPI_Isend(mine, length, MPI_INTEGER, right, 5, MPI_COMM_WORLD, both(2), error)
    which = 0
    do while (which < 2)
      call MPI_Waitsome(2, both, done, places, statuses, error)
      which = which + done
    end do
    call check(all_are(theirs, 45 + left), 'some of two requests')

    mine = rank
    call MPI_Iallreduce(mine, theirs, length, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, none, error)
    call MPI_Wait(none, MPI_STATUS_IGNORE, error)
    call check(all_are(theirs, ranks - 1), 'a reduction that ends in a request')
  end subroutine

  subroutine persistent_requests()
    REQUEST :: both(2)
    STATUSES(statuses, 2)
    integer :: i
    call MPI_Recv_init(theirs, length, MPI_INTEGER, left, 6, MPI_COMM_WORLD, both(1), error)
    call MPI_Send_init(mine, length, MPI_INTEGER, right, 6, MPI_COMM_WORLD, both(2), error)
    do i = 1, 3
      mine = 100 * i + rank
      theirs = -1
      call MPI_Startall(2, both, error)
      call MPI_Waitall(2, both, statuses, error)
      call check(all_are(theirs, 100 * i + left), 'persistent requests')
      call expect(EACH(statuses, 1), left, 6, length, 'persistent requests')
    end do
    call MPI_Request_free(both(1), error)
    call MPI_Request_free(both(2), error)
  end subroutine

  subroutine probed_messages()
    STATUS(status_)
    MESSAGE :: message_
    mine = 50 + rank
    theirs = -1
    if (rank == 1) call MPI_Send(mine, length, MPI_INTEGER, 0, 10, MPI_COMM_WORLD, error)
    if (rank == 1) call MPI_Send(mine, length, MPI_INTEGER, 0, 11, MPI_COMM_WORLD, error)
    if (rank == 0) then
      call MPI_Probe(1, 10, MPI_COMM_WORLD, status_, error)
      call expect(status_, 1, 10, length, 'a probe')
      call MPI_Recv(theirs, length, MPI_INTEGER, 1, 10, MPI_COMM_WORLD, status_, error)
      call check(all_are(theirs, 51), 'a probed message')
      theirs = -1
      call MPI_Mprobe(1, MPI_ANY_TAG, MPI_COMM_WORLD, message_, status_, error)
      call expect(status_, 1, 11, length, 'a matched probe')
      call MPI_Mrecv(theirs, length, MPI_INTEGER, message_, status_, error)
      call check(all_are(theirs, 51), 'a matched message')
    end if
  end subroutine

  subroutine collectives()
    OPERATOR :: larger
    mine = rank + 1
    call MPI_Allreduce(mine, theirs, length, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call check(all_are(theirs, ranks * (ranks + 1) / 2), 'allreduce')
    call MPI_Allreduce(MPI_IN_PLACE, mine, length, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call check(all_are(mine, ranks * (ranks + 1) / 2), 'allreduce in place')
    mine = rank
    call MPI_Bcast(mine, length, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, error)
    call check(all_are(mine, ranks - 1), 'broadcast')
    mine = rank + 1
    if (rank == 0) then
      call MPI_Reduce(MPI_IN_PLACE, mine, length, MPI_INTEGER, MPI_PROD, 0, MPI_COMM_WORLD, error)
      call check(all_are(mine, product_of_ranks()), 'reduce in place')
    else
      call MPI_Reduce(mine, theirs, length, MPI_INTEGER, MPI_PROD, 0, MPI_COMM_WORLD, error)
    end if
    call MPI_Op_create(larger_rest, .true., larger, error)
    mine = 1000 * (ranks - rank) + rank
    call MPI_Allreduce(mine, theirs, length, MPI_INTEGER, larger, MPI_COMM_WORLD, error)
    call check(all_are(theirs, 1000 + ranks - 1), 'an operator of the program')
    call MPI_Op_free(larger, error)
  end subroutine

  integer function product_of_ranks()
    integer :: i
    product_of_ranks = 1
    do i = 1, ranks
      product_of_ranks = product_of_ranks * i
    end do
  end function

  subroutine other_collectives()
    integer :: counts(ranks), places(ranks), i
    integer(c_int), pointer, contiguous :: sent(:)
    all = -1
    all(rank * length + 1:(rank + 1) * length) = rank
    call MPI_Allgather(MPI_IN_PLACE, length, MPI_INTEGER, all, length, MPI_INTEGER, MPI_COMM_WORLD, error)
    do i = 0, ranks - 1
      call check(all_are(all(i * length + 1:), i), 'allgather in place')
    end do
    sent => on_gpu(length * ranks)
    do i = 0, ranks - 1
      sent(i * length + 1:(i + 1) * length) = 10 * rank + i
      counts(i + 1) = length
      places(i + 1) = i * length
    end do
    all = -1
    call MPI_Alltoallv(sent, counts, places, MPI_INTEGER, all, counts, places, MPI_INTEGER, MPI_COMM_WORLD, error)
    do i = 0, ranks - 1
      call check(all_are(all(i * length + 1:), 10 * i + rank), 'all to all, of different lengths')
    end do
    mine = rank
    call MPI_Gather(mine, length, MPI_INTEGER, all, length, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    if (rank == 0) then
      do i = 0, ranks - 1
        call check(all_are(all(i * length + 1:), i), 'gather')
      end do
    end if
  end subroutine

  ! A type that holds where the memory is, and MPI_BOTTOM for the buffer.
  subroutine absolute_addresses()
    DATATYPE :: here
    integer(MPI_ADDRESS_KIND) :: addresses(1)
    integer :: lengths(1)
    length = long
    mine = 60 + rank
    call MPI_Get_address(mine, addresses(1), error)
    lengths(1) = length
    call MPI_Type_create_hindexed(1, lengths, addresses, MPI_INTEGER, here, error)
    call MPI_Type_commit(here, error)
    call MPI_Bcast(MPI_BOTTOM, 1, here, 0, MPI_COMM_WORLD, error)
    call MPI_Type_free(here, error)
    call check(all_are(mine, 60), 'an absolute address')
  end subroutine

  subroutine own_communicator()
    COMM :: halves
    integer :: size_
    length = short
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, halves, error)
    call MPI_Comm_size(halves, size_, error)
    mine = 1
    call MPI_Allreduce(MPI_IN_PLACE, mine, length, MPI_INTEGER, MPI_SUM, halves, error)
    call check(all_are(mine, size_), 'a part of the world')
    call MPI_Comm_free(halves, error)
    call check(halves == MPI_COMM_NULL, 'a communicator that was freed')
  end subroutine

#ifdef SECTIONS
  ! Every other element: what MPI gets is a descriptor (MPICH), or a copy that the compiler makes (Open MPI).
  subroutine sections_of_arrays()
    REQUEST :: request_
    integer :: i
    length = long / 2
    mine = [(rank * long + i, i = 1, long)]
    theirs = -1
    if (rank == 1) call MPI_Send(mine(1:long:2), length, MPI_INTEGER, 0, 12, MPI_COMM_WORLD)
    if (rank == 0) then
      call MPI_Recv(theirs(2:long:2), length, MPI_INTEGER, 1, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
      do i = 1, long, 2
        call check(theirs(i) == -1 .and. theirs(i + 1) == long + i, 'a section of an array')
      end do
    end if
    mine = rank
    call MPI_Bcast(mine(1:long:2), length, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD)
    call check(mine(1) == ranks - 1 .and. mine(2) == rank .and. mine(long - 1) == ranks - 1, 'a section, broadcast')
    if (.not. MPI_SUBARRAYS_SUPPORTED) return
    theirs = -1
    if (rank == 1) call MPI_Send(mine, length, MPI_INTEGER, 0, 13, MPI_COMM_WORLD)
    if (rank == 0) then
      call MPI_Irecv(theirs(2:long:2), length, MPI_INTEGER, 1, 13, MPI_COMM_WORLD, request_)
      call MPI_Wait(request_, MPI_STATUS_IGNORE)
      call check(theirs(1) == -1 .and. theirs(2) == ranks - 1 .and. theirs(4) == 1, 'a section, and a request')
    end if
  end subroutine
#endif

end program
