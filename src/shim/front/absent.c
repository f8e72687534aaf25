// A program may ask whether it has an MPI or NCCL at all by a weak reference to one of its functions, and goes on
// without where that is null. This library has all those functions in every process. So where neither library is
// there when the program is started, its weak references are made null again, as the loader would have left them:
//
// 1. Of each object that has been loaded, weak undefined symbols of such names are looked for among its dynamic
//    symbols. Most objects have none.
// 2. Where they were entered, in its table of addresses (GOT), null is written in the place of this library's
//    addresses. That table may be read-only by now.
//
// What is loaded later finds the names: a call then fails, and it is said why (front.c, nccl.c).
#define _GNU_SOURCE
#include "shim/front/absent.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct search {
  const char* prefix;
  uintptr_t begin, end; /* of this library */
};

struct tables {
  const ElfW(Sym) * symbols;
  const char* names;
  const ElfW(Rela) * entries;
  size_t count, undefined; /* of entries; of symbols before the first defined one */
};

static void span_of(const struct dl_phdr_info* info, uintptr_t* begin, uintptr_t* end) {
  *begin = UINTPTR_MAX, *end = 0;
  for (size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD) continue;
    const uintptr_t at = info->dlpi_addr + part->p_vaddr;
    if (at < *begin) *begin = at;
    if (at + part->p_memsz > *end) *end = at + part->p_memsz;
  }
}

static int find_own(struct dl_phdr_info* info, size_t size, void* found) {
  (void)size;
  struct search* const search = found;
  span_of(info, &search->begin, &search->end);
  return (uintptr_t)&find_own >= search->begin && (uintptr_t)&find_own < search->end;
}

/* Returns false where an object has no such tables as glibc's loader makes of them. */
static bool tables_of(const struct dl_phdr_info* info, struct tables* tables) {
  memset(tables, 0, sizeof *tables);
  const ElfW(Dyn)* dynamic = NULL;
  for (size_t i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = (const ElfW(Dyn)*)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  for (; dynamic != NULL && dynamic->d_tag != DT_NULL; ++dynamic) {
    const uintptr_t at = dynamic->d_un.d_ptr;
    switch (dynamic->d_tag) {
      case DT_SYMTAB: tables->symbols = (const ElfW(Sym)*)at; break;
      case DT_STRTAB: tables->names = (const char*)at; break;
      case DT_RELA: tables->entries = (const ElfW(Rela)*)at; break;
      case DT_RELASZ: tables->count = dynamic->d_un.d_val / sizeof(ElfW(Rela)); break;
      case DT_GNU_HASH: tables->undefined = at > info->dlpi_addr ? ((const uint32_t*)at)[1] : 0; break;
      default: break;
    }
  }
  /* Addresses that the loader has not made absolute are those of an object that is no program's, such as the vDSO. */
  return tables->symbols != NULL && tables->names != NULL && tables->entries != NULL &&
         (uintptr_t)tables->symbols > info->dlpi_addr && (uintptr_t)tables->names > info->dlpi_addr &&
         (uintptr_t)tables->entries > info->dlpi_addr;
}

static bool is_weak(const struct tables* tables, size_t symbol, const char* prefix) {
  const ElfW(Sym)* const one = &tables->symbols[symbol];
  return one->st_shndx == SHN_UNDEF && ELF64_ST_BIND(one->st_info) == STB_WEAK &&
         strncmp(tables->names + one->st_name, prefix, strlen(prefix)) == 0;
}

static bool is_read_only(const struct dl_phdr_info* info, const uintptr_t* place) {
  for (size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &info->dlpi_phdr[i];
    const uintptr_t at = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_RELRO && (uintptr_t)place >= at && (uintptr_t)place < at + part->p_memsz) return true;
  }
  return false;
}

static void make_null(const struct dl_phdr_info* info, uintptr_t* place) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  void* const begin = (void*)((uintptr_t)place & ~(page - 1));
  const bool read_only = is_read_only(info, place);
  if (read_only && mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return;
  *place = 0;
  if (read_only) (void)mprotect(begin, page, PROT_READ);
}

static int make_absent(struct dl_phdr_info* info, size_t size, void* data) {
  const struct search* const search = data;
  struct tables tables;
  (void)size;
  if (!tables_of(info, &tables)) return 0;
  size_t symbol = 1;
  while (symbol < tables.undefined && !is_weak(&tables, symbol, search->prefix)) ++symbol;
  if (symbol >= tables.undefined) return 0;
  for (size_t i = 0; i < tables.count; ++i) {
    const ElfW(Rela)* const entry = &tables.entries[i];
    const unsigned type = ELF64_R_TYPE(entry->r_info);
    if ((type != R_X86_64_GLOB_DAT && type != R_X86_64_64) ||
        !is_weak(&tables, ELF64_R_SYM(entry->r_info), search->prefix))
      continue;
    uintptr_t* const place = (uintptr_t*)(info->dlpi_addr + entry->r_offset);
    if (*place >= search->begin && *place < search->end) make_null(info, place);
  }
  return 0;
}

void sennit_front_be_absent(const char* prefix) {
  struct search search = {prefix, 0, 0};
  if (dl_iterate_phdr(find_own, &search)) dl_iterate_phdr(make_absent, &search);
}
