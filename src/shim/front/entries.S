/* Entry points of the preloaded library: each jumps to where the table says, with all arguments as they are, so that one
 * library serves every ABI. At first the table leads to a stub that finds the program's own library (front.c).
 *
 * 1. NAME: jump to table[NUMBER].
 * 2. The stub of NAME pushes NUMBER and goes to the resolver, which saves the registers that hold arguments, asks
 *    sennit_front_resolve(NUMBER, caller) for the address, and jumps there.
 *
 * No function of MPI takes floating-point arguments or a struct by value, so no vector register holds any. */
#if !defined(__x86_64__)
#error "the entry points are written for x86-64"
#endif

  .text
  .hidden sennit_front_table
  .hidden sennit_front_resolve
  .type sennit_front_resolver, @function
sennit_front_resolver:
  push %rdi
  push %rsi
  push %rdx
  push %rcx
  push %r8
  push %r9
  mov 48(%rsp), %rdi
  mov 56(%rsp), %rsi
  call sennit_front_resolve
  mov %rax, %r11
  pop %r9
  pop %r8
  pop %rcx
  pop %rdx
  pop %rsi
  pop %rdi
  add $8, %rsp
  jmp *%r11
  .size sennit_front_resolver, .-sennit_front_resolver

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
  .section .data.rel.local, "aw"
  .quad sennit_stub_\number
  .endm

  .section .data.rel.local, "aw"
  .p2align 3
  .globl sennit_front_table
sennit_front_table:

#include "mpi_entries.inc"

  .section .note.GNU-stack, "", @progbits
