// flamegate._sampler: records the calling thread and writes what was recorded as pprof.

#include <Python.h>
#include <errno.h>
#include <structmember.h>

#include "capture.h"
#include "clock.h"
#include "code_guard.h"
#include "pprof.h"

typedef struct {
  PyObject_HEAD fg_capture_ref ref;
} CaptureObject;

static PyTypeObject CaptureType;

// NULL with an exception when the capture has ended.
static fg_capture* capture_of(CaptureObject* self) {
  fg_capture* capture = fg_capture_get(self->ref);
  if (capture == NULL) {
    PyErr_SetString(PyExc_RuntimeError, "the capture has ended");
  }
  return capture;
}

static void release(CaptureObject* self) {
  fg_capture* capture = fg_capture_get(self->ref);
  if (capture != NULL) {
    fg_capture_release(capture);
    fg_guard_sweep();
  }
}

PyDoc_STRVAR(start_doc,
             "start(period_ns, max_ns, samples_max=65536, jitter=True)\n--\n\n"
             "Start recording the calling thread and return the Capture. OSError: EBUSY when the "
             "thread is recorded\n"
             "already, EAGAIN when all captures are taken.");

static PyObject* sampler_start(PyObject* module, PyObject* args, PyObject* keywords) {
  (void)module;
  static char* names[] = {"period_ns", "max_ns", "samples_max", "jitter", NULL};
  long long period_ns, max_ns;
  unsigned int samples_max = FG_SAMPLES_MAX;
  int jitter = 1;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "LL|Ip", names, &period_ns, &max_ns,
                                   &samples_max, &jitter)) {
    return NULL;
  }
  if (period_ns < 1 || period_ns > FG_NS_PER_S * 3600 || max_ns < 1 ||
      max_ns > FG_NS_PER_S * 86400 || samples_max < 2 || samples_max > FG_SAMPLES_MAX ||
      samples_max % 2 != 0) {
    PyErr_SetString(PyExc_ValueError, "period_ns, max_ns or samples_max out of range");
    return NULL;
  }
  CaptureObject* self = PyObject_New(CaptureObject, &CaptureType);
  if (self == NULL) {
    return NULL;
  }
  self->ref = (fg_capture_ref){NULL, 0};
  fg_guard_install();
  fg_options options = {period_ns, max_ns, samples_max, jitter};
  int error = fg_capture_start(&options, &self->ref);
  if (error != 0) {
    fg_guard_sweep();
    Py_DECREF(self);
    errno = error;
    return PyErr_SetFromErrno(PyExc_OSError);
  }
  return (PyObject*)self;
}

PyDoc_STRVAR(stop_doc,
             "stop(end_ns=0)\n--\n\n"
             "Stop recording; from any thread. With end_ns, a time of time.monotonic_ns(), what "
             "came later is dropped.");

static PyObject* capture_stop(CaptureObject* self, PyObject* args) {
  long long end_ns = 0;
  if (!PyArg_ParseTuple(args, "|L", &end_ns)) {
    return NULL;
  }
  fg_capture* capture = capture_of(self);
  if (capture == NULL) {
    return NULL;
  }
  fg_capture_stop(capture, end_ns);
  Py_RETURN_NONE;
}

PyDoc_STRVAR(stats_doc, "stats()\n--\n\nFigures of a stopped recording, as a dictionary.");

static PyObject* capture_stats(CaptureObject* self, PyObject* unused) {
  (void)unused;
  fg_capture* c = capture_of(self);
  if (c == NULL) {
    return NULL;
  }
  return Py_BuildValue(
      "{s:L,s:L,s:L,s:L,s:K,s:K,s:K,s:K,s:K,s:L,s:O,s:n}", "start_unix_ns",
      (long long)c->start_unix_ns, "wall_ns", (long long)(c->end.wall_ns - c->start.wall_ns),
      "cpu_ns", (long long)(c->end.cpu_ns - c->start.cpu_ns), "period_ns", (long long)c->period_ns,
      "expected", (unsigned long long)c->counts.ticks, "taken", (unsigned long long)c->samples_used,
      "missed", (unsigned long long)c->counts.missed, "unreadable",
      (unsigned long long)c->counts.unreadable, "shortened",
      (unsigned long long)c->counts.shortened, "overhead_ns", (long long)c->counts.handler_ns,
      "expired", c->expired ? Py_True : Py_False, "bytes", (Py_ssize_t)fg_capture_bytes(c));
}

static int collect_comments(PyObject* sequence, const char** comments, size_t room) {
  Py_ssize_t count = PyTuple_GET_SIZE(sequence);
  if ((size_t)count > room) {
    PyErr_SetString(PyExc_ValueError, "too many comments");
    return -1;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    comments[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(sequence, i));
    if (comments[i] == NULL) {
      return -1;
    }
  }
  return (int)count;
}

PyDoc_STRVAR(pprof_doc,
             "pprof(thread, program, hidden_files, comments, cpu_is_default)\n--\n\n"
             "The stopped recording as bytes of an uncompressed pprof profile.");

static PyObject* capture_pprof(CaptureObject* self, PyObject* args) {
  fg_pprof_options options = {0};
  const char* comments[8];
  PyObject* comment_tuple;
  if (!PyArg_ParseTuple(args, "sssO!p", &options.thread, &options.program, &options.hidden_files,
                        &PyTuple_Type, &comment_tuple, &options.cpu_is_default)) {
    return NULL;
  }
  int comment_count =
      collect_comments(comment_tuple, comments, sizeof(comments) / sizeof(comments[0]));
  fg_capture* capture = comment_count < 0 ? NULL : capture_of(self);
  if (capture == NULL) {
    return NULL;
  }
  fg_capture_stop(capture, 0);
  options.comments = comments;
  options.comment_count = (size_t)comment_count;
  fg_bytes out = {NULL, 0, 0, 0};
  PyObject* result = fg_pprof_write(capture, &options, &out) == 0
                         ? PyBytes_FromStringAndSize((const char*)out.data, (Py_ssize_t)out.size)
                         : PyErr_NoMemory();
  fg_bytes_free(&out);
  return result;
}

PyDoc_STRVAR(release_doc,
             "release()\n--\n\nEnd the capture and free its memory. May be called twice.");

static PyObject* capture_release(CaptureObject* self, PyObject* unused) {
  (void)unused;
  release(self);
  Py_RETURN_NONE;
}

static void capture_dealloc(CaptureObject* self) {
  release(self);
  PyObject_Free(self);
}

PyDoc_STRVAR(kept_doc, "kept_code()\n--\n\nCode objects that only the recordings keep alive.");

static PyObject* sampler_kept_code(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  return PyLong_FromUnsignedLong(fg_guard_kept());
}

static PyMethodDef capture_methods[] = {
    {"stop", (PyCFunction)capture_stop, METH_VARARGS, stop_doc},
    {"stats", (PyCFunction)capture_stats, METH_NOARGS, stats_doc},
    {"pprof", (PyCFunction)capture_pprof, METH_VARARGS, pprof_doc},
    {"release", (PyCFunction)capture_release, METH_NOARGS, release_doc},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject CaptureType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "flamegate._sampler.Capture",
    .tp_doc = "A recording of one thread; made by start().",
    .tp_basicsize = sizeof(CaptureObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = (destructor)capture_dealloc,
    .tp_methods = capture_methods,
};

static PyMethodDef sampler_functions[] = {
    {"start", (PyCFunction)(void (*)(void))sampler_start, METH_VARARGS | METH_KEYWORDS, start_doc},
    {"kept_code", sampler_kept_code, METH_NOARGS, kept_doc},
    {NULL, NULL, 0, NULL},
};

// State lives in C statics, since ticks need it without an interpreter: only the interpreter that
// loads it first can use it.
static struct PyModuleDef sampler_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "flamegate._sampler",
    .m_doc = "Records the calling thread by timer ticks and writes the recording as pprof.",
    .m_size = -1,
    .m_methods = sampler_functions,
};

PyMODINIT_FUNC PyInit__sampler(void) {
  if (PyType_Ready(&CaptureType) < 0) {
    return NULL;
  }
  PyObject* module = PyModule_Create(&sampler_module);
  if (module == NULL || PyModule_AddIntConstant(module, "CAPTURES_MAX", FG_CAPTURES_MAX) < 0 ||
      PyModule_AddIntConstant(module, "SAMPLES_MAX", FG_SAMPLES_MAX) < 0) {
    Py_XDECREF(module);
    return NULL;
  }
  return module;
}
