// The code objects that one capture has met: a fixed-size hash set from pointer to slot number.
//
// Thread: only the profiled thread (its signal handler, or the code that starts the capture)
// inserts; any thread that holds the interpreter lock may look up meanwhile, because a slot is
// published by one atomic store after it was filled and never changes again.
// Ends: with the capture's buffer. While the capture exists, code_guard.h keeps all of them alive.
#ifndef FLAMEGATE_NATIVE_CODE_TABLE_H
#define FLAMEGATE_NATIVE_CODE_TABLE_H

#include <Python.h>
#include <stdint.h>

#define FG_CODE_SLOTS 16384u
#define FG_CODES_MAX (FG_CODE_SLOTS / 8 * 7)
#define FG_NO_CODE UINT32_MAX

typedef struct {
  PyCodeObject* code;      // atomic; NULL: free
  const char* bytecode;    // first instruction; NULL where frames hold offsets instead of addresses
                           // (before 3.11)
  uint32_t bytecode_size;  // bytes
} fg_code;

typedef struct {
  fg_code* slots;  // FG_CODE_SLOTS of them
  uint32_t used;
} fg_code_table;

// The slot of `code`, or FG_NO_CODE.
uint32_t fg_code_find(const fg_code_table* table, const PyCodeObject* code);

// The slot of `code`, inserting it when it is new. The pointer may be garbage: FG_NO_CODE when it
// does not point to a live code object, or when the table is full. Async-signal-safe.
uint32_t fg_code_admit(fg_code_table* table, PyCodeObject* code);

// Whether `size` (8 or more) bytes at `address` can be read without a fault. Looks at the first and
// the last page only. Async-signal-safe.
int fg_readable(const void* address, size_t size);

#endif
