#include "code_table.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint32_t first_slot(const PyCodeObject* code) {
  uint64_t mixed = ((uint64_t)(uintptr_t)code >> 4) * UINT64_C(0x9E3779B97F4A7C15);
  return (uint32_t)(mixed >> 40) & (FG_CODE_SLOTS - 1);
}

// The slot that holds `code`, or the free one where it belongs. There is always a free one:
// FG_CODES_MAX < FG_CODE_SLOTS.
static uint32_t probe(const fg_code_table* table, const PyCodeObject* code) {
  uint32_t slot = first_slot(code);
  for (;;) {
    const PyCodeObject* here = __atomic_load_n(&table->slots[slot].code, __ATOMIC_ACQUIRE);
    if (here == code || here == NULL) {
      return slot;
    }
    slot = (slot + 1) & (FG_CODE_SLOTS - 1);
  }
}

uint32_t fg_code_find(const fg_code_table* table, const PyCodeObject* code) {
  uint32_t slot = probe(table, code);
  return __atomic_load_n(&table->slots[slot].code, __ATOMIC_ACQUIRE) == NULL ? FG_NO_CODE : slot;
}

int fg_readable(const void* address, size_t size) {
  // With an impossible `how` the call copies the set from user space first, then fails with EINVAL:
  // it tells mapped from unmapped memory without touching anything. Allowed by every seccomp
  // profile that lets a C program run.
  const char* ends[] = {address, (const char*)address + size - 8};
  for (int i = 0; i < 2; i++) {
    if (syscall(SYS_rt_sigprocmask, ~0, ends[i], NULL, (size_t)8) == 0 || errno != EINVAL) {
      return 0;
    }
  }
  return 1;
}

// Freed memory fails this test: the allocators overwrite the first words of a free block (pymalloc
// the reference count with a pointer or zero, malloc also the type), and an object in the middle of
// its deallocation has a count of zero.
static int is_live_code(PyCodeObject* code) {
  if ((uintptr_t)code % sizeof(void*) != 0 || !fg_readable(code, sizeof(*code))) {
    return 0;
  }
  Py_ssize_t references = Py_REFCNT(code);
  return Py_TYPE(code) == &PyCode_Type && references > 0 && (uint64_t)references <= UINT32_MAX;
}

uint32_t fg_code_admit(fg_code_table* table, PyCodeObject* code) {
  if (code == NULL) {
    return FG_NO_CODE;
  }
  uint32_t slot = probe(table, code);
  if (__atomic_load_n(&table->slots[slot].code, __ATOMIC_RELAXED) == code) {
    return slot;
  }
  if (table->used >= FG_CODES_MAX || !is_live_code(code)) {
    return FG_NO_CODE;
  }
#if PY_VERSION_HEX >= 0x030B0000
  table->slots[slot].bytecode = code->co_code_adaptive;
  table->slots[slot].bytecode_size = (uint32_t)Py_SIZE(code) * (uint32_t)sizeof(_Py_CODEUNIT);
#else
  table->slots[slot].bytecode_size = UINT32_MAX;
#endif
  table->used++;
  __atomic_store_n(&table->slots[slot].code, code, __ATOMIC_RELEASE);
  return slot;
}
