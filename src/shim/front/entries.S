/* Entry points of the preloaded library: each jumps to where the table says, with all arguments as they are, so that one
 * library serves every ABI. At first the table leads to a stub that finds the program's own library (front.c).
 *
 * 1. NAME: jump to table[NUMBER].
 * 2. The stub of NAME pushes NUMBER and goes to the resolver, which saves the registers that hold arguments, asks
 *    sennit_front_resolve(NUMBER, caller) for the address, and jumps there.
 * 3. PNAME, called by a library of MPI for Fortran that is known: as NAME.
 * 4. PNAME, called by anything else: as a stub, where sennit_front_resolve_profiling() is asked (front.c).
 *
 * No function takes floating-point arguments, so no vector register holds any. */
#if !defined(__x86_64__)
#error "the entry points are written for x86-64"
#endif

  .text
  .hidden sennit_front_table
  .hidden sennit_front_fortran
  .hidden sennit_front_resolve
  .hidden sennit_front_resolve_profiling
  .hidden sennit_nccl_table
  .hidden sennit_nccl_resolve

  /* On the stack: the entry's number, and where the caller goes on. */
  .macro sennit_resolver name, resolve
  .type \name, @function
\name:
  push %rdi
  push %rsi
  push %rdx
  push %rcx
  push %r8
  push %r9
  mov 48(%rsp), %rdi
  mov 56(%rsp), %rsi
  call \resolve
  mov %rax, %r11
  pop %r9
  pop %r8
  pop %rcx
  pop %rdx
  pop %rsi
  pop %rdi
  add $8, %rsp
  jmp *%r11
  .size \name, .-\name
  .endm

  sennit_resolver sennit_front_resolver, sennit_front_resolve
  sennit_resolver sennit_front_profiling_resolver, sennit_front_resolve_profiling
  sennit_resolver sennit_nccl_resolver, sennit_nccl_resolve

  .macro sennit_entry name, number
  .text
  .p2align 4
  .globl \name
  .type \name, @function
\name:
  endbr64
  jmp *sennit_front_table+8*\number(%rip)
  .size \name, .-\name
sennit_stub_\number:
  endbr64
  push $\number
  jmp sennit_front_resolver
  .globl P\name
  .type P\name, @function
P\name:
  endbr64
  mov (%rsp), %r11
  sub sennit_front_fortran(%rip), %r11
  cmp sennit_front_fortran+8(%rip), %r11
  jae 1f
  jmp *sennit_front_table+8*\number(%rip)
1:
  push $\number
  jmp sennit_front_profiling_resolver
  .size P\name, .-P\name
  .section .data.rel.local, "aw"
  .quad sennit_stub_\number
  .endm

  .section .data.rel.local, "aw"
  .p2align 3
  .globl sennit_front_table
sennit_front_table:

#include "mpi_entries.inc"

  /* NCCL's: as 1 and 2, with a table of their own (nccl.c). One function takes a struct by value, which lies on the stack
   * behind the return address, where a jump leaves it. */
  .macro sennit_nccl_entry name, number
  .text
  .p2align 4
  .globl \name
  .type \name, @function
\name:
  endbr64
  jmp *sennit_nccl_table+8*\number(%rip)
  .size \name, .-\name
sennit_nccl_stub_\number:
  endbr64
  push $\number
  jmp sennit_nccl_resolver
  .section .data.rel.local, "aw"
  .quad sennit_nccl_stub_\number
  .endm

  .section .data.rel.local, "aw"
  .p2align 3
  .globl sennit_nccl_table
sennit_nccl_table:

#include "nccl_entries.inc"

  /* The loader's own, which tells by the return address whose call it is: so it is jumped to. Only a function of MPI or
   * NCCL that is looked for in one library, neither RTLD_DEFAULT nor RTLD_NEXT, goes by
   * sennit_front_look_up(handle, name, caller). */
  .hidden sennit_front_look_up
  .hidden sennit_front_find_dlsym
  .hidden sennit_front_dlsym
  .text
  .p2align 4
  .globl dlsym
  .type dlsym, @function
dlsym:
  endbr64
  lea 1(%rdi), %rax
  cmp $1, %rax
  jbe 1f
  test %rsi, %rsi
  je 1f
  cmpb $'M', (%rsi)
  jne 3f
  cmpb $'P', 1(%rsi)
  jne 1f
  cmpb $'I', 2(%rsi)
  jne 1f
  cmpb $'_', 3(%rsi)
  jne 1f
  jmp 4f
3:
  cmpb $'n', (%rsi)
  jne 1f
  cmpb $'c', 1(%rsi)
  jne 1f
  cmpb $'c', 2(%rsi)
  jne 1f
  cmpb $'l', 3(%rsi)
  jne 1f
4:
  mov (%rsp), %rdx
  jmp sennit_front_look_up
1:
  mov sennit_front_dlsym(%rip), %rax
  test %rax, %rax
  je 2f
  jmp *%rax
2:
  push %rdi
  push %rsi
  sub $8, %rsp
  call sennit_front_find_dlsym
  add $8, %rsp
  pop %rsi
  pop %rdi
  jmp *%rax
  .size dlsym, .-dlsym

  .section .note.GNU-stack, "", @progbits
