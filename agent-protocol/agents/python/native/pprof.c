#include "pprof.h"

#include <stdlib.h>
#include <string.h>

#include "string_table.h"

// Room that an inflated upload may take is 32 MiB.
#define FG_SAMPLE_BYTES_MAX ((uint64_t)24 << 20)

enum {  // field numbers of Profile
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6,
  kTimeNanos = 9,
  kDurationNanos = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kComment = 13,
  kDefaultSampleType = 14,
};

typedef struct {
  uint32_t location;   // 0: a frame that is left out
  uint32_t truncated;  // the stack's outer frames are missing
} node_info;

typedef struct {
  uint32_t function, line, location;  // location 0: free
} location_slot;

typedef struct {
  fg_capture* capture;
  const fg_pprof_options* options;
  fg_bytes* out;
  fg_bytes message, packed;  // scratch
  fg_strings strings;
  uint32_t* function_of;  // by code slot; 0: not written yet, FG_HIDDEN: left out
  uint32_t functions;
  node_info* nodes;
  location_slot* location_slots;
  uint32_t locations, location_mask;
  uint32_t skip;  // outermost frames that are left out
} encoder;

#define FG_HIDDEN UINT32_MAX

static void finish_message(encoder* e, uint32_t field) {
  fg_put_bytes_field(e->out, field, e->message.data, e->message.size);
  e->out->failed |= e->message.failed;
  e->message.size = 0;
}

// --- functions and locations ---

static const char* text_of(PyObject* string, size_t* size) {
  Py_ssize_t length;
  const char* text = PyUnicode_AsUTF8AndSize(string, &length);
  if (text == NULL) {  // lone surrogates
    PyErr_Clear();
    text = "?";
    length = 1;
  }
  *size = (size_t)length;
  return text;
}

static uint32_t write_function(encoder* e, uint32_t name, uint32_t file, uint32_t first_line) {
  uint32_t id = ++e->functions;
  fg_put_number_field(&e->message, 1, id);
  fg_put_number_field(&e->message, 2, name);
  fg_put_number_field(&e->message, 3, name);
  fg_put_number_field(&e->message, 4, file);
  fg_put_number_field(&e->message, 5, first_line);
  finish_message(e, kFunction);
  return id;
}

static uint32_t function_of(encoder* e, uint32_t slot) {
  if (e->function_of[slot] != 0) {
    return e->function_of[slot];
  }
  const PyCodeObject* code = e->capture->codes.slots[slot].code;
  size_t size;
  const char* file = text_of(code->co_filename, &size);
  size_t prefix = strlen(e->options->hidden_files);
  if (prefix != 0 && size >= prefix && memcmp(file, e->options->hidden_files, prefix) == 0) {
    return e->function_of[slot] = FG_HIDDEN;
  }
  uint32_t file_id = fg_string_id(&e->strings, file, size);
#if PY_VERSION_HEX >= 0x030B0000
  const char* name = text_of(code->co_qualname, &size);
#else
  const char* name = text_of(code->co_name, &size);
#endif
  uint32_t name_id = fg_string_id(&e->strings, name, size);
  return e->function_of[slot] = write_function(e, name_id, file_id, (uint32_t)code->co_firstlineno);
}

static uint32_t line_of(PyCodeObject* code, int32_t instr) {
  int line = instr >= 0 ? PyCode_Addr2Line(code, instr) : code->co_firstlineno;
  return (uint32_t)(line > 0 ? line : code->co_firstlineno);
}

static uint32_t write_location(encoder* e, uint32_t function, uint32_t line) {
  uint32_t id = ++e->locations;
  fg_put_number_field(&e->message, 1, id);
  fg_put_number_field(&e->message, 2, 1);
  e->packed.size = 0;
  fg_put_number_field(&e->packed, 1, function);
  fg_put_number_field(&e->packed, 2, line);
  fg_put_bytes_field(&e->message, 4, e->packed.data, e->packed.size);
  finish_message(e, kLocation);
  return id;
}

static uint32_t location_of(encoder* e, uint32_t function, uint32_t line) {
  uint32_t i = (function * UINT32_C(0x9E3779B1) ^ line * UINT32_C(0x85EBCA6B)) & e->location_mask;
  for (;; i = (i + 1) & e->location_mask) {
    location_slot* slot = &e->location_slots[i];
    if (slot->location == 0) {
      *slot = (location_slot){function, line, write_location(e, function, line)};
    }
    if (slot->function == function && slot->line == line) {
      return slot->location;
    }
  }
}

// Parents come before their children.
static void resolve_nodes(encoder* e) {
  const fg_call_tree* tree = &e->capture->tree;
  for (uint32_t id = 1; id < tree->used; id++) {
    const fg_node* node = &tree->nodes[id];
    node_info* info = &e->nodes[id];
    if (node->code == FG_CODE_TRUNCATED) {
      uint32_t name = fg_string_id(&e->strings, "(truncated)", 11);
      *info = (node_info){location_of(e, write_function(e, name, 0, 0), 0), 1};
      continue;
    }
    uint32_t function = function_of(e, node->code);
    info->truncated = e->nodes[node->parent].truncated;
    if (function != FG_HIDDEN) {
      info->location =
          location_of(e, function, line_of(e->capture->codes.slots[node->code].code, node->instr));
    }
  }
}

// --- samples ---

static uint32_t server_node(const encoder* e) {
  uint32_t node = e->capture->start_node;
  while (node != FG_ROOT && e->nodes[node].location == 0) {
    node = e->capture->tree.nodes[node].parent;
  }
  return node;
}

static void choose_skip(encoder* e) {
  const fg_capture* c = e->capture;
  uint32_t common = server_node(e);
  for (uint32_t i = 0; i < c->samples_used; i++) {
    if (!e->nodes[c->samples[i].node].truncated) {
      common = fg_tree_common(&c->tree, common, c->samples[i].node);
    }
  }
  uint32_t depth = c->tree.nodes[common].depth;
  e->skip = depth == 0 ? 0 : depth - 1;
}

static void put_label(encoder* e, uint32_t key, uint32_t text, uint64_t number, uint32_t unit) {
  e->packed.size = 0;
  fg_put_number_field(&e->packed, 1, key);
  fg_put_number_field(&e->packed, 2, text);
  fg_put_number_field(&e->packed, 3, number);
  fg_put_number_field(&e->packed, 4, unit);
  fg_put_bytes_field(&e->message, 3, e->packed.data, e->packed.size);
}

static void put_stack(encoder* e, uint32_t leaf) {
  const fg_call_tree* tree = &e->capture->tree;
  uint32_t skip = e->nodes[leaf].truncated ? 0 : e->skip;
  e->packed.size = 0;
  for (uint32_t id = leaf; tree->nodes[id].depth > skip; id = tree->nodes[id].parent) {
    if (e->nodes[id].location != 0) {
      fg_put_varint(&e->packed, e->nodes[id].location);
    }
  }
  fg_put_bytes_field(&e->message, 1, e->packed.data, e->packed.size);
}

typedef struct {
  uint32_t thread_key, thread, state_key, states[4], timestamp_key, nanoseconds;
} label_ids;

// The sample stands for `wall_ns` from `begin_ns` (CLOCK_MONOTONIC) on; that is when it is said to be.
static void write_sample(encoder* e, const label_ids* ids, const fg_sample* s, int64_t begin_ns,
                         int64_t wall_ns, int64_t cpu_ns) {
  put_stack(e, s->node);
  e->packed.size = 0;
  fg_put_varint(&e->packed, 1);
  fg_put_varint(&e->packed, (uint64_t)(wall_ns > 0 ? wall_ns : 0));
  fg_put_varint(&e->packed, (uint64_t)(cpu_ns > 0 ? cpu_ns : 0));
  fg_put_bytes_field(&e->message, 2, e->packed.data, e->packed.size);
  put_label(e, ids->thread_key, ids->thread, 0, 0);
  put_label(e, ids->state_key, ids->states[s->state], 0, 0);
  const fg_capture* c = e->capture;
  put_label(e, ids->timestamp_key, 0,
            (uint64_t)(c->start_unix_ns + (begin_ns - c->start.wall_ns)), ids->nanoseconds);
  finish_message(e, kSample);
}

static int is_blocked(const fg_sample* s) { return s->state == FG_WAITING || s->state == FG_GIL; }

// The thread's CPU time up to which sample `i` and those before it are charged. A tick that finds
// the thread blocked shows where it sleeps now; the CPU time before the tick was used on the way
// there, by what the sample before it shows.
static int64_t charged_cpu_ns(const fg_capture* c, uint32_t i) {
  if (i + 1 == c->samples_used) {
    return c->end.cpu_ns;
  }
  const fg_sample* s = &c->samples[i];
  return !is_blocked(s) && is_blocked(s + 1) ? s[1].cpu_ns : s->cpu_ns;
}

static void write_samples(encoder* e, const label_ids* ids) {
  const fg_capture* c = e->capture;
  if (c->samples_used == 0) {
    fg_sample whole = {c->end.wall_ns, c->end.cpu_ns, server_node(e),
                       (uint32_t)fg_usage_state(&c->start, &c->end)};
    write_sample(e, ids, &whole, c->start.wall_ns, c->end.wall_ns - c->start.wall_ns,
                 c->end.cpu_ns - c->start.cpu_ns);
    return;
  }
  int64_t wall_ns = c->start.wall_ns, cpu_ns = c->start.cpu_ns;
  for (uint32_t i = 0; i < c->samples_used; i++) {
    const fg_sample* s = &c->samples[i];
    int64_t until_ns = i + 1 == c->samples_used ? c->end.wall_ns : s->wall_ns;
    int64_t until_cpu_ns = charged_cpu_ns(c, i);
    write_sample(e, ids, s, wall_ns, until_ns - wall_ns, until_cpu_ns - cpu_ns);
    wall_ns = until_ns;
    cpu_ns = until_cpu_ns;
  }
}

static void fit_size(encoder* e) {
  fg_capture* c = e->capture;
  for (;;) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < c->samples_used; i++) {
      bytes += 64 + 3 * (uint64_t)c->tree.nodes[c->samples[i].node].depth;
    }
    if (bytes <= FG_SAMPLE_BYTES_MAX) {
      return;
    }
    fg_capture_halve(c);
  }
}

// --- the profile ---

static uint32_t literal(encoder* e, const char* text) {
  return fg_string_id(&e->strings, text, strlen(text));
}

static void write_value_type(encoder* e, uint32_t field, const char* type, const char* unit) {
  fg_put_number_field(&e->message, 1, literal(e, type));
  fg_put_number_field(&e->message, 2, literal(e, unit));
  finish_message(e, field);
}

static void write_header(encoder* e) {
  const fg_capture* c = e->capture;
  write_value_type(e, kSampleType, "samples", "count");
  write_value_type(e, kSampleType, "wall", "nanoseconds");
  write_value_type(e, kSampleType, "cpu", "nanoseconds");
  write_value_type(e, kPeriodType, "wall", "nanoseconds");
  fg_put_number_field(e->out, kPeriod, (uint64_t)c->period_ns);
  fg_put_number_field(e->out, kTimeNanos, (uint64_t)c->start_unix_ns);
  fg_put_number_field(e->out, kDurationNanos, (uint64_t)(c->end.wall_ns - c->start.wall_ns));
  fg_put_number_field(e->out, kDefaultSampleType,
                      literal(e, e->options->cpu_is_default ? "cpu" : "wall"));
  for (size_t i = 0; i < e->options->comment_count; i++) {
    fg_put_number_field(e->out, kComment, literal(e, e->options->comments[i]));
  }
  fg_put_number_field(&e->message, 1, 1);
  fg_put_number_field(&e->message, 5, literal(e, e->options->program));
  fg_put_number_field(
      &e->message, 7,
      1);  // the mapping has functions, file names and line numbers: nothing to look up
  fg_put_number_field(&e->message, 8, 1);
  fg_put_number_field(&e->message, 9, 1);
  finish_message(e, kMapping);
}

static int allocate(encoder* e) {
  uint32_t nodes = e->capture->tree.used;
  uint32_t slots = 64;
  while (slots < 2 * nodes) {
    slots *= 2;
  }
  e->location_mask = slots - 1;
  e->location_slots = calloc(slots, sizeof(*e->location_slots));
  e->function_of = calloc(FG_CODE_SLOTS, sizeof(*e->function_of));
  e->nodes = calloc(nodes, sizeof(*e->nodes));
  size_t strings = 2 * (size_t)e->capture->codes.used + e->options->comment_count + 32;
  return e->location_slots != NULL && e->function_of != NULL && e->nodes != NULL &&
         fg_strings_init(&e->strings, strings);
}

static void release(encoder* e) {
  free(e->location_slots);
  free(e->function_of);
  free(e->nodes);
  fg_strings_free(&e->strings);
  fg_bytes_free(&e->message);
  fg_bytes_free(&e->packed);
}

static void write_profile(encoder* e) {
  fit_size(e);
  write_header(e);
  resolve_nodes(e);
  choose_skip(e);
  label_ids ids = {
      .thread_key = literal(e, "thread"),
      .thread = literal(e, e->options->thread),
      .state_key = literal(e, "state"),
      .states = {literal(e, "running"), literal(e, "waiting"), literal(e, "gil"), literal(e, "gc")},
      .timestamp_key = literal(e, "timestamp_ns"),
      .nanoseconds = literal(e, "nanoseconds"),
  };
  Py_BEGIN_ALLOW_THREADS write_samples(e, &ids);
  fg_strings_write(&e->strings, e->out, kStringTable);
  Py_END_ALLOW_THREADS
}

int fg_pprof_write(fg_capture* capture, const fg_pprof_options* options, fg_bytes* out) {
  encoder e = {.capture = capture, .options = options, .out = out};
  if (allocate(&e)) {
    write_profile(&e);
  } else {
    out->failed = 1;
  }
  release(&e);
  return out->failed ? -1 : 0;
}
