#define Py_BUILD_CORE_MODULE 1
#include "frames.h"

#include <stddef.h>

#if PY_VERSION_HEX < 0x03090000 || PY_VERSION_HEX >= 0x030D0000
#error "the agent knows the frames of CPython 3.9 to 3.12"
#elif PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_frame.h>
#else
#include <frameobject.h>
#endif

#if PY_VERSION_HEX >= 0x030B0000

// Frames live in the chunks of the thread's data stack, or within the generator that owns them. A
// chunk leaves the list before its memory is given back, so that what the list holds is mapped.
// Callers walk from new to old chunks.
static int chunk_has(const _PyStackChunk** chunk, const _PyInterpreterFrame* frame) {
  uintptr_t begin = (uintptr_t)frame;
  uintptr_t end = begin + offsetof(_PyInterpreterFrame, localsplus);
  for (const _PyStackChunk* c = *chunk; c != NULL; c = c->previous) {
    if (begin >= (uintptr_t)c->data && end <= (uintptr_t)c + c->size) {
      *chunk = c;
      return 1;
    }
  }
  return 0;
}

static int frame_readable(const _PyStackChunk** chunk, const _PyInterpreterFrame* frame) {
  return (uintptr_t)frame % sizeof(void*) == 0 &&
         (chunk_has(chunk, frame) || fg_readable(frame, offsetof(_PyInterpreterFrame, localsplus)));
}

// The frame's code and instruction. Both must fit together: a frame that is only half made, or
// popped already, does not pass.
static int read_frame(const _PyInterpreterFrame* frame, fg_code_table* codes, fg_frame* out) {
  uint32_t slot = fg_code_admit(codes, frame->f_code);
  if (slot == FG_NO_CODE) {
    return 0;
  }
  const fg_code* code = &codes->slots[slot];
  ptrdiff_t offset = (const char*)frame->prev_instr - code->bytecode;
  if (offset < -(ptrdiff_t)sizeof(_Py_CODEUNIT) || offset >= (ptrdiff_t)code->bytecode_size) {
    return 0;
  }
  *out = (fg_frame){slot, (int32_t)offset};
  return 1;
}

static void walk(const PyThreadState* thread, const _PyInterpreterFrame* frame,
                 fg_code_table* codes, fg_stack* stack) {
  const _PyStackChunk* chunk = thread->datastack_chunk;
  stack->count = 0;
  stack->truncated = 0;
  for (int steps = 0; frame != NULL; steps++, frame = frame->previous) {
    if (steps == 2 * FG_FRAMES_MAX || !frame_readable(&chunk, frame)) {
      stack->count = 0;
      return;
    }
#if PY_VERSION_HEX >= 0x030C0000
    if (frame->owner == FRAME_OWNED_BY_CSTACK) {
      continue;  // between C and Python, at most one for each frame: no code of the application
    }
#endif
    if (stack->count == FG_FRAMES_MAX) {
      stack->truncated = 1;
      return;
    }
    if (!read_frame(frame, codes, &stack->frames[stack->count])) {
      stack->count = 0;
      return;
    }
    stack->count++;
  }
}

void fg_read_stack(PyThreadState* thread, fg_code_table* codes, fg_stack* stack) {
  const _PyCFrame* entry = thread->cframe;
  walk(thread, entry->current_frame, codes, stack);
  // The interpreter links a new entry some instructions before it gives it a frame: then the one
  // below tells the stack.
  if (stack->count == 0 && entry->previous != NULL &&
      fg_readable(entry->previous, sizeof(*entry))) {
    walk(thread, entry->previous->current_frame, codes, stack);
  }
}

#else

// Each frame is an object that its predecessor in the chain, or the interpreter, holds until it has
// left the chain.
void fg_read_stack(PyThreadState* thread, fg_code_table* codes, fg_stack* stack) {
  stack->count = 0;
  stack->truncated = 0;
  for (const PyFrameObject* frame = thread->frame; frame != NULL; frame = frame->f_back) {
    if (stack->count == FG_FRAMES_MAX) {
      stack->truncated = 1;
      return;
    }
    uint32_t slot = fg_code_admit(codes, frame->f_code);
    if (slot == FG_NO_CODE) {
      stack->count = 0;
      return;
    }
#if PY_VERSION_HEX >= 0x030A0000
    int32_t instr = frame->f_lasti * (int32_t)sizeof(_Py_CODEUNIT);
#else
    int32_t instr = frame->f_lasti;
#endif
    stack->frames[stack->count++] = (fg_frame){slot, instr};
  }
}

#endif
