// The string table of a profile: each text once, numbered in order of appearance; 0 is the empty
// string.
#ifndef FLAMEGATE_NATIVE_STRING_TABLE_H
#define FLAMEGATE_NATIVE_STRING_TABLE_H

#include "bytes.h"

// Longer texts are cut to this many bytes, the last of them an ellipsis.
#define FG_STRING_BYTES_MAX 1024u

typedef struct {
  uint32_t offset, size;  // in `text`
} fg_string;

typedef struct {
  fg_bytes text;
  fg_string* entries;  // by number
  uint32_t* slots;     // hash table of numbers; 0: free
  uint32_t mask, used, room;
} fg_strings;

// For at most `room` different texts. 0 without memory.
int fg_strings_init(fg_strings* strings, size_t room);
void fg_strings_free(fg_strings* strings);

// The number of that UTF-8 text.
uint32_t fg_string_id(fg_strings* strings, const char* text, size_t size);

// Appends all texts to `out` as fields `field`.
void fg_strings_write(const fg_strings* strings, fg_bytes* out, uint32_t field);

#endif
