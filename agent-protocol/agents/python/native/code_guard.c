#include "code_guard.h"

#include <Python.h>

#include "capture.h"

static destructor original;
static PyInterpreterState* home;
static PyObject** kept;
static size_t kept_count, kept_room;

// Without memory for the list the object is never given back, which is safe too.
static void remember(PyObject* code) {
  if (kept_count == kept_room) {
    size_t room = kept_room ? 2 * kept_room : 64;
    PyObject** grown = PyMem_RawRealloc(kept, room * sizeof(*kept));
    if (grown == NULL) {
      return;
    }
    kept = grown;
    kept_room = room;
  }
  kept[kept_count++] = code;
}

static void guarded_dealloc(PyObject* code) {
  if (PyInterpreterState_Get() != home || !fg_captures_hold((PyCodeObject*)code)) {
    original(code);
    return;
  }
  _Py_NewReference(code);
  remember(code);
}

void fg_guard_install(void) {
  if (PyCode_Type.tp_dealloc == guarded_dealloc) {
    return;
  }
  home = PyInterpreterState_Get();
  original = PyCode_Type.tp_dealloc;
  PyCode_Type.tp_dealloc = guarded_dealloc;
}

static PyObject* take_unneeded(void) {
  for (size_t i = kept_count; i > 0; i--) {
    PyObject* code = kept[i - 1];
    if (!fg_captures_hold((PyCodeObject*)code)) {
      kept[i - 1] = kept[--kept_count];
      return code;
    }
  }
  return NULL;
}

void fg_guard_sweep(void) {
  // Giving one back may end further objects, and run callbacks of weak references that start and
  // end captures.
  for (PyObject* code = take_unneeded(); code != NULL; code = take_unneeded()) {
    Py_DECREF(code);
  }
  // Somebody else may stand in front of the guard by now; then it has to stay.
  if (!fg_captures_exist() && PyCode_Type.tp_dealloc == guarded_dealloc) {
    PyCode_Type.tp_dealloc = original;
  }
}

unsigned long fg_guard_kept(void) { return (unsigned long)kept_count; }
