// Reads the Python stack of a thread from a signal handler that has interrupted it at any
// instruction.
//
// The only file that knows where an interpreter version keeps its frames. Nothing is allocated, no
// reference count is touched, and a stack that is just being changed is recognised and refused,
// never followed into memory that is not there.
#ifndef FLAMEGATE_NATIVE_FRAMES_H
#define FLAMEGATE_NATIVE_FRAMES_H

#include <Python.h>

#include "code_table.h"

// Frames of one stack that are kept, innermost first; together with the mark for the rest that
// makes a depth of 512.
#define FG_FRAMES_MAX 511

typedef struct {
  uint32_t code;  // slot in the code table
  int32_t instr;  // byte offset of the instruction
} fg_frame;

typedef struct {
  int count;      // 0: the stack could not be read at this instruction
  int truncated;  // outer frames are missing
  fg_frame frames[FG_FRAMES_MAX];
} fg_stack;

// Fills `stack` with the frames of `thread`, which must be the calling thread's own state.
// Async-signal-safe.
void fg_read_stack(PyThreadState* thread, fg_code_table* codes, fg_stack* stack);

#endif
