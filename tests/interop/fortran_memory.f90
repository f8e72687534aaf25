! Memory of a GPU as the drop-in believes, or the host's where there is no drop-in. Fortran cannot ask for it by itself.
module fortran_memory
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: on_gpu

  abstract interface
    function allocate_emulated(device, bytes) bind(C) result(address)
      import :: c_int, c_size_t, c_ptr
      integer(c_int), value :: device
      integer(c_size_t), value :: bytes
      type(c_ptr) :: address
    end function
  end interface

  interface
    function dlsym(library, name) bind(C) result(address)
      import :: c_ptr, c_funptr, c_char
      type(c_ptr), value :: library
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: address
    end function
    function malloc(bytes) bind(C) result(address)
      import :: c_size_t, c_ptr
      integer(c_size_t), value :: bytes
      type(c_ptr) :: address
    end function
  end interface

contains

  ! So many integers.
  function on_gpu(count) result(numbers)
    integer, intent(in) :: count
    integer(c_int), pointer, contiguous :: numbers(:)
    procedure(allocate_emulated), pointer :: emulated
    type(c_funptr) :: found
    type(c_ptr) :: address
    found = dlsym(c_null_ptr, 'sennit_emulated_allocate' // c_null_char)
    if (c_associated(found)) then
      call c_f_procpointer(found, emulated)
      address = emulated(0_c_int, int(count, c_size_t) * 4)
    else
      address = malloc(int(count, c_size_t) * 4)
    end if
    if (.not. c_associated(address)) error stop 'no memory'
    call c_f_pointer(address, numbers, [count])
  end function

end module
